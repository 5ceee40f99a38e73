//! State of a RoCEv2 flow between its packets, and which packets carry nothing new.

use bytemuck::{Pod, Zeroable};

use crate::event::Run;
use crate::table::Value;

/// Nanoseconds without a packet after which a flow can be replaced by another.
pub const SILENT_NS: u64 = 120_000_000_000;

/// The state of a flow. With its key it fills two cache lines of 64 bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub struct FlowState {
    /// Packets counted since the last delivered one; if there are none, the time of the delivered
    /// one.
    pub run: Run,
    /// Packet sequence number after the highest one of requests, or [`NONE`].
    pub next_psn: u32,
    /// Packet sequence number of the latest ACK.
    pub acknowledged: u32,
    /// The AETH of the ACKs of this message, or [`NONE`]; if there was a NAK, that one's.
    pub aeth: u32,
    /// Header fields that the packets of a run share: UDP source port, and P_Key.
    pub fields: u32,
    /// The kernel's tick when the clock was read, if packets come fast.
    pub tick: u32,
    /// Requests in a row before `next_psn`: retransmitted, or the queue pair was reused.
    pub behind: u16,
    /// The differentiated services code point that the packets of a run share.
    pub dscp: u8,
    /// Packets of the run since the clock was read.
    pub untimed: u8,
}

/// Neither a packet sequence number nor an AETH that acknowledges.
pub const NONE: u32 = u32::MAX;

impl Value for FlowState {
    #[inline(always)]
    fn may_go(&mut self, now: u64) -> bool {
        now.saturating_sub(self.run.last_time) > SILENT_NS
    }
}

/// Requests in a row before `next_psn` after which the queue pair counts as reused.
const BEHIND_LIMIT: u16 = 4096;

/// Packets of a run per clock reading: a reading costs as much as all other work on a packet.
const PACKETS_PER_TIME: u8 = 8;

/// The most nanoseconds that [`PACKETS_PER_TIME`] packets may take for the clock to be read this rarely:
/// a run may end that much too late, and a packet's time has that uncertainty.
const FAST_NS: u64 = 250_000;

/// Nanoseconds after which a run of ACKs ends, and without an ACK none begins: less than a sender's timeout,
/// which is 4.096 us times 2^12 or more in practice, so that the first ACK after one is handed out.
const ACK_RUN_LIMIT_NS: u64 = 8_000_000;

/// The compared fields of a packet.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// Its bytes, from the Ethernet header on, without the FCS.
    pub wire_len: u32,
    /// BTH opcode.
    pub opcode: u8,
    /// The AckReq bit of the BTH.
    pub asks_for_ack: bool,
    /// Packet sequence number.
    pub psn: u32,
    /// The AETH of an ACK: syndrome, and below it the message sequence number; else [`NONE`].
    pub aeth: u32,
    /// UDP source port, and below it the P_Key.
    pub fields: u32,
    /// Differentiated services code point.
    pub dscp: u8,
    /// ECN codepoint.
    pub ecn: u8,
}

/// When a packet passed.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    /// In nanoseconds.
    pub time: u64,
    /// In kernel ticks, which cost nothing to read.
    pub tick: u32,
}

impl FlowState {
    /// The state after the first packet, which is delivered.
    #[inline(always)]
    #[must_use]
    pub fn new(first: &Arrival, clock: Clock) -> Self {
        let mut state = Self {
            run: Run::empty(clock.time),
            next_psn: NONE,
            acknowledged: 0,
            aeth: NONE,
            fields: 0,
            tick: 0,
            behind: 0,
            dscp: 0,
            untimed: 0,
        };
        state.handed_out(first, clock);
        state
    }

    /// Whether a packet carries nothing new: the next MIDDLE packet of a message, or an ACK within a
    /// message that it does not complete.
    #[inline(always)]
    #[must_use]
    pub fn goes_on_with(&self, arrival: &Arrival) -> bool {
        let run = &self.run;
        let is_next = if is_middle(arrival.opcode) {
            !arrival.asks_for_ack && arrival.psn == self.next_psn
        } else {
            is_ack(arrival.opcode)
                && arrival.aeth == self.aeth
                && arrival.aeth & NOT_POSITIVE == 0
                && arrival.psn != self.acknowledged
                && is_ahead(arrival.psn, self.acknowledged)
        };
        is_next
            && run.lost == 0
            && arrival.fields == self.fields
            && arrival.dscp == self.dscp
            && (run.frames == 0
                || arrival.wire_len == run.wire_len && u32::from(arrival.opcode) == run.opcode)
    }

    /// Whether such a packet is counted without its own timestamp: if few packets are between two
    /// timestamps, all in the same tick, and they have come fast so far.
    #[inline(always)]
    #[must_use]
    pub fn needs_no_time(&self, arrival: &Arrival, tick: u32) -> bool {
        self.run.frames != 0
            && self.untimed + 1 < PACKETS_PER_TIME
            && self.tick == tick
            && (arrival.ecn != CE || self.run.first_ce_time != 0)
    }

    /// Adds such a packet to the run.
    #[inline(always)]
    pub fn count(&mut self, arrival: &Arrival) {
        self.untimed += 1;
        self.add(arrival);
    }

    /// Whether the run may still grow. ACKs make no bursts: theirs may last longer.
    #[inline(always)]
    #[must_use]
    pub fn is_open(&self, arrival: &Arrival, time: u64, run_limit: u64) -> bool {
        let run = &self.run;
        if is_ack(arrival.opcode) {
            let since = if run.frames == 0 { run.last_time } else { run.first_time };
            return time.wrapping_sub(since) < ACK_RUN_LIMIT_NS;
        }
        run.frames == 0 || time.wrapping_sub(run.first_time) < run_limit
    }

    /// Adds a packet to the run, and its time.
    #[inline(always)]
    pub fn count_timed(&mut self, arrival: &Arrival, clock: Clock) {
        let run = &mut self.run;
        let took = clock.time.wrapping_sub(run.last_time);
        let packets = u64::from(self.untimed) + 1;
        let is_fast = took < FAST_NS && took * u64::from(PACKETS_PER_TIME) < FAST_NS * packets;
        if run.frames == 0 {
            run.first_time = clock.time;
            run.first_psn = arrival.psn;
            run.wire_len = arrival.wire_len;
            run.opcode = u32::from(arrival.opcode);
        }
        if arrival.ecn == CE && run.first_ce_time == 0 {
            run.first_ce_time = clock.time;
        }
        run.last_time = clock.time;
        self.untimed = 0;
        // Another tick than that of the next packet makes it read the clock.
        self.tick = if is_fast { clock.tick } else { !clock.tick };
        self.add(arrival);
    }

    #[inline(always)]
    fn add(&mut self, arrival: &Arrival) {
        let run = &mut self.run;
        run.frames += 1;
        run.last_psn = arrival.psn;
        run.ecn[usize::from(arrival.ecn & 3)] += 1;
        self.pass(arrival);
    }

    /// The run is delivered before a packet of this time: packets since the last clock reading are assumed
    /// evenly spaced, except for a pause after them.
    #[inline(always)]
    pub fn end_run(&mut self, time: u64) {
        let untimed = u64::from(self.untimed);
        if untimed > 0 {
            let since = time.saturating_sub(self.run.last_time).min(FAST_NS);
            self.run.last_time += since * untimed / (untimed + 1);
            self.untimed = 0;
        }
    }

    /// A packet was delivered, and the run with it.
    #[inline(always)]
    pub fn handed_out(&mut self, arrival: &Arrival, clock: Clock) {
        self.run = Run::empty(clock.time);
        self.untimed = 0;
        self.fields = arrival.fields;
        self.dscp = arrival.dscp;
        self.pass(arrival);
    }

    /// A packet could not be delivered.
    #[inline(always)]
    pub fn lost(&mut self, arrival: &Arrival) {
        if self.run.frames == 0 && self.run.lost == 0 {
            self.run.first_psn = arrival.psn;
            self.run.opcode = u32::from(arrival.opcode);
        }
        self.run.lost += 1;
        self.fields = arrival.fields;
        self.dscp = arrival.dscp;
        self.pass(arrival);
    }

    #[inline(always)]
    fn pass(&mut self, arrival: &Arrival) {
        if is_ack(arrival.opcode) {
            self.acknowledged = arrival.psn;
            // During a recovery, every ACK of the message is delivered.
            let was_refused = self.aeth & NOT_POSITIVE != 0 && self.aeth != NONE;
            if !was_refused || (self.aeth ^ arrival.aeth) & MESSAGES != 0 {
                self.aeth = arrival.aeth;
            }
        }
        if !is_request(arrival.opcode) {
            return;
        }
        let next = successor(arrival.psn);
        if self.next_psn == NONE || is_ahead(next, self.next_psn) || self.behind >= BEHIND_LIMIT {
            self.next_psn = next;
            self.behind = 0;
        } else {
            self.behind += 1;
        }
    }
}

/// Congestion experienced (RFC 3168).
const CE: u8 = 3;

/// Bits of an AETH that are set in what is not an ACK (IBTA volume 1, table 45: syndromes above 0x1f).
const NOT_POSITIVE: u32 = 0xe000_0000;

/// How many messages the responder has completed, in an AETH.
const MESSAGES: u32 = 0x00ff_ffff;

/// Packet sequence numbers are modulo 2^24 (IBTA volume 1, section 9.7.2).
const PSN_MASK: u32 = 0x00ff_ffff;

/// A PSN less than this ahead counts as ahead, not behind.
const HALF_CIRCLE: u32 = 1 << 23;

/// Whether a packet sequence number is less than half of the circle ahead of another, or the same.
#[inline(always)]
const fn is_ahead(psn: u32, other: u32) -> bool {
    psn.wrapping_sub(other) & PSN_MASK < HALF_CIRCLE
}

#[inline(always)]
const fn successor(psn: u32) -> u32 {
    psn.wrapping_add(1) & PSN_MASK
}

/// The transport services of connected queue pairs, whose packets are in sequence (IBTA volume 1,
/// table 38): RC 0, UC 1, XRC 5.
#[inline(always)]
const fn is_connected(opcode: u8) -> bool {
    matches!(opcode >> 5, 0 | 1 | 5)
}

/// SEND MIDDLE and RDMA WRITE MIDDLE.
#[inline(always)]
const fn is_middle(opcode: u8) -> bool {
    is_connected(opcode) && matches!(opcode & 0x1f, 0x01 | 0x07)
}

/// ACKNOWLEDGE.
#[inline(always)]
#[must_use]
pub const fn is_ack(opcode: u8) -> bool {
    is_connected(opcode) && opcode & 0x1f == 0x11
}

/// Everything but responses (0x0d to 0x12).
#[inline(always)]
const fn is_request(opcode: u8) -> bool {
    is_connected(opcode) && !matches!(opcode & 0x1f, 0x0d..=0x12)
}
