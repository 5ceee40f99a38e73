//! Pages at a Unix socket: who may open it is up to the file system, and no name of a host is asked for.

use std::io;
use std::path::{Path, PathBuf};

use tokio::net::UnixListener;

use super::Route;
use super::listener::Listener;
use super::running::{Running, Site};
use crate::socket_file::SocketFile;

/// Rights of the socket: those of its owner and its group.
const MODE: u32 = 0o660;

/// Why the socket cannot be served.
#[derive(Debug, thiserror::Error)]
#[error("listen at {} (prometheus.socket)", path.display())]
pub struct SocketError {
    /// The socket.
    pub path: PathBuf,
    /// The reason.
    #[source]
    pub source: io::Error,
}

/// A server that runs until it is dropped, which removes its socket.
#[derive(Debug)]
pub struct SocketServer {
    _running: Running,
    _file: SocketFile,
}

impl SocketServer {
    /// Serves these pages to whoever may open the socket.
    ///
    /// # Errors
    ///
    /// Another process listens there, a file is there, or the thread cannot start.
    pub fn start(path: &Path, routes: Vec<Route>) -> Result<Self, SocketError> {
        let start = || {
            let (file, listener) = SocketFile::listen(path, MODE)?;
            let site = Site::new(routes, None, Default::default());
            let listen = async || Ok(Listener::Unix(UnixListener::from_std(listener)?));
            Ok(Self { _running: Running::start(listen, site)?, _file: file })
        };
        start().map_err(|source| SocketError { path: path.to_owned(), source })
    }
}
