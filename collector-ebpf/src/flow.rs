//! What is kept of a RoCEv2 flow between its packets, and which of them say nothing new.

use bytemuck::{Pod, Zeroable};

use crate::event::Run;
use crate::table::Value;

/// Nanoseconds after which a flow without a packet makes room for another.
pub const SILENT_NS: u64 = 120_000_000_000;

/// The state of a flow.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct FlowState {
    /// When the latest packet passed.
    pub last_time: u64,
    /// The packets that were counted since the latest one that was handed out.
    pub run: Run,
    /// Packet sequence number after the highest one of requests, as far as it is known.
    pub next_psn: u32,
    /// Header fields that the packets of a run share: UDP source port, and P_Key.
    pub fields: u32,
    /// The differentiated services code point that they share.
    pub dscp: u32,
    /// Requests in a row that were behind that number: sent again, or another use of the queue pair.
    pub behind: u32,
    /// Whether there was a request.
    pub has_requests: u32,
    /// Always 0.
    pub reserved: u32,
}

impl Value for FlowState {
    #[inline(always)]
    fn may_go(&mut self, now: u64) -> bool {
        now.saturating_sub(self.last_time) > SILENT_NS
    }
}

/// Requests in a row that are behind, after which they are taken for another use of the queue pair.
const BEHIND_LIMIT: u32 = 4096;

/// What is compared of a packet.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// When it passed.
    pub time: u64,
    /// Its bytes, from the Ethernet header on, without its check sequence.
    pub wire_len: u32,
    /// BTH opcode.
    pub opcode: u8,
    /// The AckReq bit of the BTH.
    pub asks_for_ack: bool,
    /// Packet sequence number.
    pub psn: u32,
    /// UDP source port, and below it the P_Key.
    pub fields: u32,
    /// Differentiated services code point.
    pub dscp: u32,
    /// ECN codepoint.
    pub ecn: u32,
}

impl FlowState {
    /// The state behind the first packet, which is handed out.
    #[inline(always)]
    #[must_use]
    pub fn new(first: &Arrival) -> Self {
        let mut state = Self::default();
        state.handed_out(first);
        state
    }

    /// Whether a packet says nothing but that it passed.
    #[inline(always)]
    #[must_use]
    pub fn goes_on_with(&self, arrival: &Arrival, run_limit: u64) -> bool {
        let run = &self.run;
        self.has_requests != 0
            && is_middle(arrival.opcode)
            && !arrival.asks_for_ack
            && run.lost == 0
            && arrival.psn == self.next_psn
            && arrival.fields == self.fields
            && arrival.dscp == self.dscp
            && (run.frames == 0
                || arrival.wire_len == run.wire_len
                    && u32::from(arrival.opcode) == run.opcode
                    && arrival.time.wrapping_sub(run.first_time) < run_limit)
    }

    /// Adds such a packet to the run.
    #[inline(always)]
    pub fn count(&mut self, arrival: &Arrival) {
        self.pass(arrival);
        let run = &mut self.run;
        if run.frames == 0 {
            run.first_time = arrival.time;
            run.first_psn = arrival.psn;
            run.wire_len = arrival.wire_len;
            run.opcode = u32::from(arrival.opcode);
        }
        run.frames += 1;
        run.last_time = arrival.time;
        run.ecn[(arrival.ecn & 3) as usize] += 1;
        if arrival.ecn == 3 && run.first_ce_time == 0 {
            run.first_ce_time = arrival.time;
        }
    }

    /// A packet was handed out, and the run with it.
    #[inline(always)]
    pub fn handed_out(&mut self, arrival: &Arrival) {
        self.run = Run::default();
        self.pass(arrival);
    }

    /// A packet was to be handed out, and could not.
    #[inline(always)]
    pub fn lost(&mut self, arrival: &Arrival) {
        if self.run.frames == 0 && self.run.lost == 0 {
            self.run.first_psn = arrival.psn;
        }
        self.run.lost += 1;
        self.pass(arrival);
    }

    #[inline(always)]
    fn pass(&mut self, arrival: &Arrival) {
        self.last_time = arrival.time;
        self.fields = arrival.fields;
        self.dscp = arrival.dscp;
        if !is_request(arrival.opcode) {
            return;
        }
        let next = successor(arrival.psn);
        let is_ahead = next.wrapping_sub(self.next_psn) & PSN_MASK < HALF_CIRCLE;
        if is_ahead || self.has_requests == 0 || self.behind >= BEHIND_LIMIT {
            self.next_psn = next;
            self.behind = 0;
        } else {
            self.behind += 1;
        }
        self.has_requests = 1;
    }
}

/// Packet sequence numbers are modulo 2^24 (IBTA volume 1, section 9.7.2).
const PSN_MASK: u32 = 0x00ff_ffff;

/// What is less than this ahead is ahead, not behind.
const HALF_CIRCLE: u32 = 1 << 23;

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

/// Everything but responses (0x0d to 0x12).
#[inline(always)]
const fn is_request(opcode: u8) -> bool {
    is_connected(opcode) && !matches!(opcode & 0x1f, 0x0d..=0x12)
}
