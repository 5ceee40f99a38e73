//! `Authorization: Basic`, RFC 7617.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::header::{AUTHORIZATION, HeaderMap};

/// A name and a password.
pub(in crate::agent::server) struct Credentials {
    pub(super) user: String,
    pub(super) password: Vec<u8>,
}

impl Credentials {
    /// Those of a request; `None` without any, or if they are of another kind.
    pub(in crate::agent::server) fn of(headers: &HeaderMap) -> Option<Self> {
        let header = headers.get(AUTHORIZATION)?.to_str().ok()?;
        let (scheme, text) = header.split_once(' ')?;
        let bytes = STANDARD.decode(text.trim()).ok()?;
        let colon = bytes.iter().position(|byte| *byte == b':')?;
        let user = std::str::from_utf8(bytes.get(..colon)?).ok()?.to_owned();
        let password = bytes.get(colon + 1..)?.to_vec();
        scheme.eq_ignore_ascii_case("Basic").then_some(Self { user, password })
    }
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    #[test]
    fn a_password_may_have_colons() {
        let of = |value: &'static str| {
            let value = HeaderValue::from_static(value);
            Credentials::of(&HeaderMap::from_iter([(AUTHORIZATION, value)]))
        };
        let given = of("basic YTpiOmM=").unwrap();
        assert_eq!((given.user.as_str(), given.password.as_slice()), ("a", b"b:c".as_slice()));
        for other in ["Bearer YTpiOmM=", "Basic !", "Basic YWJj", "Basic"] {
            assert!(of(other).is_none(), "{other}");
        }
    }
}
