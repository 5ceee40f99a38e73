//! TCP with deadlines: nobody waits for a peer that never answers, or whose failure shows
//! elsewhere.
//!
//! Streams are non-blocking; every wait also checks the connections of a [`Lookout`].

use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{
    AddressFamily, SockFlag, SockType, SockaddrStorage, bind, connect as start, socket,
};

use super::clock::Deadline;
use super::{DriveError, Result};

/// Longest wait before the [`Lookout`] is checked.
const GLANCE: Duration = Duration::from_millis(50);

/// Delay before a refused connection is retried.
const RETRY: Duration = Duration::from_millis(10);

/// Connections whose end makes waiting for others pointless.
#[derive(Debug, Default)]
pub struct Lookout {
    watched: Vec<(TcpStream, String)>,
}

impl Lookout {
    /// Watches a connection to `peer` that has nothing to read meanwhile.
    ///
    /// # Errors
    /// There are too many open files.
    pub fn watch(&mut self, stream: &TcpStream, peer: impl Into<String>) -> Result<()> {
        let peer = peer.into();
        let stream = stream.try_clone().map_err(DriveError::io(format!("watch {peer}")))?;
        self.watched.push((stream, peer));
        Ok(())
    }

    /// # Errors
    /// A watched connection has ended; `during` names the current activity.
    pub fn check(&self, during: impl Fn() -> String) -> Result<()> {
        match self.watched.iter().find(|(stream, _)| has_ended(stream)) {
            None => Ok(()),
            Some((_, peer)) => Err(DriveError::PeerLost { peer: peer.clone(), during: during() }),
        }
    }

    /// Waits until `fd` is ready for `events`.
    fn wait(
        &self,
        fd: BorrowedFd<'_>,
        events: PollFlags,
        deadline: Deadline,
        what: &impl Fn() -> String,
    ) -> Result<()> {
        loop {
            deadline.check(what)?;
            if is_ready(fd, events, deadline.left().min(GLANCE))? {
                return Ok(());
            }
            self.check(|| format!("waiting for {}", what()))?;
        }
    }
}

fn is_ready(fd: BorrowedFd<'_>, events: PollFlags, wait: Duration) -> Result<bool> {
    let millis = u16::try_from(wait.as_millis()).unwrap_or(u16::MAX).max(1);
    match poll(&mut [PollFd::new(fd, events)], PollTimeout::from(millis)) {
        Ok(ready) => Ok(ready > 0),
        Err(Errno::EINTR) => Ok(false),
        Err(errno) => Err(DriveError::io("poll")(errno.into())),
    }
}

fn has_ended(stream: &TcpStream) -> bool {
    match stream.peek(&mut [0]) {
        Ok(bytes) => bytes == 0,
        Err(error) => !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted),
    }
}

/// Listens at a port of `address` that the system chooses.
///
/// # Errors
/// The address is not this host's, or no port is left.
pub fn listen(address: IpAddr) -> Result<TcpListener> {
    let what = || format!("listen at {address}");
    let listener = TcpListener::bind((address, 0)).map_err(DriveError::io(what()))?;
    listener.set_nonblocking(true).map_err(DriveError::io(what()))?;
    Ok(listener)
}

/// The listening address.
///
/// # Errors
/// The system does not provide it.
pub fn address_of(listener: &TcpListener) -> Result<SocketAddr> {
    listener.local_addr().map_err(DriveError::io("ask for the address of a listener"))
}

/// Accepts a connection; `what` names the expected peer.
///
/// # Errors
/// None arrives in time, or a watched connection ends.
pub fn accept(
    listener: &TcpListener,
    lookout: &Lookout,
    deadline: Deadline,
    what: impl Fn() -> String,
) -> Result<(TcpStream, SocketAddr)> {
    loop {
        match listener.accept() {
            Ok((stream, from)) => return Ok((ready(stream)?, from)),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                lookout.wait(listener.as_fd(), PollFlags::POLLIN, deadline, &what)?;
            }
            Err(error) if is_passing(error.kind()) => {}
            Err(error) => return Err(DriveError::io(format!("accept {}", what()))(error)),
        }
    }
}

/// Connects from an address of this host; retries while the peer does not listen yet.
///
/// # Errors
/// Nobody listens in time, a watched connection ends, or there is no route.
pub fn connect(
    from: IpAddr,
    to: SocketAddr,
    lookout: &Lookout,
    deadline: Deadline,
    what: impl Fn() -> String,
) -> Result<TcpStream> {
    let what = || format!("{} at {to}", what());
    loop {
        let stream = start_connecting(from, to).map_err(DriveError::io(what()))?;
        lookout.wait(stream.as_fd(), PollFlags::POLLOUT, deadline, &what)?;
        let failure = stream.take_error().map_err(DriveError::io(what()))?;
        match failure {
            None => return ready(stream),
            Some(error) if is_passing(error.kind()) => {
                deadline.check(what)?;
                lookout.check(|| format!("waiting for {}", what()))?;
                std::thread::sleep(RETRY);
            }
            Some(error) => return Err(DriveError::io(format!("connect to {}", what()))(error)),
        }
    }
}

fn is_passing(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::ConnectionRefused
            | ErrorKind::ConnectionAborted
            | ErrorKind::ConnectionReset
            | ErrorKind::Interrupted
    )
}

fn start_connecting(from: IpAddr, to: SocketAddr) -> std::io::Result<TcpStream> {
    let family = if to.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 };
    let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
    let socket = socket(family, SockType::Stream, flags, None)?;
    bind(socket.as_raw_fd(), &SockaddrStorage::from(SocketAddr::new(from, 0)))?;
    match start(socket.as_raw_fd(), &SockaddrStorage::from(to)) {
        Ok(()) | Err(Errno::EINPROGRESS | Errno::ECONNREFUSED) => Ok(TcpStream::from(socket)),
        Err(errno) => Err(errno.into()),
    }
}

fn ready(stream: TcpStream) -> Result<TcpStream> {
    let set = stream.set_nodelay(true).and_then(|()| stream.set_nonblocking(true));
    set.map_err(DriveError::io("set up a connection"))?;
    Ok(stream)
}

/// Sends all of `bytes` to `peer`.
///
/// # Errors
/// The peer goes away or stops reading.
pub fn send(
    mut stream: &TcpStream,
    mut bytes: &[u8],
    peer: &str,
    lookout: &Lookout,
    deadline: Deadline,
) -> Result<()> {
    while !bytes.is_empty() {
        match stream.write(bytes) {
            Ok(sent) => bytes = bytes.get(sent..).unwrap_or_default(),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                let what = || format!("room to send to {peer}");
                lookout.wait(stream.as_fd(), PollFlags::POLLOUT, deadline, &what)?;
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => return Err(lost(peer, "sending to it")),
        }
    }
    Ok(())
}

/// Fills `bytes` with data from `peer`; `what` names it in errors.
///
/// # Errors
/// The peer goes away or sends too little in time.
pub fn receive(
    mut stream: &TcpStream,
    mut bytes: &mut [u8],
    peer: &str,
    lookout: &Lookout,
    deadline: Deadline,
    what: impl Fn() -> String,
) -> Result<()> {
    while !bytes.is_empty() {
        match stream.read(bytes) {
            Ok(0) => return Err(lost(peer, format!("waiting for {}", what()))),
            Ok(received) => bytes = bytes.get_mut(received..).unwrap_or_default(),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                lookout.wait(stream.as_fd(), PollFlags::POLLIN, deadline, &what)?;
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => return Err(lost(peer, format!("waiting for {}", what()))),
        }
    }
    Ok(())
}

fn lost(peer: &str, during: impl Into<String>) -> DriveError {
    DriveError::PeerLost { peer: peer.to_owned(), during: during.into() }
}
