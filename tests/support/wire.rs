//! A simulated wire: a go-back-N requester and responder over a path that loses and reorders
//! packets, with a tap before or after that. Knows what really happened.
//!
//! ```text
//! requester --> tap Before --> loss, delay --> tap After --> responder
//!     ^-------------------- ACKs, NAKs, READ responses --------|     in order, never lost
//! ```

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::frame::FrameBuilder;
use super::ip::{Ipv4, Ipv6};
use super::random::Random;
use super::roce::Roce;

pub const REQUESTER_QPN: u32 = 0x11;
pub const RESPONDER_QPN: u32 = 0x22;

/// Time between two packets of one sender.
const PACE_NS: u64 = 1_000;
/// One-way delay.
const DELAY_NS: u64 = 5_000;
/// Silence after which the requester retransmits on its own.
const TIMEOUT_NS: u64 = 4_000_000;
/// Request packets in flight.
const WINDOW: usize = 24;
/// Packets at the start without faults: round trips are known before the first loss.
const CALM_PACKETS: usize = 4;

const ACKNOWLEDGE: u8 = 0x11;
const ACK_SYNDROME: u8 = 0x1f;
const NAK_SEQUENCE: u8 = 0x60;

/// Where the tap is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TapPlace {
    Before,
    After,
}

/// What the IP header reveals about the order of sending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Identification {
    /// IPv4, always 0.
    Zero,
    /// IPv4, one more for each packet from this value on.
    Rising(u16),
    /// IPv6 has none.
    Absent,
}

/// An RDMA operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    Send(u32),
    Write(u32),
    Read(u32),
}

/// The operations and the path.
#[derive(Clone, Debug)]
pub struct Scenario {
    pub operations: Vec<Operation>,
    pub mtu: u32,
    pub first_psn: u32,
    pub identification: Identification,
    pub tap: TapPlace,
    pub lost_per_mille: u64,
    pub late_per_mille: u64,
    pub seed: u64,
}

/// What happened.
#[derive(Clone, Debug, Default)]
pub struct Truth {
    /// Frames that the tap saw, with their times.
    pub frames: Vec<(u64, Vec<u8>)>,
    /// Request packets on the path, and how many of them it lost.
    pub sent: u64,
    pub lost: u64,
    /// Request packets sent more than once.
    pub sent_again: u64,
    /// Request packets that were overtaken.
    pub late: u64,
    /// Request packets at the tap.
    pub seen: u64,
    /// Shortest and longest time from a request for an ACK to the first ACK that covers it.
    pub round_trips: Option<(u64, u64)>,
}

/// A request packet, with every time that it is sent.
#[derive(Clone, Debug)]
struct Request {
    roce: Roce,
    /// PSNs that it takes.
    span: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Send,
    /// A request reaches the responder.
    Arrive(usize, u16),
    /// A response reaches the requester.
    Answer {
        psn: u32,
        is_nak: bool,
    },
    /// The requester's timer, set after this many transmissions.
    Timeout(u64),
}

/// Runs the scenario to its end.
pub fn play(scenario: &Scenario) -> Truth {
    let mut wire = Wire {
        scenario,
        requests: requests(scenario),
        random: Random::new(scenario.seed),
        queue: BinaryHeap::from([Reverse((0, 0, Event::Send))]),
        ..Wire::new(scenario)
    };
    while let Some(Reverse((now, _, event))) = wire.queue.pop() {
        wire.now = now;
        match event {
            Event::Send => wire.send(),
            Event::Arrive(request, identification) => wire.arrive(request, identification),
            Event::Answer { psn, is_nak } => wire.answered(psn, is_nak),
            Event::Timeout(sent) => wire.timeout(sent),
        }
    }
    assert_eq!(wire.acknowledged, wire.requests.len(), "everything arrives");
    wire.truth.frames.sort_by_key(|(time, _)| *time);
    wire.truth
}

struct Wire<'a> {
    scenario: &'a Scenario,
    requests: Vec<Request>,
    random: Random,
    queue: BinaryHeap<Reverse<(u64, u64, Event)>>,
    events: u64,
    now: u64,
    /// Requester: the next request to send, the first never sent, the first not acknowledged.
    next: usize,
    fresh: usize,
    acknowledged: usize,
    is_sending: bool,
    identification: u16,
    sent_at: Vec<Option<u64>>,
    /// Responder: the request that it expects, and whether it has sent a NAK for it.
    expected: usize,
    has_refused: bool,
    back_free_at: u64,
    back_identification: u16,
    truth: Truth,
}

impl<'a> Wire<'a> {
    fn new(scenario: &'a Scenario) -> Self {
        let start = match scenario.identification {
            Identification::Rising(start) => start,
            Identification::Zero | Identification::Absent => 0,
        };
        Self {
            scenario,
            requests: Vec::new(),
            random: Random::new(0),
            queue: BinaryHeap::new(),
            events: 0,
            now: 0,
            next: 0,
            fresh: 0,
            acknowledged: 0,
            is_sending: true,
            identification: start,
            sent_at: Vec::new(),
            expected: 0,
            has_refused: false,
            back_free_at: 0,
            back_identification: start ^ 0x4000,
            truth: Truth::default(),
        }
    }

    fn after(&mut self, delay_ns: u64, event: Event) {
        self.events += 1;
        self.queue.push(Reverse((self.now + delay_ns, self.events, event)));
    }

    fn send(&mut self) {
        let may_send = self.next < self.requests.len() && self.next < self.acknowledged + WINDOW;
        if !may_send {
            self.is_sending = false;
            return;
        }
        let request = self.next;
        self.identification = self.identification.wrapping_add(1);
        self.sent_at.resize(self.requests.len(), None);
        self.truth.sent += 1;
        if request < self.fresh {
            self.truth.sent_again += 1;
            // No round trip is measured for retransmissions.
            self.sent_at[request] = None;
        } else {
            self.fresh = request + 1;
            self.sent_at[request] = Some(self.now);
        }
        if self.scenario.tap == TapPlace::Before {
            self.record_request(request, self.identification);
        }
        let is_calm = request < CALM_PACKETS;
        if !is_calm && self.random.happens(self.scenario.lost_per_mille) {
            self.truth.lost += 1;
        } else {
            let is_late = !is_calm && self.random.happens(self.scenario.late_per_mille);
            self.truth.late += u64::from(is_late);
            let extra = if is_late { self.random.below(6 * PACE_NS) + PACE_NS } else { 0 };
            self.after(DELAY_NS + extra, Event::Arrive(request, self.identification));
        }
        self.next += 1;
        self.after(TIMEOUT_NS, Event::Timeout(self.truth.sent));
        self.after(PACE_NS, Event::Send);
    }

    fn arrive(&mut self, request: usize, identification: u16) {
        if self.scenario.tap == TapPlace::After {
            self.record_request(request, identification);
        }
        if request > self.expected {
            if !self.has_refused {
                self.has_refused = true;
                let psn = self.requests[self.expected].roce.psn;
                self.reply(ACKNOWLEDGE, psn, NAK_SEQUENCE, 0);
            }
            return;
        }
        if request == self.expected {
            self.expected += 1;
            self.has_refused = false;
        }
        let Request { roce, span } = self.requests[request].clone();
        if roce.opcode == 0x0c {
            self.respond_to_read(&roce, span);
        } else if request + 1 < self.expected {
            let psn = self.requests[self.expected - 1].last_psn();
            self.reply(ACKNOWLEDGE, psn, ACK_SYNDROME, 0);
        } else if roce.ack_request {
            self.reply(ACKNOWLEDGE, roce.psn, ACK_SYNDROME, 0);
        }
    }

    fn respond_to_read(&mut self, roce: &Roce, span: u32) {
        let mtu = self.scenario.mtu;
        for index in 0..span {
            let opcode = match (index, span) {
                (_, 1) => 0x10,
                (0, _) => 0x0d,
                (index, _) if index + 1 == span => 0x0f,
                _ => 0x0e,
            };
            let bytes = mtu.min(roce.dma_len - index * mtu);
            self.reply(opcode, (roce.psn + index) & 0xff_ffff, ACK_SYNDROME, bytes);
        }
    }

    /// The responder sends a packet; its packets stay in order.
    fn reply(&mut self, opcode: u8, psn: u32, syndrome: u8, bytes: u32) {
        let leaves = self.now.max(self.back_free_at) + PACE_NS / 4;
        self.back_free_at = leaves;
        let arrives = leaves + DELAY_NS;
        let packet = Roce {
            dest_qpn: REQUESTER_QPN,
            psn,
            syndrome,
            msn: self.expected as u32,
            ack_request: false,
            ..Roce::new(opcode, bytes as usize)
        };
        self.back_identification = self.back_identification.wrapping_add(1);
        let seen_at = if self.scenario.tap == TapPlace::Before { arrives } else { leaves };
        let frame = self.frame(false, self.back_identification, &packet);
        self.truth.frames.push((seen_at, frame));
        let is_nak = syndrome == NAK_SEQUENCE;
        self.after(arrives - self.now, Event::Answer { psn, is_nak });
    }

    fn answered(&mut self, psn: u32, is_nak: bool) {
        let first = self.scenario.first_psn;
        let offset = psn.wrapping_sub(first) & 0xff_ffff;
        let ahead = |request: &Request| request.roce.psn.wrapping_sub(first) & 0xff_ffff;
        // A NAK covers everything before it; a READ is complete with its last response.
        let covered = self.requests.partition_point(|request| {
            let end = ahead(request) + request.span;
            if is_nak { end <= offset } else { end <= offset + 1 }
        });
        for request in self.acknowledged..covered {
            let is_measured = self.requests[request].roce.ack_request && !is_nak;
            if let Some(sent_at) = self.sent_at[request].filter(|_| is_measured) {
                let round_trip = self.now - sent_at;
                let (min, max) = self.truth.round_trips.unwrap_or((u64::MAX, 0));
                self.truth.round_trips = Some((min.min(round_trip), max.max(round_trip)));
            }
        }
        self.acknowledged = self.acknowledged.max(covered);
        if is_nak {
            self.next = self.acknowledged;
        }
        self.next = self.next.max(self.acknowledged);
        self.wake();
    }

    fn timeout(&mut self, sent: u64) {
        if sent == self.truth.sent && self.acknowledged < self.requests.len() {
            self.next = self.acknowledged;
            self.wake();
        }
    }

    fn wake(&mut self) {
        if !self.is_sending {
            self.is_sending = true;
            self.after(PACE_NS, Event::Send);
        }
    }

    fn record_request(&mut self, request: usize, identification: u16) {
        self.truth.seen += 1;
        let frame = self.frame(true, identification, &self.requests[request].roce);
        self.truth.frames.push((self.now, frame));
    }

    fn frame(&self, is_request: bool, identification: u16, packet: &Roce) -> Vec<u8> {
        let frame = FrameBuilder::ethernet();
        let frame = if self.scenario.identification == Identification::Absent {
            let ip = Ipv6::default();
            let back = Ipv6 { source: ip.destination, destination: ip.source, ..Ipv6::default() };
            frame.ipv6(if is_request { &ip } else { &back })
        } else {
            let is_zero = self.scenario.identification == Identification::Zero;
            let identification = if is_zero { 0 } else { identification };
            let ip = Ipv4 { identification, ..Ipv4::default() };
            let back = Ipv4 { source: ip.destination, destination: ip.source, ..ip.clone() };
            frame.ipv4(if is_request { &ip } else { &back })
        };
        frame.udp(49_152, 4791).roce(packet).finish().bytes
    }
}

impl Request {
    fn last_psn(&self) -> u32 {
        (self.roce.psn + self.span - 1) & 0xff_ffff
    }
}

/// The operations, split into packets.
fn requests(scenario: &Scenario) -> Vec<Request> {
    let mtu = scenario.mtu;
    let mut psn = scenario.first_psn;
    let mut requests = Vec::new();
    for (number, operation) in (0_u32..).zip(&scenario.operations) {
        let (bytes, [first, middle, last, only]) = match *operation {
            Operation::Send(bytes) => (bytes, [0x00, 0x01, 0x02, 0x04]),
            Operation::Write(bytes) => (bytes, [0x06, 0x07, 0x08, 0x0a]),
            Operation::Read(bytes) => (bytes, [0x0c; 4]),
        };
        let packets = bytes.div_ceil(mtu).max(1);
        let is_read = matches!(operation, Operation::Read(_));
        for index in 0..if is_read { 1 } else { packets } {
            let opcode = match (index, packets) {
                (_, 1) => only,
                (0, _) => first,
                (index, _) if index + 1 == packets => last,
                _ => middle,
            };
            let payload = mtu.min(bytes - index * mtu);
            let roce = Roce {
                dest_qpn: RESPONDER_QPN,
                psn,
                virtual_address: 0x7f00_0000_0000 + u64::from(number) * 65_536,
                dma_len: bytes,
                ack_request: opcode == only || opcode == last,
                ..Roce::new(opcode, payload as usize)
            };
            let span = if is_read { packets } else { 1 };
            psn = (psn + span) & 0xff_ffff;
            requests.push(Request { roce, span });
        }
    }
    requests
}
