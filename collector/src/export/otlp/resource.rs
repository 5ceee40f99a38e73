//! The sender's attributes, which apply to everything that is sent.

use opentelemetry_proto::tonic::common::v1::InstrumentationScope;
use opentelemetry_proto::tonic::resource::v1::Resource as ProtoResource;

use super::attributes::Attributes;
use super::error::OtlpError;

/// Attributes of the sender, by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resource(Vec<(String, String)>);

impl Default for Resource {
    /// The service name.
    fn default() -> Self {
        let mut resource = Self(Vec::new());
        resource.set("service.name", "railscope");
        resource.set("service.version", env!("CARGO_PKG_VERSION"));
        resource
    }
}

impl Resource {
    /// Sets an attribute.
    pub fn set(&mut self, name: &str, value: impl Into<String>) {
        match self.0.binary_search_by(|(known, _)| known.as_str().cmp(name)) {
            Ok(at) => self.0[at].1 = value.into(),
            Err(at) => self.0.insert(at, (name.to_owned(), value.into())),
        }
    }

    /// Names and values, ascending by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Sets the attributes of `OTEL_RESOURCE_ATTRIBUTES`: `key=value,key=value`, percent-encoded.
    ///
    /// # Errors
    ///
    /// When it is not valid: the specification requires to discard all of it and to report that.
    pub fn set_all(&mut self, text: &str) -> Result<(), OtlpError> {
        for (name, value) in pairs(text).ok_or_else(|| OtlpError::Pairs {
            variable: "OTEL_RESOURCE_ATTRIBUTES",
            text: text.to_owned(),
        })? {
            self.set(&name, value);
        }
        Ok(())
    }

    pub(super) fn to_proto(&self) -> ProtoResource {
        let mut attributes = Attributes::default();
        for (name, value) in self.iter() {
            attributes.text(name, value);
        }
        ProtoResource { attributes: attributes.take(), ..ProtoResource::default() }
    }
}

/// The instrumentation scope: railscope itself.
pub(super) fn scope() -> InstrumentationScope {
    InstrumentationScope {
        name: "railscope".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        ..InstrumentationScope::default()
    }
}

/// Pairs of `key=value,key=value`, percent-encoded; `None` if it is not valid.
pub(super) fn pairs(text: &str) -> Option<Vec<(String, String)>> {
    let entries = text.split(',').map(str::trim).filter(|entry| !entry.is_empty());
    let pair = |entry: &str| {
        let (name, value) = entry.split_once('=')?;
        let name = percent_decoded(name.trim())?;
        (!name.is_empty()).then_some((name, percent_decoded(value.trim())?))
    };
    entries.map(pair).collect()
}

fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let mut digit = || char::from(rest.next()?).to_digit(16);
            bytes.push(u8::try_from(digit()? * 16 + digit()?).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_percent_decoded() {
        let pairs_of = |text| {
            let pairs = pairs(text)?;
            Some(pairs.into_iter().map(|(k, v)| format!("{k}:{v}")).collect::<Vec<_>>().join("|"))
        };
        assert_eq!(pairs_of("a=b, c = d%2C%20e,"), Some("a:b|c:d, e".to_owned()));
        assert_eq!(
            pairs_of("authorization=Basic%20eA=="),
            Some("authorization:Basic eA==".to_owned())
        );
        assert_eq!(pairs_of(""), Some(String::new()));
        for wrong in ["a", "=b", "a=%2", "a=%zz", "a=%ff"] {
            assert_eq!(pairs_of(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn the_last_word_counts() {
        let mut resource = Resource::default();
        resource.set_all("host.name=h,service.name=x").unwrap();
        resource.set("service.name", "y");
        let all: Vec<_> = resource.iter().map(|(name, _)| name).collect();
        assert_eq!(all, ["host.name", "service.name", "service.version"]);
        assert_eq!(resource.iter().nth(1), Some(("service.name", "y")));
    }
}
