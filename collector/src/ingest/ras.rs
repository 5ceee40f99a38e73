//! Asks NCCL's RAS for the status of a job: a listener in one of its processes on this node, from NCCL 2.24 on
//! (`src/ras/client_support.cc`).
//!
//! ```text
//! CLIENT PROTOCOL 2 -> SERVER PROTOCOL 2      SET FORMAT json -> OK, from 2.28.7 on; else text
//! TIMEOUT 5         -> OK                     VERBOSE STATUS  -> the status; then it closes
//! ```
//!
//! Any process of this host may listen there, so the answer is bounded in time and size, and its text is trusted
//! no more than a file's.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// Time for everything. RAS waits for silent processes for 5 s, and 5 s more.
const PATIENCE: Duration = Duration::from_secs(12);

/// Bytes of a status: a rank takes about 300, and the largest jobs have 100,000.
const LIMIT: usize = 64 << 20;

/// Bytes of an answer in one line.
const LINE_LIMIT: usize = 1024;

/// Why there is no status.
#[derive(Debug, thiserror::Error)]
pub enum RasError {
    /// Nothing listens there, or it broke off.
    #[error("ask RAS at {address}")]
    Connection {
        /// Where it should listen.
        address: SocketAddr,
        /// The system's reason.
        #[source]
        source: io::Error,
    },
    /// No end in time.
    #[error("RAS at {address} does not answer within {} s", PATIENCE.as_secs())]
    Late {
        /// Where it listens.
        address: SocketAddr,
    },
    /// No end in sight.
    #[error("the answer of {address} has more than {} MiB", LIMIT >> 20)]
    Long {
        /// Where it listens.
        address: SocketAddr,
    },
    /// Something else listens there.
    #[error("what listens at {address} is not RAS")]
    NotRas {
        /// Where it listens.
        address: SocketAddr,
    },
}

/// The status, in JSON or text.
///
/// # Errors
///
/// When nothing answers as RAS does, in time.
pub fn status(address: SocketAddr) -> Result<Vec<u8>, RasError> {
    let end = now() + PATIENCE;
    let failed = |source| RasError::Connection { address, source };
    let stream = TcpStream::connect_timeout(&address, Duration::from_secs(1)).map_err(failed)?;
    let mut conversation = Conversation { address, stream, end };
    if !conversation.ask("CLIENT PROTOCOL 2")?.starts_with("SERVER PROTOCOL") {
        return Err(RasError::NotRas { address });
    }
    if conversation.ask("TIMEOUT 5")? != "OK" {
        return Err(RasError::NotRas { address });
    }
    // Releases before 2.28.7 answer with an error, and go on in text.
    conversation.ask("SET FORMAT json")?;
    conversation.say("VERBOSE STATUS")?;
    conversation.rest()
}

struct Conversation {
    address: SocketAddr,
    stream: TcpStream,
    end: Instant,
}

impl Conversation {
    fn say(&mut self, line: &str) -> Result<(), RasError> {
        let address = self.address;
        let sent = self.stream.set_write_timeout(Some(self.left()?));
        let sent = sent.and_then(|()| self.stream.write_all(format!("{line}\n").as_bytes()));
        sent.map_err(|source| RasError::Connection { address, source })
    }

    /// The line that answers.
    fn ask(&mut self, line: &str) -> Result<String, RasError> {
        self.say(line)?;
        let mut answer = Vec::new();
        let mut byte = [0];
        while self.read(&mut byte)? == 1 && byte != [b'\n'] {
            answer.push(byte[0]);
            if answer.len() > LINE_LIMIT {
                return Err(RasError::NotRas { address: self.address });
            }
        }
        Ok(String::from_utf8_lossy(&answer).trim().to_owned())
    }

    /// All that comes until it closes.
    fn rest(&mut self) -> Result<Vec<u8>, RasError> {
        let mut all = Vec::new();
        let mut bytes = vec![0; 64 << 10];
        loop {
            let count = self.read(&mut bytes)?;
            if count == 0 {
                return Ok(all);
            }
            all.extend_from_slice(bytes.get(..count).unwrap_or_default());
            if all.len() > LIMIT {
                return Err(RasError::Long { address: self.address });
            }
        }
    }

    fn read(&mut self, bytes: &mut [u8]) -> Result<usize, RasError> {
        let (address, left) = (self.address, self.left()?);
        let read = self.stream.set_read_timeout(Some(left)).and_then(|()| self.stream.read(bytes));
        read.map_err(|source| match source.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => RasError::Late { address },
            _ => RasError::Connection { address, source },
        })
    }

    fn left(&self) -> Result<Duration, RasError> {
        let left = self.end.saturating_duration_since(now());
        if left.is_zero() { Err(RasError::Late { address: self.address }) } else { Ok(left) }
    }
}

#[expect(clippy::disallowed_methods, reason = "who listens may never answer")]
fn now() -> Instant {
    Instant::now()
}
