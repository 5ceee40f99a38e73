//! Where the kubelet lists its pods.

use toml::de::DeValue;

use super::setting::Setting;

/// The read-only port of a kubelet: `http://HOST:PORT`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KubeletUrl {
    authority: String,
}

impl KubeletUrl {
    /// Reads a URL; `None` if it has another scheme, no port, or a path.
    #[must_use]
    pub fn parse(url: &str) -> Option<Self> {
        let authority = url.strip_prefix("http://")?;
        let authority = authority.strip_suffix('/').unwrap_or(authority);
        let (host, port) = authority.rsplit_once(':')?;
        let is_host = |byte: u8| byte.is_ascii_alphanumeric() || b"-.[:]".contains(&byte);
        let is_right = !host.is_empty() && host.bytes().all(is_host) && port.parse::<u16>().is_ok();
        is_right.then(|| Self { authority: authority.to_owned() })
    }

    /// `HOST:PORT`.
    #[must_use]
    pub fn authority(&self) -> &str {
        &self.authority
    }
}

impl Setting for KubeletUrl {
    const WANTED: &'static str = "a URL with a port, such as \"http://127.0.0.1:10255\"";

    fn read(value: &DeValue<'_>) -> Option<Self> {
        Self::parse(value.as_str()?)
    }
}
