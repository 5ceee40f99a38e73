//! Messages in transfer over one end of a link, one after the other.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::ops::Range;

use super::super::{Finished, Request};
use super::direction::Direction;
use super::stripe::{Connections, Piece, PieceSocket};
use crate::DriveError;
use crate::clock::wall_ns;
use crate::release::Release;

/// Up to this many bytes are sent in one piece with the size (`NCCL_SOCKET_INLINE`, from 2.23 on).
const INLINE: usize = 128;

/// Bytes of the size at the start of a message.
const SIZE_BYTES: usize = 4;

/// All messages of one end, including completed ones not collected yet.
#[derive(Debug, Default)]
pub(super) struct Transfers {
    queue: VecDeque<Transfer>,
    ended: Vec<(Request, Finished)>,
}

/// One message.
#[derive(Debug)]
pub(super) struct Transfer {
    request: Request,
    /// Its data in the buffer; until the size is known, the space for it.
    data: Range<usize>,
    /// The size and the data sent with it, as far as transferred.
    head: Vec<u8>,
    passed: usize,
    pieces: Option<Vec<Piece>>,
    first_byte_ns: Option<u64>,
}

/// Why a message fails.
#[derive(Debug)]
pub(super) enum Failure {
    Connection(io::Error),
    /// It is larger than its buffer.
    TooLarge {
        bytes: usize,
        room: usize,
    },
}

impl Transfer {
    /// A transfer of the bytes or the space in `data`.
    pub(super) fn new(request: Request, data: Range<usize>) -> Self {
        let (head, pieces) = (Vec::new(), None);
        Self { request, data, head, passed: 0, pieces, first_byte_ns: None }
    }

    /// Moves what it can; returns whether the message is complete.
    fn advance(
        &mut self,
        direction: Direction,
        connections: &mut Connections,
        buffer: &mut [u8],
        release: Release,
    ) -> Result<bool, Failure> {
        if self.pieces.is_none() {
            let begun = match direction {
                Direction::Out => self.say_size(connections, buffer, release)?,
                Direction::In => self.hear_size(connections, buffer, release)?,
            };
            if !begun {
                return Ok(false);
            }
            let after_head = self.data.start + inline_bytes(self.data.len(), release);
            self.pieces = Some(connections.cut(after_head..self.data.end));
        }
        for Piece { place, left } in self.pieces.iter_mut().flatten() {
            let stream = connections.stream(*place);
            let part = &mut buffer[left.clone()];
            left.start += match direction {
                Direction::Out => write(stream, part)?,
                Direction::In => read(stream, part)?,
            };
        }
        Ok(self.pieces.iter().flatten().all(|piece| piece.left.is_empty()))
    }

    /// Sends the size; from 2.23 on, with the data of a small message.
    fn say_size(
        &mut self,
        connections: &Connections,
        buffer: &[u8],
        release: Release,
    ) -> Result<bool, Failure> {
        if self.head.is_empty() {
            let bytes = self.data.len();
            self.head.extend(u32::try_from(bytes).unwrap_or(u32::MAX).to_le_bytes());
            let with_it = inline_bytes(bytes, release);
            self.head.extend_from_slice(&buffer[self.data.start..self.data.start + with_it]);
        }
        let stream = connections.stream(PieceSocket::Control);
        self.passed += write(stream, &self.head[self.passed..])?;
        if self.passed > 0 && self.first_byte_ns.is_none() {
            self.first_byte_ns = Some(wall_ns());
        }
        Ok(self.passed == self.head.len())
    }

    /// Reads the size, then the data of a small message.
    fn hear_size(
        &mut self,
        connections: &Connections,
        buffer: &mut [u8],
        release: Release,
    ) -> Result<bool, Failure> {
        let stream = connections.stream(PieceSocket::Control);
        self.head.resize(SIZE_BYTES, 0);
        if self.passed < SIZE_BYTES {
            self.passed += read(stream, &mut self.head[self.passed..])?;
            if self.passed > 0 && self.first_byte_ns.is_none() {
                self.first_byte_ns = Some(wall_ns());
            }
            let Some(size) = self.head.first_chunk().filter(|_| self.passed == SIZE_BYTES) else {
                return Ok(false);
            };
            let (bytes, room) = (u32::from_le_bytes(*size) as usize, self.data.len());
            if bytes > room {
                return Err(Failure::TooLarge { bytes, room });
            }
            self.data.end = self.data.start + bytes;
        }
        let inline = inline_bytes(self.data.len(), release);
        let begun = self.data.start + self.passed - SIZE_BYTES;
        self.passed += read(stream, &mut buffer[begun..self.data.start + inline])?;
        Ok(self.passed == SIZE_BYTES + inline)
    }

    /// The connection that the rest waits for.
    fn waits_at(&self) -> PieceSocket {
        let mut unfinished = self.pieces.iter().flatten().filter(|piece| !piece.left.is_empty());
        unfinished.next().map_or(PieceSocket::Control, |piece| piece.place)
    }
}

impl Transfers {
    pub(super) fn push(&mut self, transfer: Transfer) {
        self.queue.push_back(transfer);
    }

    /// Moves what it can; returns whether a message was completed.
    pub(super) fn advance(
        &mut self,
        direction: Direction,
        connections: &mut Connections,
        buffer: &mut [u8],
        release: Release,
    ) -> Result<bool, Failure> {
        let mut moved = false;
        while let Some(transfer) = self.queue.front_mut() {
            if !transfer.advance(direction, connections, buffer, release)? {
                break;
            }
            let Transfer { request, ref data, first_byte_ns, .. } = *transfer;
            let finished = Finished { bytes: data.len(), first_byte_ns, last_byte_ns: wall_ns() };
            self.ended.push((request, finished));
            self.queue.pop_front();
            moved = true;
        }
        Ok(moved)
    }

    /// The outcome of a message, which is then forgotten.
    pub(super) fn take(&mut self, request: Request) -> Option<Finished> {
        let at = self.ended.iter().position(|(ended, _)| *ended == request)?;
        Some(self.ended.swap_remove(at).1)
    }

    /// The connection that the next message waits for, if any.
    pub(super) fn waits_at(&self) -> Option<PieceSocket> {
        self.queue.front().map(Transfer::waits_at)
    }
}

impl Failure {
    /// Converts it into an error of the driver.
    pub(super) fn into_error(self, peer: String, during: String) -> DriveError {
        match self {
            Self::Connection(error) => {
                DriveError::PeerLost { peer, during: format!("{during}: {error}") }
            }
            Self::TooLarge { bytes, room } => {
                let what = format!("a message of {bytes} bytes into room for {room}, {during}");
                DriveError::Protocol { peer, what }
            }
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Connection(error)
    }
}

/// How many bytes of a message are sent with its size.
const fn inline_bytes(bytes: usize, release: Release) -> usize {
    match release {
        Release::V2_27_7 if bytes <= INLINE => bytes,
        Release::V2_21_5 | Release::V2_27_7 => 0,
    }
}

/// Writes what the system accepts at once.
fn write(mut stream: impl Write, bytes: &[u8]) -> io::Result<usize> {
    passing(bytes.len(), |passed| stream.write(&bytes[passed..]))
}

/// Reads what is available.
fn read(mut stream: impl Read, bytes: &mut [u8]) -> io::Result<usize> {
    passing(bytes.len(), |passed| match stream.read(&mut bytes[passed..]) {
        Ok(0) => Err(io::Error::from(ErrorKind::UnexpectedEof)),
        result => result,
    })
}

/// Repeats until everything is transferred or the call would block.
fn passing(len: usize, mut pass: impl FnMut(usize) -> io::Result<usize>) -> io::Result<usize> {
    let mut passed = 0;
    while passed < len {
        match pass(passed) {
            Ok(more) => passed += more,
            Err(error) if error.kind() == ErrorKind::WouldBlock => break,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(passed)
}
