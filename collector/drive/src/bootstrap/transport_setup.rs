//! How the two ends of each data connection meet (`ncclTransportP2pSetup` of NCCL
//! `src/transport.cc`, for rings).
//!
//! A rank sends its receive entries to the previous rank and its send entries to the next one; in a
//! ring of two, both go in one message, receive entries first. Then all connect and confirm to both
//! neighbours. Tags: distance · 256 + graph + 1, with the ring as graph 0; plus 128 for the
//! confirmation.

use super::peer::{Mailbox, Subject};
use crate::clock::Deadline;
use crate::nccl_log::Log;
use crate::net::{ChannelLinks, LinkSpec, Net};
use crate::release::Release;
use crate::tcp::Lookout;
use crate::wire::connect_entry;
use crate::{DriveError, Result};

const TAG: u32 = (1 << 8) + 1;
const CLOSING_TAG: u32 = TAG + (1 << 7);

/// What a rank needs to meet its neighbours.
pub(super) struct Meeting<'a> {
    pub(super) mailbox: &'a mut Mailbox,
    pub(super) lookout: &'a Lookout,
    pub(super) deadline: Deadline,
    pub(super) before: u32,
    pub(super) next: u32,
}

impl Meeting<'_> {
    /// Connects the rings of `channels` channels.
    pub(super) fn connect(
        mut self,
        net: &mut dyn Net,
        channels: u32,
        log: &mut Log,
    ) -> Result<Vec<ChannelLinks>> {
        let (rank, release) = (self.mailbox.rank, self.mailbox.release);
        let from = |channel| LinkSpec { channel, sender: self.before, receiver: rank };
        let to = |channel| LinkSpec { channel, sender: rank, receiver: self.next };
        let mut receive_links = Vec::new();
        let mut receive_entries = Vec::new();
        for channel in 0..channels {
            let (link, handle) = net.listen(&from(channel))?;
            log.receiver(&from(channel), net.name());
            receive_links.push(link);
            receive_entries.extend(connect_entry::of_receiver(&handle, release));
        }
        let mut send_entries = Vec::new();
        for channel in 0..channels {
            log.sender(&to(channel), net.name());
            send_entries.extend(connect_entry::of_sender(rank, release));
        }

        let specs: Vec<LinkSpec> = (0..channels).map(to).collect();
        let entries = self.exchange(&receive_entries, &send_entries)?;
        let mut links = Vec::new();
        let entries = entries.chunks(connect_entry::len(release));
        for ((entry, spec), receive) in entries.zip(&specs).zip(receive_links) {
            let handle = connect_entry::handle(entry, release);
            let handle = handle.map_err(|what| refused(self.next, what))?;
            let send = net.connect(spec, &handle)?;
            links.push(ChannelLinks { channel: spec.channel, send, receive });
        }
        net.establish(self.lookout, self.deadline)?;
        for links in &links {
            log.queue_pairs(net.sender_facts(links.send));
        }
        self.close()?;
        Ok(links)
    }

    /// Exchanges entries with both neighbours and returns the next rank's receive entries. The
    /// previous rank's send entries must name this rank.
    fn exchange(&mut self, receive: &[u8], send: &[u8]) -> Result<Vec<u8>> {
        let (before, next) = (self.before, self.next);
        if before == next {
            self.send(next, TAG, &[receive, send].concat())?;
            let mut entries = self.receive(next, TAG, receive.len() + send.len())?;
            self.check_senders(&entries.split_off(receive.len()))?;
            return Ok(entries);
        }
        self.send(before, TAG, receive)?;
        self.send(next, TAG, send)?;
        let entries = self.receive(next, TAG, receive.len())?;
        let senders = self.receive(before, TAG, send.len())?;
        self.check_senders(&senders)?;
        Ok(entries)
    }

    fn check_senders(&self, entries: &[u8]) -> Result<()> {
        let (before, release) = (self.before, self.mailbox.release);
        for entry in entries.chunks(connect_entry::len(release)) {
            let sender = connect_entry::proxy_rank(entry, release);
            let sender = sender.map_err(|what| refused(before, what))?;
            if sender != before {
                return Err(refused(before, format!("rank {sender} sends in its place")));
            }
        }
        Ok(())
    }

    /// Confirms to both neighbours that this rank has connected, and waits for their confirmations.
    fn close(&mut self) -> Result<()> {
        let message: &[u8] = match self.mailbox.release {
            Release::V2_21_5 => &[0; 4],
            Release::V2_27_7 => &[],
        };
        let (before, next) = (self.before, self.next);
        let neighbours: &[u32] = if before == next { &[next] } else { &[next, before] };
        for rank in neighbours {
            self.send(*rank, CLOSING_TAG, message)?;
        }
        for rank in neighbours {
            self.receive(*rank, CLOSING_TAG, message.len())?;
        }
        Ok(())
    }

    fn send(&self, to: u32, tag: u32, message: &[u8]) -> Result<()> {
        self.mailbox.send(to, tag, message, self.lookout, self.deadline)
    }

    fn receive(&mut self, rank: u32, tag: u32, len: usize) -> Result<Vec<u8>> {
        self.mailbox.receive(Subject { rank, tag }, len, self.lookout, self.deadline)
    }
}

fn refused(rank: u32, what: String) -> DriveError {
    DriveError::Protocol { peer: format!("rank {rank}"), what }
}
