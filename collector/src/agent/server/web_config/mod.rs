//! A web configuration file: who may read the pages, and over what. Its format is that of the Prometheus
//! exporter toolkit (`--web.config.file`).

mod document;
mod files;
mod headers;
mod live;
mod tls;
mod users;

use std::io;
use std::path::{Path, PathBuf};

use hyper::header::{HeaderName, HeaderValue};
use tokio_rustls::TlsAcceptor;

pub use self::files::Files;
pub use self::live::LiveWebConfig;
pub use self::users::Users;

use self::document::Document;
use crate::agent::small_file;

/// Longest file that is read: a bundle of all public authorities has 200 KiB.
const LONGEST: u64 = 1 << 20;

/// What a web configuration file says, with the files that it names. Without one, everybody may read.
#[derive(Default)]
pub struct WebConfig {
    /// Encrypts connections; `None` for HTTP without TLS.
    pub(super) tls: Option<TlsAcceptor>,
    /// Whether TLS asks for a certificate of every client.
    needs_certificate: bool,
    /// Who has a password.
    pub(super) users: Users,
    /// Headers of every answer.
    pub(super) headers: Vec<(HeaderName, HeaderValue)>,
}

/// Why a web configuration is refused.
#[derive(Debug, thiserror::Error)]
pub enum WebConfigError {
    /// A file cannot be read.
    #[error("read {}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        #[source]
        source: io::Error,
    },
    /// A file has a mistake.
    #[error("{}: {problem}", path.display())]
    Wrong {
        /// The file.
        path: PathBuf,
        /// The mistake, and the way out.
        problem: String,
    },
}

impl WebConfig {
    /// Reads a file and all that it names; `files` gets all of these.
    ///
    /// # Errors
    ///
    /// A file cannot be read or has a mistake, or has a key that this server does not support.
    pub fn read(path: &Path, files: &mut Files) -> Result<Self, WebConfigError> {
        files.add(Some(path));
        Self::parse(content(path)?, path, files)
    }

    /// The same of the bytes of the file at `path`.
    ///
    /// # Errors
    ///
    /// As for [`Self::read`].
    pub fn parse(bytes: Vec<u8>, path: &Path, files: &mut Files) -> Result<Self, WebConfigError> {
        let wrong = |problem| WebConfigError::Wrong { path: path.to_owned(), problem };
        let text = String::from_utf8(bytes).map_err(|error| wrong(error.to_string()))?;
        let document = Document::parse(&text).map_err(wrong)?;
        let users = Users::new(document.basic_auth_users).map_err(wrong)?;
        let headers = headers::read(document.http_server_config.headers).map_err(wrong)?;
        let mut config = Self { users, headers, ..Self::default() };
        if let Some(mut keys) = document.tls_server_config {
            // Paths are relative to the file, as in the toolkit.
            let folder = path.parent().unwrap_or(Path::new(""));
            for file in [&mut keys.cert_file, &mut keys.key_file, &mut keys.client_ca_file] {
                *file = file.take().map(|file| folder.join(file));
                files.add(file.as_deref());
            }
            config.needs_certificate = keys.needs_certificate();
            config.tls = Some(tls::acceptor(&keys, path)?);
        }
        Ok(config)
    }

    /// `http` or `https`.
    #[must_use]
    pub const fn scheme(&self) -> &'static str {
        if self.tls.is_some() { "https" } else { "http" }
    }

    /// Whether whoever connects reads the pages.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.users.is_empty() && !self.needs_certificate
    }

    /// Whether clients send passwords that others on their way can read.
    #[must_use]
    pub fn has_clear_passwords(&self) -> bool {
        !self.users.is_empty() && self.tls.is_none()
    }
}

/// The bytes of a file.
fn content(path: &Path) -> Result<Vec<u8>, WebConfigError> {
    let unreadable = |source| WebConfigError::Unreadable { path: path.to_owned(), source };
    small_file::read(path, LONGEST).map_err(unreadable)
}
