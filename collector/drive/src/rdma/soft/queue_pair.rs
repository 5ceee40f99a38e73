//! An RC queue pair: requester and responder, and what they share.

use std::net::IpAddr;

use super::super::{Completion, Remote};
use super::batch::Batch;
use super::congestion::NotificationPoint;
use super::counters::Counters;
use super::memory::Memory;
use super::packet::{Body, Packet, Syndrome, WritePart};
use super::requester::{Failure, Requester};
use super::responder::{Responder, Verdict};

/// DSCP 48, not ECN-capable, as ConnectX adapters send CNPs.
const CNP_TRAFFIC_CLASS: u8 = 48 << 2;

/// A queue pair in RTS, or in error.
#[derive(Debug)]
pub struct QueuePair {
    remote: Remote,
    address: IpAddr,
    source_port: u16,
    /// Its send queue.
    pub requester: Requester,
    /// Its receive queue.
    pub responder: Responder,
    notifier: NotificationPoint,
    owes_cnp: bool,
    is_failed: bool,
}

impl QueuePair {
    /// A queue pair connected to `remote` at `address` that sends from `source_port`.
    #[must_use]
    pub fn new(qpn: u32, remote: &Remote, address: IpAddr, source_port: u16, rate: f64) -> Self {
        Self {
            remote: *remote,
            address,
            source_port,
            requester: Requester::new(qpn, remote, rate),
            responder: Responder::new(qpn, remote),
            notifier: NotificationPoint::default(),
            owes_cnp: false,
            is_failed: false,
        }
    }

    /// Address of the other end.
    #[must_use]
    pub fn address(&self) -> IpAddr {
        self.address
    }

    /// Whether it is in error; then it sends only outstanding answers and receives nothing.
    #[must_use]
    pub fn is_failed(&self) -> bool {
        self.is_failed
    }

    /// Whether it has nothing to send, now or later.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        !self.owes_cnp && !self.responder.has_answers() && self.requester.has_sent_all()
    }

    /// The class of its packets, for pause.
    pub fn class(&self) -> u8 {
        self.remote.traffic_class >> 5
    }

    /// Encodes what may be sent now: outstanding answers, then parts of writes. `room` is the bytes
    /// that may still be sent to the peer. Packets of classes that are paused stay.
    pub fn fill(
        &mut self,
        now: u64,
        (mut room, is_paused): (usize, [bool; 8]),
        batch: &mut Batch,
        memory: &Memory,
        counters: &mut Counters,
    ) {
        let (qpn, class) = (self.remote.qpn, self.remote.traffic_class);
        if !is_paused[usize::from(CNP_TRAFFIC_CLASS >> 5)] && std::mem::take(&mut self.owes_cnp) {
            counters.cnps_sent += 1;
            batch.push(&Packet { qpn, psn: 0, body: Body::Cnp }, CNP_TRAFFIC_CLASS);
        }
        if is_paused[usize::from(self.class())] {
            return;
        }
        while let Some((psn, answer)) = self.responder.next_answer() {
            batch.push(&Packet { qpn, psn, body: Body::Answer(answer) }, class);
        }
        while !batch.is_full()
            && let Some(part) = self.requester.next_part(now, room, counters)
        {
            room = room.saturating_sub(usize::from(self.remote.mtu));
            let payload = memory.get(part.region).get(part.range).unwrap_or_default();
            let body = Body::Write(WritePart {
                target: part.target,
                end: part.end,
                ack_request: part.ack_request,
                payload,
            });
            batch.push(&Packet { qpn, psn: part.psn, body }, class);
        }
    }

    /// Starts a batch of this queue pair.
    pub fn begin(&self, from: IpAddr, batch: &mut Batch) {
        batch.begin(from, self.address, self.source_port);
    }

    /// Processes a packet; returns whether it completed a message.
    pub fn receive(
        &mut self,
        packet: &Packet<'_>,
        now: u64,
        memory: &mut Memory,
        counters: &mut Counters,
        completions: &mut Vec<Completion>,
    ) -> bool {
        match packet.body {
            Body::Write(part) => {
                let (psn, responder) = (packet.psn, &mut self.responder);
                let verdict = responder.on_write(psn, &part, now, memory, counters, completions);
                if let Verdict::Fatal(syndrome) = verdict {
                    let why = format!("refused a write of {}: {}", self.peer(), reason(syndrome));
                    self.fail(&why, completions);
                }
                verdict == Verdict::MessageEnded
            }
            Body::Answer(answer) => {
                let requester = &mut self.requester;
                let taken = requester.on_answer(packet.psn, answer, now, counters, completions);
                if let Err(failure) = taken {
                    self.give_up(failure, completions);
                }
                false
            }
            Body::Cnp => {
                counters.cnps_received += 1;
                self.requester.on_cnp(now);
                false
            }
        }
    }

    /// A packet arrived with CE.
    pub fn on_ce(&mut self, now: u64) {
        self.owes_cnp |= self.notifier.on_ce(now);
    }

    /// Handles overdue answers.
    pub fn on_timer(
        &mut self,
        now: u64,
        counters: &mut Counters,
        completions: &mut Vec<Completion>,
    ) {
        if let Err(failure) = self.requester.on_timer(now, counters) {
            self.give_up(failure, completions);
        }
    }

    fn give_up(&mut self, failure: Failure, completions: &mut Vec<Completion>) {
        let peer = self.peer();
        let why = match failure {
            Failure::RetriesExceeded(psn) => {
                format!("retries exceeded: {peer} does not answer PSN {psn}")
            }
            Failure::Refused(psn, syndrome) => {
                format!("{}: {peer} refused PSN {psn}", reason(syndrome))
            }
        };
        self.fail(&why, completions);
    }

    fn fail(&mut self, why: &str, completions: &mut Vec<Completion>) {
        self.is_failed = true;
        self.requester.fail(why, completions);
        self.responder.fail(why, completions);
    }

    /// `10.0.0.2 QP 0x12`
    fn peer(&self) -> String {
        format!("{} QP {:#x}", self.address, self.remote.qpn)
    }
}

/// The text of `ibv_wc_status_str`.
fn reason(syndrome: Syndrome) -> &'static str {
    match syndrome {
        Syndrome::Ack => "success",
        Syndrome::ReceiverNotReady(_) => "RNR retry counter exceeded",
        Syndrome::SequenceError => "transport retry counter exceeded",
        Syndrome::InvalidRequest => "remote invalid request error",
        Syndrome::RemoteAccessError => "remote access error",
        Syndrome::RemoteOperationalError => "remote operation error",
    }
}
