//! The agent's pages over HTTP/1.1: a page a request, then the connection ends.
//!
//! Whoever connects costs a thread for a bounded time and nothing more: a client that says nothing or
//! reads slowly is let go at a deadline, and with too many at once the next is told to come later.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

/// Connections served at once.
const CONNECTION_LIMIT: usize = 16;
/// Bytes of a request that are read.
const REQUEST_LIMIT: usize = 8 * 1024;
/// Headers of a request that are read.
const HEADER_LIMIT: usize = 64;
/// Time for a whole request to come.
const REQUEST_TIME: Duration = Duration::from_secs(5);
/// Time for a whole answer to go.
const ANSWER_TIME: Duration = Duration::from_secs(10);
/// Time for the client to end after its answer.
const LINGER_TIME: Duration = Duration::from_secs(1);
/// How long to wait where the system has no room for a connection.
const REST: Duration = Duration::from_millis(100);

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// HTTP's status: 200, 503.
    pub status: u16,
    /// Kind of the body, such as `text/plain; version=0.0.4`.
    pub content_type: &'static str,
    /// The body.
    pub body: String,
}

/// A page's path, and what makes it when it is asked for. Several threads may ask at once.
pub type Route = (&'static str, Box<dyn Fn() -> Page + Send + Sync>);

/// Why the server cannot begin.
#[derive(Debug, thiserror::Error)]
#[error("listen on {address}")]
pub struct ServerError {
    /// Where it should have.
    pub address: SocketAddr,
    /// The system's reason.
    #[source]
    pub source: io::Error,
}

/// A server that runs until it is dropped.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    state: Arc<State>,
    thread: Option<JoinHandle<()>>,
    /// Ends the thread's waiting when it is closed.
    waiting: Option<UnixStream>,
}

#[derive(Debug, Default)]
struct State {
    is_over: AtomicBool,
    connections: AtomicUsize,
    refused: AtomicUsize,
}

impl Server {
    /// Serves these pages at this address.
    ///
    /// # Errors
    ///
    /// When nobody may listen there.
    pub fn start(address: SocketAddr, routes: Vec<Route>) -> Result<Self, ServerError> {
        let listen = || {
            let listener = TcpListener::bind(address)?;
            listener.set_nonblocking(true)?;
            let state = Arc::new(State::default());
            let address = listener.local_addr()?;
            let (waiting, end) = UnixStream::pair()?;
            let thread = thread::Builder::new().name("http".to_owned()).spawn({
                let state = Arc::clone(&state);
                move || serve(&listener, &end, &Arc::new(routes), &state)
            })?;
            Ok(Self { address, state, thread: Some(thread), waiting: Some(waiting) })
        };
        listen().map_err(|source| ServerError { address, source })
    }

    /// Where it listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Connections that were told to come later.
    #[must_use]
    pub fn refused(&self) -> usize {
        self.state.refused.load(Ordering::Relaxed)
    }
}

impl Drop for Server {
    /// Listens no more. Connections that are served end by their deadlines.
    fn drop(&mut self) {
        self.state.is_over.store(true, Ordering::Relaxed);
        drop(self.waiting.take());
        // A thread that panicked has said so.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

fn serve(listener: &TcpListener, end: &UnixStream, routes: &Arc<Vec<Route>>, state: &Arc<State>) {
    while !state.is_over.load(Ordering::Relaxed) {
        match listener.accept() {
            Ok((stream, _)) => accept(stream, routes, state),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => wait(listener, end),
            // Out of descriptors, or a client that gave up: neither ends the server.
            Err(_) => thread::sleep(REST),
        }
    }
}

/// Waits for a connection or for the end.
fn wait(listener: &TcpListener, end: &UnixStream) {
    let mut polled = [listener.as_fd(), end.as_fd()].map(|fd| PollFd::new(fd, PollFlags::POLLIN));
    match poll(&mut polled, PollTimeout::NONE) {
        Ok(_) | Err(Errno::EINTR) => {}
        Err(_) => thread::sleep(REST),
    }
}

/// The place of a connection among those that are served at once.
struct Place(Arc<State>);

impl Place {
    /// `None` where all are taken.
    fn take(state: &Arc<State>) -> Option<Self> {
        let place = Self(Arc::clone(state));
        (state.connections.fetch_add(1, Ordering::Relaxed) < CONNECTION_LIMIT).then_some(place)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

fn accept(stream: TcpStream, routes: &Arc<Vec<Route>>, state: &Arc<State>) {
    let Some(place) = Place::take(state) else {
        state.refused.fetch_add(1, Ordering::Relaxed);
        // What is so short goes into an empty buffer without waiting.
        let _ = stream.set_nonblocking(true);
        let _ = (&stream).write_all(answer(503, "too many connections").as_bytes());
        return;
    };
    let routes = Arc::clone(routes);
    let work = move || {
        // Whether it comes to its end is the client's matter.
        let _ = talk(stream, &routes);
        drop(place);
    };
    if thread::Builder::new().name("http page".to_owned()).spawn(work).is_err() {
        state.refused.fetch_add(1, Ordering::Relaxed);
    }
}

/// What is asked for.
struct Request {
    path: String,
    /// `HEAD`: the head of the answer only.
    is_head: bool,
}

fn talk(mut stream: TcpStream, routes: &[Route]) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    let answer = match request(&mut stream)? {
        Err(status) => answer(status, "not served here"),
        Ok(request) => match routes.iter().find(|(path, _)| *path == request.path) {
            None => {
                let paths: Vec<&str> = routes.iter().map(|(path, _)| *path).collect();
                answer(404, &format!("there are: {}", paths.join(" ")))
            }
            Some((_, page)) => {
                let page = page();
                let mut answer = head(page.status, page.content_type, page.body.len());
                if !request.is_head {
                    answer += &page.body;
                }
                answer
            }
        },
    };
    let deadline = Deadline::after(ANSWER_TIME);
    let mut rest = answer.as_bytes();
    while !rest.is_empty() {
        stream.set_write_timeout(Some(deadline.left()?))?;
        match stream.write(rest) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => rest = rest.get(count..).unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    linger(&mut stream)
}

/// Waits a moment for the client to end, too: a connection that is closed with something unread is
/// reset, and the answer may be lost with it.
fn linger(stream: &mut TcpStream) -> io::Result<()> {
    stream.shutdown(Shutdown::Write)?;
    let deadline = Deadline::after(LINGER_TIME);
    let mut unread = [0; 4096];
    loop {
        stream.set_read_timeout(Some(deadline.left()?))?;
        if stream.read(&mut unread)? == 0 {
            return Ok(());
        }
    }
}

/// The request, or the status that tells what is wrong with it.
fn request(stream: &mut TcpStream) -> io::Result<Result<Request, u16>> {
    let deadline = Deadline::after(REQUEST_TIME);
    let mut bytes = Vec::new();
    let mut part = [0; 1024];
    loop {
        stream.set_read_timeout(Some(deadline.left()?))?;
        let count = match stream.read(&mut part) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        bytes.extend_from_slice(part.get(..count).unwrap_or_default());
        let mut headers = [httparse::EMPTY_HEADER; HEADER_LIMIT];
        let mut request = httparse::Request::new(&mut headers);
        match request.parse(&bytes) {
            Ok(httparse::Status::Complete(_)) => {
                let is_head = match request.method {
                    Some("GET") => false,
                    Some("HEAD") => true,
                    _ => return Ok(Err(405)),
                };
                let path = request.path.unwrap_or_default();
                // Scrapers may add a query, which no page looks at.
                let path = path.split_once('?').map_or(path, |(path, _)| path).to_owned();
                return Ok(Ok(Request { path, is_head }));
            }
            Ok(httparse::Status::Partial) if bytes.len() < REQUEST_LIMIT => {}
            Ok(httparse::Status::Partial) | Err(httparse::Error::TooManyHeaders) => {
                return Ok(Err(431));
            }
            Err(_) => return Ok(Err(400)),
        }
    }
}

fn answer(status: u16, text: &str) -> String {
    let body = format!("{text}\n");
    head(status, "text/plain; charset=utf-8", body.len()) + &body
}

fn head(status: u16, content_type: &str, length: usize) -> String {
    let reason = match status {
        200 => "OK",
        400 => "Bad Request",
        404 => "Not Found",
        405 => "Method Not Allowed",
        431 => "Request Header Fields Too Large",
        503 => "Service Unavailable",
        _ => "",
    };
    format!(
        "HTTP/1.1 {status} {reason}\r\nContent-Type: {content_type}\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n"
    )
}

/// When something must have ended.
struct Deadline(Instant);

impl Deadline {
    #[expect(clippy::disallowed_methods, reason = "an edge: how long a client may take")]
    fn after(time: Duration) -> Self {
        Self(Instant::now() + time)
    }

    #[expect(clippy::disallowed_methods, reason = "an edge: how long a client may take")]
    fn left(&self) -> io::Result<Duration> {
        let left = self.0.saturating_duration_since(Instant::now());
        // A timeout of zero is refused, for it would mean none.
        if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
    }
}
