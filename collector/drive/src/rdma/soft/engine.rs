//! An adapter without sockets or clock: packets in, packets out, completions.
//!
//! Pass every datagram to [`Engine::receive`], call [`Engine::on_timer`], take batches from
//! [`Engine::transmit`] until there is none, and sleep until [`Engine::wakes_at`]. Times are ns of
//! one monotonic clock.

use std::net::IpAddr;

use fastrand::Rng;

use super::super::{Completion, Region, RegionId, Remote, Write};
use super::batch::Batch;
use super::counters::Counters;
use super::icrc::icrc;
use super::memory::Memory;
use super::packet::{ICRC_BYTES, Packet};
use super::queue_pair::QueuePair;
use crate::{DriveError, Result};

/// Most outstanding sends, and receives, of a queue pair.
const QUEUE_DEPTH: usize = 8192;
/// Most queue pairs of an adapter.
const QUEUE_PAIRS: usize = 1 << 16;
/// ECN bits of the traffic class: congestion experienced.
pub const CE: u8 = 3;

/// An adapter without sockets.
#[derive(Debug)]
pub struct Engine {
    address: IpAddr,
    /// Line rate in bytes per second.
    line_rate: f64,
    /// Most bytes in flight to one peer.
    flight_limit: usize,
    rng: Rng,
    memory: Memory,
    first_qpn: u32,
    /// By number, from `first_qpn` on; `None` in state INIT.
    queue_pairs: Vec<Option<QueuePair>>,
    /// Until when each class of packets is paused.
    paused_until: [u64; 8],
    /// Index of the queue pair whose turn it is to send.
    turn: usize,
    counters: Counters,
    completions: Vec<Completion>,
    messages: u64,
}

/// A received datagram.
#[derive(Clone, Copy, Debug)]
pub struct Arrival<'a> {
    /// Source address.
    pub from: IpAddr,
    /// UDP source port.
    pub source_port: u16,
    /// DSCP and ECN.
    pub traffic_class: u8,
    /// Time of arrival.
    pub ns: u64,
    /// Bytes from the end of the UDP header on.
    pub bytes: &'a [u8],
}

impl Engine {
    /// An adapter at `address`. `line_rate` is in bytes per second; `flight_limit` bounds the bytes
    /// in flight to one peer.
    #[must_use]
    pub fn new(address: IpAddr, line_rate: f64, flight_limit: usize, seed: u64) -> Self {
        let mut rng = Rng::with_seed(seed);
        Self {
            address,
            line_rate,
            flight_limit,
            memory: Memory::new(&mut rng),
            // 0 and 1 are management queue pairs; numbers increase from here without wrapping.
            first_qpn: rng.u32(0x100..0x00fe_0000),
            rng,
            queue_pairs: Vec::new(),
            paused_until: [0; 8],
            turn: 0,
            counters: Counters::default(),
            completions: Vec::new(),
            messages: 0,
        }
    }

    /// See [`Rdma::register`](super::super::Rdma::register).
    pub fn register(&mut self, bytes: usize) -> Region {
        self.memory.register(bytes, &mut self.rng)
    }

    /// See [`Rdma::memory`](super::super::Rdma::memory).
    #[must_use]
    pub fn memory(&self, region: RegionId) -> &[u8] {
        self.memory.get(region)
    }

    /// See [`Rdma::memory_mut`](super::super::Rdma::memory_mut).
    pub fn memory_mut(&mut self, region: RegionId) -> &mut [u8] {
        self.memory.get_mut(region)
    }

    /// See [`Rdma::create_queue_pair`](super::super::Rdma::create_queue_pair).
    ///
    /// # Errors
    /// There are too many.
    pub fn create_queue_pair(&mut self) -> Result<u32> {
        if self.queue_pairs.len() >= QUEUE_PAIRS {
            return Err(unusable(format!("an adapter has at most {QUEUE_PAIRS} queue pairs")));
        }
        self.queue_pairs.push(None);
        Ok(self.first_qpn + self.queue_pairs.len() as u32 - 1)
    }

    /// See [`Rdma::connect`](super::super::Rdma::connect). Its packets leave from `source_port`.
    ///
    /// # Errors
    /// There is no such queue pair, it is already connected, or the path MTU is invalid.
    pub fn connect(&mut self, qpn: u32, remote: &Remote, source_port: u16) -> Result<()> {
        if !matches!(remote.mtu, 256 | 512 | 1024 | 2048 | 4096) {
            return Err(unusable(format!("{} bytes are no path MTU of RoCE", remote.mtu)));
        }
        let (line_rate, address) = (self.line_rate, address_of(remote.gid));
        let place = self.place(qpn);
        let free = self.queue_pairs.get_mut(place).filter(|place| place.is_none());
        let free = free.ok_or_else(|| unusable(format!("QP {qpn:#x} is not in state INIT")))?;
        *free = Some(QueuePair::new(qpn, remote, address, source_port, line_rate));
        Ok(())
    }

    /// See [`Rdma::post_write`](super::super::Rdma::post_write).
    ///
    /// # Errors
    /// The queue pair cannot send, its queue is full, or the bytes are not in the region.
    pub fn post_write(&mut self, qpn: u32, write: &Write) -> Result<()> {
        let end = write.offset.checked_add(write.bytes);
        let has = self.memory.get(write.region).len();
        if end.is_none_or(|end| end > has) || u32::try_from(write.bytes).is_err() {
            let (bytes, offset) = (write.bytes, write.offset);
            let what = format!("{bytes} bytes from {offset} on are not within a region of {has}");
            return Err(unusable(what));
        }
        let requester = &mut self.usable(qpn)?.requester;
        if requester.outstanding() >= QUEUE_DEPTH {
            return Err(unusable(format!("the send queue of QP {qpn:#x} is full")));
        }
        requester.post(*write);
        Ok(())
    }

    /// See [`Rdma::post_receive`](super::super::Rdma::post_receive).
    ///
    /// # Errors
    /// The queue pair cannot receive, or its queue is full.
    pub fn post_receive(&mut self, qpn: u32, id: u64) -> Result<()> {
        let responder = &mut self.usable(qpn)?.responder;
        if responder.posted() >= QUEUE_DEPTH {
            return Err(unusable(format!("the receive queue of QP {qpn:#x} is full")));
        }
        responder.post(id);
        Ok(())
    }

    /// Processes a datagram.
    pub fn receive(&mut self, arrival: &Arrival<'_>) {
        self.counters.packets_received += 1;
        self.counters.bytes_received += arrival.bytes.len() as u64;
        let Some((bytes, crc)) = arrival.bytes.split_last_chunk::<ICRC_BYTES>() else {
            self.counters.icrc_errors += 1;
            return;
        };
        if icrc(arrival.from, self.address, arrival.source_port, bytes) != *crc {
            self.counters.icrc_errors += 1;
            return;
        }
        let Ok(packet) = Packet::parse(bytes) else {
            self.counters.undeliverable += 1;
            return;
        };
        let place = self.place(packet.qpn);
        let queue_pair = self.queue_pairs.get_mut(place).and_then(Option::as_mut);
        let is_peer = |qp: &&mut QueuePair| !qp.is_failed() && qp.address() == arrival.from;
        let Some(queue_pair) = queue_pair.filter(is_peer) else {
            self.counters.undeliverable += 1;
            return;
        };
        if arrival.traffic_class & CE == CE {
            self.counters.ce_received += 1;
            queue_pair.on_ce(arrival.ns);
        }
        let (memory, counters) = (&mut self.memory, &mut self.counters);
        let completions = &mut self.completions;
        let has_ended = queue_pair.receive(&packet, arrival.ns, memory, counters, completions);
        self.messages += u64::from(has_ended);
    }

    /// Handles overdue answers.
    pub fn on_timer(&mut self, now: u64) {
        for queue_pair in self.queue_pairs.iter_mut().flatten() {
            queue_pair.on_timer(now, &mut self.counters, &mut self.completions);
        }
    }

    /// Encodes packets of the next queue pair that may send; returns whether there is one.
    pub fn transmit(&mut self, now: u64, batch: &mut Batch) -> bool {
        for _ in 0..self.queue_pairs.len() {
            self.turn = (self.turn + 1) % self.queue_pairs.len();
            let Some(queue_pair) = &self.queue_pairs[self.turn] else { continue };
            if queue_pair.is_idle() {
                continue;
            }
            let to = queue_pair.address();
            let room = self.flight_limit.saturating_sub(self.in_flight(to));
            let Some(queue_pair) = &mut self.queue_pairs[self.turn] else { continue };
            queue_pair.begin(self.address, batch);
            let is_paused = self.paused_until.map(|until| now < until);
            queue_pair.fill(now, (room, is_paused), batch, &self.memory, &mut self.counters);
            if !batch.packets().is_empty() {
                let bytes = batch.packets().iter().map(|packet| packet.bytes.len() as u64);
                self.counters.bytes_sent += bytes.sum::<u64>();
                self.counters.packets_sent += batch.packets().len() as u64;
                return true;
            }
        }
        false
    }

    /// Until when packets of each class, the upper three bits of the traffic class, are held back.
    pub fn paused_until(&mut self) -> &mut [u64; 8] {
        &mut self.paused_until
    }

    /// When [`Self::on_timer`] or [`Self::transmit`] is due without another datagram; `None`:
    /// never.
    pub fn wakes_at(&mut self, now: u64) -> Option<u64> {
        let paused_until = self.paused_until;
        let wakes = self.queue_pairs.iter_mut().flatten().filter_map(|queue_pair| {
            // What is held back is not due.
            let held_until = paused_until[usize::from(queue_pair.class())];
            Some(queue_pair.requester.wakes_at(now)?.max(held_until))
        });
        wakes.chain(paused_until.into_iter().filter(|until| *until > now)).min()
    }

    /// Completions, for the caller to take.
    pub fn completions(&mut self) -> &mut Vec<Completion> {
        &mut self.completions
    }

    /// Number of complete messages received, with or without immediate.
    #[must_use]
    pub fn messages(&self) -> u64 {
        self.messages
    }

    /// Counters since the adapter was opened.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Bytes in flight to an address.
    fn in_flight(&self, to: IpAddr) -> usize {
        let all = self.queue_pairs.iter().flatten().filter(|queue_pair| queue_pair.address() == to);
        all.map(|queue_pair| queue_pair.requester.in_flight()).sum()
    }

    /// Index of a queue pair; out of range for foreign numbers.
    fn place(&self, qpn: u32) -> usize {
        qpn.wrapping_sub(self.first_qpn) as usize
    }

    fn usable(&mut self, qpn: u32) -> Result<&mut QueuePair> {
        let place = self.place(qpn);
        let queue_pair = self.queue_pairs.get_mut(place).and_then(Option::as_mut);
        let queue_pair =
            queue_pair.ok_or_else(|| unusable(format!("QP {qpn:#x} is not connected")))?;
        if queue_pair.is_failed() {
            return Err(unusable(format!("QP {qpn:#x} is in error")));
        }
        Ok(queue_pair)
    }
}

/// The address that a RoCE GID stands for; IPv4 if it is a mapped one.
#[must_use]
pub fn address_of(gid: [u8; 16]) -> IpAddr {
    IpAddr::from(gid).to_canonical()
}

fn unusable(what: String) -> DriveError {
    DriveError::Unusable(what)
}
