//! A connection to another host, and what it brings: events of all connections meet in one queue.

use std::io;
use std::net::TcpStream;
use std::sync::Mutex;
use std::sync::mpsc::SyncSender;
use std::time::Duration;

use nix::sys::socket::{setsockopt, sockopt};

use super::protocol::{Data, Member, Message, read_frame, write_frame};

/// Which side opened a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// This host.
    Out,
    /// The other one.
    In,
}

/// What happens.
pub(super) enum Event {
    /// A host takes part.
    Joined { host: usize, way: Way, link: Link, member: Member },
    /// This host could not connect to another one; tried again.
    Failed { host: usize, why: String, is_unresolved: bool },
    /// Trying again is no use: another release, other hosts, or it has begun.
    Refused { host: usize, why: String },
    /// A message of a host.
    Heard { host: usize, message: Message },
    /// A connection ended.
    Closed { host: usize, way: Way, why: String },
    /// A connection for a measurement.
    Data { data: Data, stream: TcpStream },
}

/// How many events wait; readers then pause.
pub(super) const QUEUE: usize = 4096;

/// Longest pause of a peer that does not take what is sent.
const SEND: Duration = Duration::from_secs(10);

/// The sending side of a connection.
pub(super) struct Link {
    stream: Mutex<TcpStream>,
}

impl Link {
    /// Prepares a connection whose peer is known.
    ///
    /// # Errors
    /// The system refuses.
    pub(super) fn new(stream: &TcpStream) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        stream.set_read_timeout(None)?;
        // A host that dies without a word is noticed by the kernel: after 5 s of silence it asks
        // three times, 2 s apart.
        setsockopt(stream, sockopt::KeepAlive, &true)?;
        setsockopt(stream, sockopt::TcpKeepIdle, &5)?;
        setsockopt(stream, sockopt::TcpKeepInterval, &2)?;
        setsockopt(stream, sockopt::TcpKeepCount, &3)?;
        let writer = stream.try_clone()?;
        writer.set_write_timeout(Some(SEND))?;
        Ok(Self { stream: Mutex::new(writer) })
    }

    /// Sends a message.
    ///
    /// # Errors
    /// The connection is closed, or the peer takes nothing.
    pub(super) fn send(&self, message: &Message) -> io::Result<()> {
        let mut stream = self.stream.lock().map_err(|_| io::Error::other("a thread failed"))?;
        write_frame(&mut *stream, message)
    }

    /// Where the peer is.
    pub(super) fn peer(&self) -> io::Result<std::net::SocketAddr> {
        self.stream.lock().map_err(|_| io::Error::other("a thread failed"))?.peer_addr()
    }
}

/// Reads messages until the connection ends; runs on a thread of its own.
pub(super) fn read(mut stream: TcpStream, host: usize, way: Way, events: &SyncSender<Event>) {
    let why = loop {
        match read_frame(&mut stream) {
            Ok(message) => {
                if events.send(Event::Heard { host, message }).is_err() {
                    return;
                }
            }
            Err(error) => break error.to_string(),
        }
    };
    // Nobody listens once the ping is over.
    _ = events.send(Event::Closed { host, way, why });
}
