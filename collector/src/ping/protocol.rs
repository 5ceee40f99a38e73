//! What hosts say to each other: a line with the version, then frames of JSON with their length.
//!
//! A peer may be anything that reached the port. Frames are bounded, a greeting has a deadline, and
//! numbers are checked where they are used.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::clock::left;
use super::matrix::{Cell, Device};

/// The version of all this. Another one is refused by name.
pub(super) const VERSION: u32 = 1;

/// What each side sends first; a number and a newline follow.
const MARK: &str = "railscope-ping/";
/// Digits of a version, at most.
const VERSION_DIGITS: usize = 6;
/// Bytes of a frame, at most: a cell with all pairs of 16 devices fits.
const FRAME: u32 = 64 * 1024;
/// Bytes of an error or a name that is sent, at most.
pub(super) const TEXT: usize = 240;

/// A peer's first frame.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Hello {
    /// It wants to measure.
    Member(Member),
    /// It brings a connection for a measurement.
    Data(Data),
}

/// Who a peer is, and what it was told to measure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Member {
    /// Its index in `hosts`.
    pub(super) host: usize,
    /// The hosts of its command line.
    pub(super) hosts: Vec<String>,
    /// The options that must be the same on all hosts.
    pub(super) options: String,
    /// Its RDMA ports.
    pub(super) devices: Vec<Device>,
    /// Why it has none, or which it left out.
    pub(super) rdma_note: Option<String>,
}

/// A connection for a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Data {
    /// Index of the host that opened it.
    pub(super) host: usize,
    /// The measurement.
    pub(super) id: u32,
}

/// The answer to a greeting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Answer {
    /// It takes part.
    Welcome(Member),
    /// It does not, and why.
    Refused(String),
}

/// Every later frame.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum Message {
    /// The hosts that the sender is connected to: a bit per index.
    Present(u64),
    /// The sender waits for the receiver in this round.
    Ready(usize),
    /// The sender measures over TCP; the side that opened the link opens the connections.
    Measure {
        /// Names its connections.
        id: u32,
        /// What.
        kind: Kind,
        /// How many connections.
        streams: usize,
    },
    /// What the receiver of a stream counted, in Gb/s; an error instead if nothing came.
    Rate(Result<f64, String>),
    /// The sender measures from its device to one of the receiver.
    Rail {
        /// Rail of the sender.
        from: u8,
        /// Rail of the receiver.
        to: u8,
        /// Its end of the queue pair.
        end: End,
    },
    /// The receiver's end; an error instead if it has none.
    RailReady(Result<End, String>),
    /// The queue pair is no longer needed.
    RailDone,
    /// It is the receiver's turn to measure.
    Turn,
    /// A row follows, in this many cells.
    Row {
        /// Whose.
        host: usize,
        /// Its RDMA ports.
        devices: Vec<Device>,
        /// Why it has none, or which it left out.
        rdma_note: Option<String>,
        /// How many.
        cells: usize,
    },
    /// A cell of a row.
    Cell {
        /// Whose row.
        host: usize,
        /// The cell.
        cell: Cell,
    },
    /// The rows that the sender has: a bit per index.
    Have(u64),
    /// The sender needs nothing more.
    Bye,
}

/// A measurement over TCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Kind {
    /// Small messages there and back.
    RoundTrip,
    /// As many bytes as pass.
    Bandwidth,
}

/// An end of a queue pair, with memory that the other end may write into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct End {
    /// Its number.
    pub(super) qpn: u32,
    /// Its port's address.
    pub(super) gid: [u8; 16],
    /// Its port's MTU in bytes.
    pub(super) mtu: u16,
    /// The memory.
    pub(super) address: u64,
    /// Its key.
    pub(super) rkey: u32,
}

/// Why a peer was not understood.
#[derive(Debug, thiserror::Error)]
pub(super) enum Garbled {
    /// The connection failed, closed, or said nothing in time.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// Another release.
    #[error(
        "it speaks version {0} of the ping, this railscope version {VERSION}: install the same release on all hosts"
    )]
    Version(u32),
    /// No railscope.
    #[error("what listens there is no railscope doctor ping")]
    Stranger,
    /// A frame out of bounds or unreadable.
    #[error("it sent a frame that cannot be read: {0}")]
    Frame(String),
}

/// Sends the version.
pub(super) fn write_version(stream: &mut impl Write) -> io::Result<()> {
    stream.write_all(format!("{MARK}{VERSION}\n").as_bytes())
}

/// Reads the peer's version.
pub(super) fn read_version(stream: &mut impl Read) -> Result<(), Garbled> {
    let mut mark = [0; MARK.len()];
    stream.read_exact(&mut mark)?;
    if mark != MARK.as_bytes() {
        return Err(Garbled::Stranger);
    }
    let mut digits = String::new();
    loop {
        let mut byte = [0];
        stream.read_exact(&mut byte)?;
        match byte[0] {
            b'\n' => break,
            digit if digit.is_ascii_digit() && digits.len() < VERSION_DIGITS => {
                digits.push(char::from(digit));
            }
            _ => return Err(Garbled::Stranger),
        }
    }
    match digits.parse() {
        Ok(VERSION) => Ok(()),
        Ok(other) => Err(Garbled::Version(other)),
        Err(_) => Err(Garbled::Stranger),
    }
}

/// Sends a frame.
pub(super) fn write_frame(stream: &mut impl Write, frame: &impl Serialize) -> io::Result<()> {
    let json = serde_json::to_vec(frame)?;
    let length = u32::try_from(json.len()).ok().filter(|&length| length <= FRAME);
    let length = length.ok_or_else(|| io::Error::other("a frame is too long"))?;
    let mut bytes = length.to_be_bytes().to_vec();
    bytes.extend(json);
    stream.write_all(&bytes)
}

/// Reads a frame.
pub(super) fn read_frame<T: for<'de> Deserialize<'de>>(
    stream: &mut impl Read,
) -> Result<T, Garbled> {
    let mut length = [0; 4];
    stream.read_exact(&mut length)?;
    let length = u32::from_be_bytes(length);
    if length > FRAME {
        return Err(Garbled::Frame(format!("{length} bytes, at most {FRAME} are allowed")));
    }
    let mut bytes = vec![0; length as usize];
    stream.read_exact(&mut bytes)?;
    serde_json::from_slice(&bytes).map_err(|error| Garbled::Frame(error.to_string()))
}

/// Reads from a stream until a deadline, however slowly bytes come.
pub(super) struct Until<'a> {
    pub(super) stream: &'a TcpStream,
    pub(super) deadline: Instant,
}

impl Read for Until<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let left = left(self.deadline);
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.stream.set_read_timeout(Some(left.max(Duration::from_millis(1))))?;
        let mut stream = self.stream;
        match stream.read(into) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                Err(io::ErrorKind::TimedOut.into())
            }
            other => other,
        }
    }
}

/// Shortens a text that is sent.
pub(super) fn bounded(text: &str) -> String {
    let mut text: String = text.chars().take(TEXT).collect();
    while text.len() > TEXT {
        text.pop();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{Garbled, Hello, Message, read_frame, read_version, write_frame, write_version};

    #[test]
    fn frames_come_back() {
        let mut bytes = Vec::new();
        write_version(&mut bytes).unwrap();
        write_frame(&mut bytes, &Message::Rate(Ok(1.5))).unwrap();
        let mut from = bytes.as_slice();
        read_version(&mut from).unwrap();
        assert_eq!(read_frame::<Message>(&mut from).unwrap(), Message::Rate(Ok(1.5)));
    }

    #[test]
    fn strangers_other_versions_and_long_frames_are_refused() {
        let refused = |bytes: &[u8]| read_version(&mut &*bytes).unwrap_err();
        assert!(matches!(refused(b"GET / HTTP/1.1\r\nHost: x"), Garbled::Stranger));
        assert!(matches!(refused(b"railscope-ping/2\n"), Garbled::Version(2)));
        assert!(matches!(refused(b"railscope-ping/99999999999999\n"), Garbled::Stranger));
        assert!(matches!(refused(b"railscope-ping/\n"), Garbled::Stranger));
        assert!(matches!(refused(b"rails"), Garbled::Io(_)));
        let long = [0xff; 64];
        assert!(matches!(read_frame::<Hello>(&mut &long[..]), Err(Garbled::Frame(_))));
        let cut = [0, 0, 0, 9, b'{'];
        assert!(matches!(read_frame::<Hello>(&mut &cut[..]), Err(Garbled::Io(_))));
        let wrong = [0, 0, 0, 2, b'{', b'}'];
        assert!(matches!(read_frame::<Hello>(&mut &wrong[..]), Err(Garbled::Frame(_))));
    }
}
