//! The agent's pages over HTTP/1.1, served by hyper: one page per request, then the connection
//! closes.
//!
//! A client costs bounded time and no thread of its own. One thread serves all connections of a listener, a few
//! make pages. Idle and slow clients are disconnected after a timeout, or earlier if a new one comes and
//! all places are taken. Requests must name this server, and floods are slowed down. A web configuration
//! says who may read, and encrypts connections.

pub mod body;
pub mod host;
pub mod socket;
pub mod web_config;

mod answer;
mod connection;
mod listener;
mod login;
mod pace;
mod places;
mod running;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::{io as async_io, join, runtime};

use self::body::Body;
use self::connection::{Client, LOCAL};
use self::host::Names;
use self::listener::Listener;
use self::places::Places;
use self::running::{Running, Site};
use self::web_config::LiveWebConfig;

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// HTTP's status: 200, 503.
    pub status: u16,
    /// Kind of the body, such as `text/plain; version=0.0.4`.
    pub content_type: &'static str,
    /// What the client gets, in UTF-8.
    pub body: Body,
}

/// A page's path, and the function that makes it for each request. Several threads may call it at
/// once.
pub type Route = (&'static str, Box<dyn Fn() -> Page + Send + Sync>);

/// Why the server cannot start.
#[derive(Debug, thiserror::Error)]
#[error("listen on {address}")]
pub struct ServerError {
    /// Where it listens.
    pub address: SocketAddr,
    /// The system's reason.
    #[source]
    pub source: io::Error,
}

/// A server that runs until it is dropped.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    web: Arc<LiveWebConfig>,
    running: Running,
}

impl Server {
    /// Serves these pages at this address, to clients that call it by one of `names` and that `web` allows.
    ///
    /// # Errors
    ///
    /// When the address cannot be bound or the thread cannot start.
    pub fn start(
        address: SocketAddr,
        names: Names,
        routes: Vec<Route>,
        web: Arc<LiveWebConfig>,
    ) -> Result<Self, ServerError> {
        let mut bound = address;
        let listen = async || {
            let listener = TcpListener::bind(address).await?;
            bound = listener.local_addr()?;
            Ok(Listener::Tcp(listener))
        };
        let site = Site::new(routes, Some(names), Arc::clone(&web));
        let running = Running::start(listen, site);
        let running = running.map_err(|source| ServerError { address, source })?;
        Ok(Self { address: bound, web, running })
    }

    /// Where it listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// URL of the metrics.
    #[must_use]
    pub fn metrics(&self) -> String {
        format!("{}://{}/metrics", self.web.get().scheme(), self.address)
    }

    /// Connections refused because too many were open.
    #[must_use]
    pub fn refused(&self) -> usize {
        self.running.refused()
    }
}

/// What a client gets that sends these bytes and no more, as a [`Server`] answers it, without a socket.
///
/// # Errors
///
/// The system has no resources for a runtime.
#[doc(hidden)]
pub fn exchange(
    request: &[u8],
    names: Names,
    routes: Vec<Route>,
    web: Arc<LiveWebConfig>,
) -> io::Result<Vec<u8>> {
    let site = Arc::new(Site::new(routes, Some(names), web));
    let client = Client { number: 0, site, places: Places::default() };
    let runtime = runtime::Builder::new_current_thread().enable_time().build()?;
    runtime.block_on(async {
        let (mut near, far) = async_io::duplex(request.len().max(1 << 16));
        let mut answer = Vec::new();
        let talk = async {
            near.write_all(request).await?;
            near.shutdown().await?;
            near.read_to_end(&mut answer).await
        };
        let (_, read) = join!(client.converse(far, LOCAL), talk);
        read.map(|_| answer)
    })
}
