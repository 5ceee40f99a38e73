//! The agent's pages over HTTP/1.1, served by hyper: one page per request, then the connection
//! closes.
//!
//! A client costs bounded time and no thread of its own. One thread serves all connections, a few
//! make pages. Idle and slow clients are disconnected after a timeout, or earlier if a new one comes and
//! all places are taken. Requests must name this server, and floods are slowed down.

pub mod host;

mod pace;
mod places;

use std::convert::Infallible;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HOST, HeaderMap, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::{runtime, task, time};

use self::host::Names;
use self::pace::Pace;
use self::places::{Place, Places};

/// Connections accepted in a second, and answers made in a second: scrapers need a few.
const ACCEPTS_PER_SECOND: u32 = 500;
const ANSWERS_PER_SECOND: u32 = 100;
/// Threads that make pages. They end when idle.
const PAGE_THREADS: usize = 4;
/// Bytes of a request head.
const REQUEST_LIMIT: usize = 8 * 1024;
/// Headers of a request.
const HEADER_LIMIT: usize = 64;
/// Time for a whole request head to arrive.
const REQUEST_TIME: Duration = Duration::from_secs(5);
/// Time for a whole connection, from accept to the last byte of the answer.
const CONNECTION_TIME: Duration = Duration::from_secs(15);
/// Time for the client to close after its answer.
const LINGER_TIME: Duration = Duration::from_secs(1);
/// Time for open connections to finish when the server stops.
const STOP_TIME: Duration = Duration::from_secs(1);
/// Pause after a failed accept, such as when file descriptors run out.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

const TEXT: &str = "text/plain; charset=utf-8";
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
    refused: Arc<AtomicUsize>,
    /// Stops the thread when it is dropped.
    running: Option<oneshot::Sender<Infallible>>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Serves these pages at this address, to clients that call it by one of `names`.
    ///
    /// # Errors
    ///
    /// When the address cannot be bound or the thread cannot start.
    pub fn start(
        address: SocketAddr,
        names: Names,
        routes: Vec<Route>,
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
            let answers = Mutex::new(Pace::new(ANSWERS_PER_SECOND));
            let site = Arc::new(Site { routes, names, answers });
            let server = accept_all(listener, site, Arc::clone(&refused), stopped);
            let thread = thread::Builder::new().name("http".to_owned()).spawn(move || {
                runtime.block_on(server);
                // Stopping the server must not wait for a page that is still being made.
                runtime.shutdown_background();
            })?;
            Ok(Self { address, refused, running: Some(running), thread: Some(thread) })
        };
        listen().map_err(|source| ServerError { address, source })
    }

    /// Where it listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
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
}

async fn accept_all(
    listener: TcpListener,
    site: Arc<Site>,
    refused: Arc<AtomicUsize>,
    mut stopped: oneshot::Receiver<Infallible>,
) {
    let places = Places::default();
    let mut pace = Pace::new(ACCEPTS_PER_SECOND);
    for number in 0.. {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = &mut stopped => break,
        };
        let Ok((stream, _)) = accepted else {
            time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        if let Some(wait) = pace.wait() {
            // Meanwhile the kernel keeps others waiting, and at last refuses them.
            time::sleep(wait).await;
        }
        let Some(mut place) = places.take(number) else {
            refused.fetch_add(1, Ordering::Relaxed);
            refuse(stream);
            continue;
        };
        let connection = serve(stream, number, Arc::clone(&site), places.clone());
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

async fn serve(stream: TcpStream, number: u64, site: Arc<Site>, places: Places) {
    let mut io = TokioIo::new(stream);
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new())
        .keep_alive(false)
        .half_close(true)
        .title_case_headers(true)
        .auto_date_header(false)
        .max_buf_size(REQUEST_LIMIT)
        .max_headers(HEADER_LIMIT)
        .header_read_timeout(REQUEST_TIME);
    let service = service_fn(|request| {
        let site = Arc::clone(&site);
        Place::note_request(&places, number);
        async move { Ok::<_, Infallible>(respond(&request, site).await) }
    });
    let outcome = time::timeout(CONNECTION_TIME, http.serve_connection(&mut io, service)).await;
    // hyper has answered a malformed request before it reports the error.
    let is_answered = outcome.is_ok_and(|served| served.map_or_else(|e| e.is_parse(), |()| true));
    if is_answered {
        let _ = time::timeout(LINGER_TIME, wait_for_close(io.inner())).await;
    }
}

/// Reads until the client closes: a socket closed with unread data is reset, which may destroy the
/// answer on its way.
async fn wait_for_close(stream: &TcpStream) {
    let mut unread = [0; 4096];
    while stream.readable().await.is_ok() {
        match stream.try_read(&mut unread) {
            Ok(0) => return,
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => return,
            _ => {}
        }
    }
}

async fn respond(request: &Request<Incoming>, site: Arc<Site>) -> Response<Full<Bytes>> {
    let admits = || site.answers.lock().unwrap_or_else(PoisonError::into_inner).admits();
    let page = if !matches!(request.method(), &Method::GET | &Method::HEAD) {
        text_page(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD are served")
    } else if !is_ours(request.headers(), &site.names) {
        let why = "this host has another name; prometheus.hosts allows more names";
        text_page(StatusCode::MISDIRECTED_REQUEST, why)
    } else if !admits() {
        text_page(StatusCode::TOO_MANY_REQUESTS, "too many requests")
    } else {
        // Scrapers may add a query; no page uses it.
        let path = request.uri().path().to_owned();
        let made = task::spawn_blocking(move || page_at(&path, &site.routes)).await;
        made.unwrap_or_else(|_| text_page(StatusCode::INTERNAL_SERVER_ERROR, "page failed"))
    };
    let length = page.body.len();
    let mut response = Response::new(Full::new(page.body));
    *response.status_mut() =
        StatusCode::from_u16(page.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(page.content_type));
    // For HEAD, too, whose body hyper leaves out.
    headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
    headers.insert(CONNECTION, HeaderValue::from_static("close"));
    response
}

/// Whether every `Host` names this server. HTTP/1.0 needs none.
fn is_ours(headers: &HeaderMap, names: &Names) -> bool {
    let mut hosts = headers.get_all(HOST).iter();
    hosts.all(|host| host.to_str().is_ok_and(|host| names.allow(host)))
}

fn page_at(path: &str, routes: &[Route]) -> Page {
    if let Some((_, make)) = routes.iter().find(|(known, _)| *known == path) {
        return make();
    }
    let paths: Vec<&str> = routes.iter().map(|(path, _)| *path).collect();
    text_page(StatusCode::NOT_FOUND, &format!("there are: {}", paths.join(" ")))
}

fn text_page(status: StatusCode, text: &str) -> Page {
    Page { status: status.as_u16(), content_type: TEXT, body: format!("{text}\n").into() }
}
