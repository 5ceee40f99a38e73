//! The store as a thread that serves TCP clients.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::contents::{ClientId, Contents};
use super::request::{Requests, STOP_WAITING};
use crate::clock::Deadline;
use crate::{DriveError, Result};

/// Most concurrent clients; others are disconnected.
pub const CLIENT_LIMIT: usize = 4096;

/// Unsent bytes at which a client that does not read its answers is no longer read.
const BACKLOG_LIMIT: usize = 1 << 20;

/// A running store; ends when dropped.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    connected: Arc<Connected>,
    /// Closed to end the thread.
    stop: Option<UnixStream>,
    thread: Option<JoinHandle<()>>,
}

/// Number of clients.
#[derive(Debug, Default)]
struct Connected {
    count: Mutex<usize>,
    changed: Condvar,
}

impl Server {
    /// Serves an empty store at `address`; port 0 lets the system choose.
    ///
    /// # Errors
    /// The port is in use, or the address is not this host's.
    pub fn bind(address: SocketAddr) -> Result<Self> {
        let what = || format!("serve the store at {address}");
        let listener = TcpListener::bind(address).map_err(DriveError::io(what()))?;
        listener.set_nonblocking(true).map_err(DriveError::io(what()))?;
        let address = listener.local_addr().map_err(DriveError::io(what()))?;
        let (stop, stopped) = UnixStream::pair().map_err(DriveError::io(what()))?;
        let connected = Arc::<Connected>::default();
        let daemon = Daemon {
            listener,
            stopped,
            connected: Arc::clone(&connected),
            contents: Contents::default(),
            clients: BTreeMap::new(),
            next: 0,
            is_full: false,
        };
        let thread = std::thread::Builder::new().name("store".to_owned());
        let thread = thread.spawn(|| daemon.run()).map_err(DriveError::io(what()))?;
        Ok(Self { address, connected, stop: Some(stop), thread: Some(thread) })
    }

    /// The listening address.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until every client has left or `deadline` passes.
    pub fn finish(self, deadline: Deadline) {
        let mut count = self.connected.count.lock().unwrap_or_else(PoisonError::into_inner);
        while *count > 0 && !deadline.left().is_zero() {
            let waited = self.connected.changed.wait_timeout(count, deadline.left());
            count = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// State of the thread.
struct Daemon {
    listener: TcpListener,
    stopped: UnixStream,
    connected: Arc<Connected>,
    contents: Contents,
    clients: BTreeMap<ClientId, Client>,
    next: ClientId,
    /// No free file descriptor: no client is accepted until one leaves.
    is_full: bool,
}

struct Client {
    stream: TcpStream,
    requests: Requests,
    outgoing: Vec<u8>,
}

impl Daemon {
    fn run(mut self) {
        while let Some(ready) = self.wait() {
            if ready.is_new {
                self.accept();
            }
            for client in ready.clients {
                if !self.serve(client) {
                    self.leave(client);
                }
            }
        }
    }

    /// Waits for work; `None` once the server is dropped.
    fn wait(&self) -> Option<Ready> {
        let accepting = if self.is_full { PollFlags::empty() } else { PollFlags::POLLIN };
        let mut polled = vec![
            PollFd::new(self.stopped.as_fd(), PollFlags::POLLIN),
            PollFd::new(self.listener.as_fd(), accepting),
        ];
        polled.extend(self.clients.values().map(|client| {
            let mut events = PollFlags::empty();
            events.set(PollFlags::POLLOUT, !client.outgoing.is_empty());
            events.set(PollFlags::POLLIN, client.outgoing.len() < BACKLOG_LIMIT);
            PollFd::new(client.stream.as_fd(), events)
        }));
        loop {
            match poll(&mut polled, PollTimeout::NONE) {
                Ok(_) => break,
                Err(Errno::EINTR) => {}
                Err(_) => return None,
            }
        }
        let is_ready = |polled: &PollFd<'_>| polled.any().unwrap_or(true);
        let [stopped, listener, clients @ ..] = polled.as_slice() else { return None };
        let clients = self.clients.keys().zip(clients).filter(|(_, polled)| is_ready(polled));
        let clients = clients.map(|(client, _)| *client).collect();
        (!is_ready(stopped)).then(|| Ready { is_new: is_ready(listener), clients })
    }

    fn accept(&mut self) {
        loop {
            match self.listener.accept() {
                Ok((stream, _)) => {
                    let set = stream.set_nonblocking(true).and_then(|()| stream.set_nodelay(true));
                    if set.is_err() || self.clients.len() >= CLIENT_LIMIT {
                        continue;
                    }
                    let requests = Requests::default();
                    let client = Client { stream, requests, outgoing: Vec::new() };
                    self.clients.insert(self.next, client);
                    self.next += 1;
                    self.publish_count();
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == ErrorKind::ConnectionAborted => {}
                Err(_) => {
                    self.is_full = !self.clients.is_empty();
                    return;
                }
            }
        }
    }

    /// Reads, answers and writes; returns whether the client stays.
    fn serve(&mut self, id: ClientId) -> bool {
        let Some(client) = self.clients.get_mut(&id) else { return true };
        if !client.flush() {
            return false;
        }
        let mut bytes = [0; 64 << 10];
        if client.outgoing.len() < BACKLOG_LIMIT {
            match client.stream.read(&mut bytes) {
                Ok(0) => return false,
                Ok(received) => client.requests.push(bytes.get(..received).unwrap_or_default()),
                Err(error) if is_passing(error.kind()) => {}
                Err(_) => return false,
            }
        }
        self.answer(id)
    }

    /// Answers complete requests; returns whether the client stays.
    fn answer(&mut self, id: ClientId) -> bool {
        loop {
            let Some(client) = self.clients.get_mut(&id) else { return true };
            if client.outgoing.len() >= BACKLOG_LIMIT {
                if !client.flush() {
                    return false;
                }
                if client.outgoing.len() >= BACKLOG_LIMIT {
                    return true;
                }
            }
            let Ok(request) = client.requests.take() else { return false };
            let Some(request) = request else { return client.flush() };
            let Ok(answer) = self.contents.serve(id, request) else { return false };
            client.outgoing.extend_from_slice(&answer.bytes);
            for woken in answer.woken {
                if let Some(client) = self.clients.get_mut(&woken) {
                    client.outgoing.push(STOP_WAITING);
                    // A failed write is noticed at the next poll.
                    client.flush();
                }
            }
        }
    }

    fn leave(&mut self, id: ClientId) {
        self.clients.remove(&id);
        self.contents.forget(id);
        self.is_full = false;
        self.publish_count();
    }

    fn publish_count(&self) {
        let mut count = self.connected.count.lock().unwrap_or_else(PoisonError::into_inner);
        *count = self.clients.len();
        self.connected.changed.notify_all();
    }
}

struct Ready {
    is_new: bool,
    clients: Vec<ClientId>,
}

impl Client {
    /// Writes what the socket accepts; returns whether the client is still there.
    fn flush(&mut self) -> bool {
        while !self.outgoing.is_empty() {
            match self.stream.write(&self.outgoing) {
                Ok(sent) => drop(self.outgoing.drain(..sent)),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return true,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return false,
            }
        }
        true
    }
}

fn is_passing(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::WouldBlock | ErrorKind::Interrupted)
}
