//! The agent's pages over HTTP/1.1, served by hyper: one page per request, then the connection
//! closes.
//!
//! A client costs bounded time and no thread of its own. One thread serves all connections, a few
//! make pages. Idle and slow clients are disconnected after a timeout, or earlier if a new one comes and
//! all places are taken. Requests must name this server, and floods are slowed down. A web configuration
//! says who may read, and encrypts connections.

pub mod host;
pub mod web_config;

mod answer;
mod connection;
mod login;
mod pace;
mod places;

use std::convert::Infallible;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use hyper::body::Bytes;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::{runtime, task, time};

use self::connection::Client;
use self::host::Names;
use self::login::Login;
use self::pace::Pace;
use self::places::Places;
use self::web_config::LiveWebConfig;

/// Connections accepted in a second, and answers made in a second: scrapers need a few.
const ACCEPTS_PER_SECOND: u32 = 500;
const ANSWERS_PER_SECOND: u32 = 100;
/// Connections with TLS: a handshake with an RSA key takes about 1 ms.
const HANDSHAKES_PER_SECOND: u32 = 100;
/// Threads that make pages and verify passwords. They end when idle.
const PAGE_THREADS: usize = 4;
/// Time for open connections to finish when the server stops.
const STOP_TIME: Duration = Duration::from_secs(1);
/// Pause after a failed accept, such as when file descriptors run out.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The answer to clients beyond the limit. Short enough to fit any empty send buffer.
const REFUSAL: &str = "HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain; charset=utf-8\r\n\
                       Content-Length: 21\r\nConnection: close\r\n\r\ntoo many connections\n";

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// HTTP's status: 200, 503.
    pub status: u16,
    /// Kind of the body, such as `text/plain; version=0.0.4`.
    pub content_type: &'static str,
    /// What the client gets, in UTF-8.
    pub body: Bytes,
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
    refused: Arc<AtomicUsize>,
    /// Stops the thread when it is dropped.
    running: Option<oneshot::Sender<Infallible>>,
    thread: Option<JoinHandle<()>>,
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
        let listen = || {
            let runtime = runtime::Builder::new_current_thread()
                .enable_all()
                .max_blocking_threads(PAGE_THREADS)
                .thread_name("http page")
                .build()?;
            let listener = runtime.block_on(TcpListener::bind(address))?;
            let address = listener.local_addr()?;
            let refused = Arc::new(AtomicUsize::new(0));
            let (running, stopped) = oneshot::channel();
            let pace = || Mutex::new(Pace::new(ANSWERS_PER_SECOND));
            let (answers, probes, login) = (pace(), pace(), Arc::new(Login::new()));
            let site = Site { routes, names, answers, probes, web: Arc::clone(&web), login };
            let site = Arc::new(site);
            let server = accept_all(listener, site, Arc::clone(&refused), stopped);
            let thread = thread::Builder::new().name("http".to_owned()).spawn(move || {
                runtime.block_on(server);
                // Stopping the server must not wait for a page that is still being made.
                runtime.shutdown_background();
            })?;
            Ok(Self { address, web, refused, running: Some(running), thread: Some(thread) })
        };
        listen().map_err(|source| ServerError { address, source })
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
        self.refused.load(Ordering::Relaxed)
    }
}

impl Drop for Server {
    /// Stops listening; open connections have a moment to finish.
    fn drop(&mut self) {
        drop(self.running.take());
        // A panic of the thread has been printed already.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// What is served, and to whom.
struct Site {
    routes: Vec<Route>,
    names: Names,
    answers: Mutex<Pace>,
    /// Answers to probes that need no password.
    probes: Mutex<Pace>,
    web: Arc<LiveWebConfig>,
    login: Arc<Login>,
}

async fn accept_all(
    listener: TcpListener,
    site: Arc<Site>,
    refused: Arc<AtomicUsize>,
    mut stopped: oneshot::Receiver<Infallible>,
) {
    let places = Places::default();
    let mut accepts = Pace::new(ACCEPTS_PER_SECOND);
    let mut handshakes = Pace::new(HANDSHAKES_PER_SECOND);
    for number in 0.. {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = &mut stopped => break,
        };
        let Ok((stream, address)) = accepted else {
            time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let web = site.web.get();
        let pace = if web.tls.is_some() { &mut handshakes } else { &mut accepts };
        if let Some(wait) = pace.wait() {
            // Meanwhile the kernel keeps others waiting, and at last refuses them.
            time::sleep(wait).await;
        }
        let Some(mut place) = places.take(number) else {
            refused.fetch_add(1, Ordering::Relaxed);
            refuse(stream);
            continue;
        };
        let (site, places) = (Arc::clone(&site), places.clone());
        let client = Client { number, address: address.ip(), site, places };
        let connection = client.serve(stream, web);
        task::spawn(async move {
            tokio::select! {
                () = connection => {}
                _ = &mut place.left => {}
            }
        });
    }
    drop(listener);
    let is_over = async {
        while !places.is_empty() {
            time::sleep(STOP_TIME / 20).await;
        }
    };
    let _ = time::timeout(STOP_TIME, is_over).await;
}

fn refuse(stream: TcpStream) {
    if let Ok(mut stream) = stream.into_std() {
        // The client may have gone.
        let _ = stream.write_all(REFUSAL.as_bytes());
    }
}
