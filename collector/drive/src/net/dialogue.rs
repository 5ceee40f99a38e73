//! Two ends of a TCP connection that take turns; neither ever blocks.

use std::collections::VecDeque;
use std::io::{Error, ErrorKind, Read, Result, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use crate::clock::Deadline;
use crate::wire::greeting::{self, SocketType};

/// A rank greets when it connects: a client that has sent nothing for so long is not a rank.
const GREETING_PATIENCE: Duration = Duration::from_secs(2);

/// One end of a connection.
#[derive(Debug)]
pub(super) struct Dialogue {
    stream: TcpStream,
    /// Each piece is written separately, as in NCCL.
    outgoing: VecDeque<Vec<u8>>,
    /// Received bytes of the awaited piece.
    incoming: Vec<u8>,
    greeting: Deadline,
}

impl Dialogue {
    /// A dialogue over a non-blocking stream.
    pub(super) fn new(stream: TcpStream) -> Self {
        let greeting = Deadline::after(GREETING_PATIENCE);
        Self { stream, outgoing: VecDeque::new(), incoming: Vec::new(), greeting }
    }

    /// Accepts a client of a non-blocking listener, if there is one.
    pub(super) fn accept(listener: &TcpListener) -> Result<Option<Self>> {
        match listener.accept() {
            Ok((stream, _)) => {
                stream.set_nonblocking(true)?;
                stream.set_nodelay(true)?;
                Ok(Some(Self::new(stream)))
            }
            Err(error) if is_passing(error.kind()) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Sends the connecting side's greeting, in two pieces.
    pub(super) fn greet(&mut self, kind: SocketType) {
        let (magic, kind) = greeting::encode(greeting::SOCKET_MAGIC, kind);
        self.say(magic);
        self.say(kind);
    }

    /// Whether the peer has greeted with this kind, in time; `None` while the greeting is
    /// incomplete.
    pub(super) fn is_greeted(&mut self, kind: SocketType) -> Result<Option<bool>> {
        let said = self.hear(greeting::BYTES)?;
        let said = said.and_then(|said| <[u8; greeting::BYTES]>::try_from(said).ok());
        let expected = (greeting::SOCKET_MAGIC, kind as u32);
        let is_late = || self.greeting.left().is_zero().then_some(false);
        Ok(said.map(|said| greeting::parse(&said) == expected).or_else(is_late))
    }

    pub(super) fn say(&mut self, bytes: impl Into<Vec<u8>>) {
        self.outgoing.push_back(bytes.into());
    }

    /// Sends what the system accepts; returns whether everything has been sent.
    pub(super) fn pump(&mut self) -> Result<bool> {
        while let Some(piece) = self.outgoing.front_mut() {
            match self.stream.write(piece) {
                Ok(sent) if sent == piece.len() => drop(self.outgoing.pop_front()),
                Ok(sent) => drop(piece.drain(..sent)),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// The next `len` bytes, once all have arrived. Never reads further.
    pub(super) fn hear(&mut self, len: usize) -> Result<Option<Vec<u8>>> {
        let mut begun = self.incoming.len();
        self.incoming.resize(len.max(begun), 0);
        let heard = loop {
            if begun >= len {
                break Ok(Some(std::mem::take(&mut self.incoming)));
            }
            match self.stream.read(&mut self.incoming[begun..]) {
                Ok(0) => break Err(Error::from(ErrorKind::UnexpectedEof)),
                Ok(read) => begun += read,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break Ok(None),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => break Err(error),
            }
        };
        self.incoming.truncate(begun);
        heard
    }

    pub(super) fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// The connection, after the last message.
    pub(super) fn into_stream(self) -> TcpStream {
        self.stream
    }
}

/// Whether a listener's error only means that there is no client, or that one left early.
fn is_passing(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::WouldBlock | ErrorKind::Interrupted | ErrorKind::ConnectionAborted)
}
