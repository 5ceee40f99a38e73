//! Messages from rank to rank (`bootstrapSend` and `bootstrapRecv` of NCCL `src/bootstrap.cc`): one
//! connection per message, which starts with sender and tag. In 2.21.5 these are two frames of four
//! bytes, in 2.27.7 one of eight.

use std::net::{IpAddr, SocketAddr, TcpListener};

use super::connection::Connection;
use crate::clock::Deadline;
use crate::release::Release;
use crate::tcp::Lookout;
use crate::{DriveError, Result};

/// Most messages that may wait for a receiver.
const UNEXPECTED_LIMIT: usize = 1024;

/// Where a rank sends and receives messages.
#[derive(Debug)]
pub struct Mailbox {
    pub(super) release: Release,
    pub(super) magic: u64,
    pub(super) rank: u32,
    pub(super) address: IpAddr,
    pub(super) listener: TcpListener,
    /// Addresses of all ranks, in rank order.
    pub(super) peers: Vec<SocketAddr>,
    pub(super) unexpected: Vec<(Subject, Connection)>,
}

/// Sender and tag of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subject {
    /// The sender.
    pub rank: u32,
    /// What the message is about.
    pub tag: u32,
}

impl Mailbox {
    /// Sends a message.
    ///
    /// # Errors
    /// The rank cannot be reached.
    pub fn send(
        &self,
        to: u32,
        tag: u32,
        message: &[u8],
        lookout: &Lookout,
        deadline: Deadline,
    ) -> Result<()> {
        let Some(address) = self.peers.get(to as usize) else {
            return Err(DriveError::Unusable(format!(
                "a message to rank {to}, which does not exist"
            )));
        };
        let (magic, name) = (self.magic, format!("rank {to}"));
        let to = Connection::open(self.address, *address, magic, name, lookout, deadline)?;
        let (rank, tag) = (self.rank.to_le_bytes(), tag.to_le_bytes());
        match self.release {
            Release::V2_21_5 => {
                to.send_frame(&rank, lookout, deadline)?;
                to.send_frame(&tag, lookout, deadline)?;
            }
            Release::V2_27_7 => to.send_frame(&[rank, tag].concat(), lookout, deadline)?,
        }
        to.send_frame(message, lookout, deadline)
    }

    /// Receives the message of `len` bytes about `subject`; messages about other subjects are kept.
    ///
    /// # Errors
    /// It does not arrive, or has another length.
    pub fn receive(
        &mut self,
        subject: Subject,
        len: usize,
        lookout: &Lookout,
        deadline: Deadline,
    ) -> Result<Vec<u8>> {
        let known = self.unexpected.iter().position(|(other, _)| *other == subject);
        let connection = match known {
            Some(place) => self.unexpected.remove(place).1,
            None => self.await_message(subject, lookout, deadline)?,
        };
        let what = format!("a message with tag {:#x}", subject.tag);
        connection.receive_frame(len, lookout, deadline, &what)
    }

    fn await_message(
        &mut self,
        subject: Subject,
        lookout: &Lookout,
        deadline: Deadline,
    ) -> Result<Connection> {
        loop {
            let what =
                || format!("a message with tag {:#x} from rank {}", subject.tag, subject.rank);
            let mut connection =
                Connection::accept(&self.listener, self.magic, lookout, deadline, what)?;
            let sent = self.receive_subject(&connection, lookout, deadline)?;
            connection.name(&format!("rank {}", sent.rank));
            if sent == subject {
                return Ok(connection);
            }
            if self.unexpected.len() >= UNEXPECTED_LIMIT {
                return Err(connection.refused(format!(
                    "one of {UNEXPECTED_LIMIT} messages that \
                    nobody asked for, with tag {:#x}",
                    sent.tag
                )));
            }
            self.unexpected.push((sent, connection));
        }
    }

    fn receive_subject(
        &self,
        from: &Connection,
        lookout: &Lookout,
        deadline: Deadline,
    ) -> Result<Subject> {
        let frames: &[usize] = match self.release {
            Release::V2_21_5 => &[4, 4],
            Release::V2_27_7 => &[8],
        };
        let mut bytes = Vec::with_capacity(8);
        for len in frames {
            bytes.extend(from.receive_frame(*len, lookout, deadline, "rank and tag")?);
        }
        let number = |at: usize| bytes.get(at..).and_then(|rest| rest.first_chunk()).copied();
        let number = |at| number(at).map_or(0, u32::from_le_bytes);
        Ok(Subject { rank: number(0), tag: number(4) })
    }
}
