//! A bootstrap connection: a greeting, then frames, each preceded by its length in four bytes.

use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use crate::clock::Deadline;
use crate::tcp::{self, Lookout};
use crate::wire::greeting::{self, SocketType};
use crate::{DriveError, Result};

/// Time limit for a client's greeting; strangers never send one.
const GREETING_PATIENCE: Duration = Duration::from_secs(2);

/// A greeted connection.
#[derive(Debug)]
pub(super) struct Connection {
    stream: TcpStream,
    peer: String,
}

impl Connection {
    /// Connects to `peer` and greets.
    pub(super) fn open(
        from: IpAddr,
        to: SocketAddr,
        magic: u64,
        peer: impl Into<String>,
        lookout: &Lookout,
        deadline: Deadline,
    ) -> Result<Self> {
        let peer = peer.into();
        let stream = tcp::connect(from, to, lookout, deadline, || peer.clone())?;
        let connection = Self { stream, peer: format!("{peer} at {to}") };
        let (magic, kind) = greeting::encode(magic, SocketType::Bootstrap);
        connection.send(&magic, lookout, deadline)?;
        connection.send(&kind, lookout, deadline)?;
        Ok(connection)
    }

    /// Accepts the next client that greets with `magic` and ignores all others.
    pub(super) fn accept(
        listener: &TcpListener,
        magic: u64,
        lookout: &Lookout,
        deadline: Deadline,
        what: impl Fn() -> String,
    ) -> Result<Self> {
        loop {
            let (stream, from) = tcp::accept(listener, lookout, deadline, &what)?;
            let connection = Self { stream, peer: from.to_string() };
            let mut greeted = [0; greeting::BYTES];
            let patience = Deadline::after(GREETING_PATIENCE);
            match connection.receive(&mut greeted, lookout, patience, "a greeting") {
                Ok(()) => {}
                Err(DriveError::PeerLost { peer, .. }) if peer == connection.peer => continue,
                Err(DriveError::Late { .. }) => continue,
                Err(error) => return Err(error),
            }
            let (its_magic, kind) = greeting::parse(&greeted);
            if its_magic != magic {
                continue;
            }
            if kind != SocketType::Bootstrap as u32 {
                let what =
                    format!("socket type {kind} instead of {}", SocketType::Bootstrap as u32);
                return Err(connection.refused(what));
            }
            return Ok(connection);
        }
    }

    /// Sets the peer's name, once it is known.
    pub(super) fn name(&mut self, peer: &str) {
        self.peer = format!("{peer} at {}", self.peer);
    }

    pub(super) fn stream(&self) -> (&TcpStream, &str) {
        (&self.stream, &self.peer)
    }

    pub(super) fn send_frame(
        &self,
        bytes: &[u8],
        lookout: &Lookout,
        deadline: Deadline,
    ) -> Result<()> {
        let len = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        self.send(&len.to_le_bytes(), lookout, deadline)?;
        self.send(bytes, lookout, deadline)
    }

    /// Receives a frame of `len` bytes; `what` names its content in errors.
    pub(super) fn receive_frame(
        &self,
        len: usize,
        lookout: &Lookout,
        deadline: Deadline,
        what: &str,
    ) -> Result<Vec<u8>> {
        let mut bytes = [0; 4];
        self.receive(&mut bytes, lookout, deadline, what)?;
        let announced = u32::from_le_bytes(bytes);
        if usize::try_from(announced).ok() != Some(len) {
            return Err(self.refused(format!("{announced} bytes of {what} instead of {len}")));
        }
        let mut frame = vec![0; len];
        self.receive(&mut frame, lookout, deadline, what)?;
        Ok(frame)
    }

    pub(super) fn refused(&self, what: String) -> DriveError {
        DriveError::Protocol { peer: self.peer.clone(), what }
    }

    fn send(&self, bytes: &[u8], lookout: &Lookout, deadline: Deadline) -> Result<()> {
        tcp::send(&self.stream, bytes, &self.peer, lookout, deadline)
    }

    fn receive(
        &self,
        bytes: &mut [u8],
        lookout: &Lookout,
        deadline: Deadline,
        what: &str,
    ) -> Result<()> {
        let what = || format!("{what} from {}", self.peer);
        tcp::receive(&self.stream, bytes, &self.peer, lookout, deadline, what)
    }
}
