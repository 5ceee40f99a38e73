//! The keys of a web configuration file, in YAML. A key that is not here is refused by its name.

use std::path::PathBuf;

use serde::Deserialize;
use serde_norway::Mapping;

/// The file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Document {
    pub(super) tls_server_config: Option<TlsKeys>,
    #[serde(default)]
    pub(super) http_server_config: HttpKeys,
    /// Names and bcrypt hashes.
    #[serde(default)]
    pub(super) basic_auth_users: Mapping,
}

/// `tls_server_config`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TlsKeys {
    pub(super) cert_file: Option<PathBuf>,
    pub(super) key_file: Option<PathBuf>,
    #[serde(default)]
    pub(super) client_auth_type: ClientAuth,
    pub(super) client_ca_file: Option<PathBuf>,
    #[serde(default)]
    pub(super) min_version: TlsVersion,
    #[serde(default = "newest")]
    pub(super) max_version: TlsVersion,
}

/// `http_server_config`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct HttpKeys {
    /// Headers of answers.
    #[serde(default)]
    pub(super) headers: Mapping,
}

/// Whether clients need a certificate, by the names of Go's `crypto/tls`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub(super) enum ClientAuth {
    #[default]
    #[serde(alias = "")]
    NoClientCert,
    VerifyClientCertIfGiven,
    RequireAndVerifyClientCert,
}

/// A version of TLS, of those that are safe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub(super) enum TlsVersion {
    #[default]
    #[serde(rename = "TLS12")]
    Tls12,
    #[serde(rename = "TLS13")]
    Tls13,
}

const fn newest() -> TlsVersion {
    TlsVersion::Tls13
}

impl Document {
    /// An empty file says nothing.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let document = serde_norway::from_str::<Option<Self>>(text);
        document.map(Option::unwrap_or_default).map_err(|error| error.to_string())
    }
}

impl TlsKeys {
    pub(super) fn needs_certificate(&self) -> bool {
        self.client_auth_type == ClientAuth::RequireAndVerifyClientCert
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_are_not_supported_are_named() {
        for (text, key) in [
            ("tls_server_config:\n  cipher_suites: [x]\n", "`cipher_suites`"),
            ("tls_server_config:\n  client_allowed_sans: [x]\n", "`client_allowed_sans`"),
            ("tls_server_config:\n  min_version: TLS10\n", "`TLS10`"),
            (
                "tls_server_config:\n  client_auth_type: RequireAnyClientCert\n",
                "`RequireAnyClientCert`",
            ),
            ("http_server_config:\n  http2: true\n", "`http2`"),
            ("rate_limit:\n  burst: 1\n", "`rate_limit`"),
            ("basic_auth_users:\n  a: x\n  a: y\n", "\"a\""),
            ("tls_server_config:\n  cert_file: a\n  cert_file: b\n", "`cert_file`"),
        ] {
            let problem = Document::parse(text).unwrap_err();
            assert!(problem.contains(key), "{text}: {problem}");
        }
    }

    #[test]
    fn an_empty_file_says_nothing() {
        for text in ["", "# nothing\n", "{}"] {
            let document = Document::parse(text).unwrap();
            assert!(document.tls_server_config.is_none() && document.basic_auth_users.is_empty());
        }
    }
}
