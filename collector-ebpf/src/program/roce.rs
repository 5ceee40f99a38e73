//! RoCEv2: packets with new information are delivered, the others are counted.

use aya_ebpf::bindings::BPF_RB_NO_WAKEUP;
use railscope_ebpf::event::{
    DATA_HEAD_LEN, DATA_LEN, EventHeader, HAS_RUN, HEAD_LEN, OUTBOUND, Run,
};
use railscope_ebpf::flow::{Arrival, Clock, FlowState, NONE, is_ack};
use railscope_ebpf::loss::Loss;
use railscope_ebpf::table::{Claim, Key};

use super::headers::{self, Header, Network};
use super::maps::{self, EVENTS};
use super::packet::Packet;
use super::{clock, log};

/// UDP destination port (IBTA annex A17).
const ROCE_PORT: u16 = 4791;

/// UDP (RFC 768) and the base transport header (IBTA volume 1, section 9.2).
#[repr(C)]
#[derive(Clone, Copy)]
struct UdpAndBth {
    source_port: u16,
    dest_port: u16,
    udp_len: u16,
    udp_checksum: u16,
    opcode: u8,
    flags: u8,
    pkey: u16,
    /// Eight bits that are not its own, and the destination queue pair number.
    dest_qpn: u32,
    /// The bit AckReq, seven reserved ones, and the packet sequence number.
    psn: u32,
}

// SAFETY: integers only.
unsafe impl Header for UdpAndBth {}

/// ACK extended transport header (IBTA volume 1, section 9.2.5).
#[repr(C)]
#[derive(Clone, Copy)]
struct Aeth(u32);

// SAFETY: integers only.
unsafe impl Header for Aeth {}

/// Bytes of an ACK over IPv4, from the Ethernet header to the ICRC, and the room for it.
const ACK_LEN: usize = 62;
const ACK_ROOM: usize = 64;

/// AckReq, in the word with the packet sequence number.
const ACK_REQ: u32 = 1 << 31;
/// Queue pair numbers and packet sequence numbers.
const LOW_24: u32 = 0x00ff_ffff;

/// Whether a UDP packet is RoCEv2.
#[inline(always)]
pub(super) fn is_one(packet: &impl Packet, network: &Network) -> bool {
    network.protocol == headers::UDP
        && headers::load::<UdpAndBth>(packet, network.transport)
            .is_some_and(|header| header.dest_port == ROCE_PORT.to_be())
}

/// Takes a UDP packet; `None` when it is not RoCEv2.
#[inline(always)]
pub(super) fn observe(packet: &impl Packet, network: &Network, is_outbound: bool) -> Option<()> {
    let header: UdpAndBth = headers::load(packet, network.transport)?;
    if header.dest_port != ROCE_PORT.to_be() {
        return None;
    }
    let dest_qpn = u32::from_be(header.dest_qpn) & LOW_24;
    let key = Key::new(network.source, network.destination, dest_qpn, packet.interface_index());
    let psn = u32::from_be(header.psn);
    let aeth_at = network.transport + size_of::<UdpAndBth>();
    let aeth = if is_ack(header.opcode) { headers::load(packet, aeth_at) } else { None };
    let arrival = Arrival {
        wire_len: packet.len(),
        opcode: header.opcode,
        asks_for_ack: psn & ACK_REQ != 0,
        psn: psn & LOW_24,
        aeth: aeth.map_or(NONE, |Aeth(word)| u32::from_be(word)),
        fields: u32::from(u16::from_be(header.source_port)) << 16
            | u32::from(u16::from_be(header.pkey)),
        dscp: network.traffic_class >> 2,
        ecn: network.traffic_class & 3,
    };
    let tick = clock::tick();
    let flows = maps::flows(&key)?;
    let Some(flow) = flows.find(&key) else {
        let clock = Clock { time: clock::now(), tick };
        if flows.claim(&key, FlowState::new(&arrival, clock), clock.time) == Claim::Refused {
            log::lost(Loss::Flow);
        }
        let passage = Passage { wire_len: arrival.wire_len, time: clock.time, is_outbound };
        hand_out_first(packet, &passage);
        return Some(());
    };
    let says_nothing = flow.goes_on_with(&arrival);
    if says_nothing && flow.needs_no_time(&arrival, tick) {
        flow.count(&arrival);
        return Some(());
    }
    let clock = Clock { time: clock::now(), tick };
    if says_nothing && flow.is_open(&arrival, clock.time, maps::settings().run_limit) {
        flow.count_timed(&arrival, clock);
        return Some(());
    }
    flow.end_run(clock.time);
    let passage = Passage { wire_len: arrival.wire_len, time: clock.time, is_outbound };
    if hand_out(packet, &passage, &flow.run) {
        flow.handed_out(&arrival, clock);
    } else {
        flow.lost(&arrival);
    }
    Some(())
}

/// When and where a packet passed.
struct Passage {
    wire_len: u32,
    time: u64,
    is_outbound: bool,
}

/// An event in the ring's layout: `R` is a [`Run`], or nothing.
#[repr(C)]
struct Handed<R, const ROOM: usize> {
    header: EventHeader,
    run: R,
    head: [u8; ROOM],
}

/// Delivers the first packet of a flow, with as many bytes as [`hand_out`] would: a copy of it has the same.
#[inline(always)]
fn hand_out_first(packet: &impl Packet, passage: &Passage) {
    let len = passage.wire_len as usize;
    if len > DATA_HEAD_LEN && len < DATA_LEN {
        hand_out_in::<(), HEAD_LEN>(packet, passage, &());
    } else {
        hand_out_in::<(), DATA_HEAD_LEN>(packet, passage, &());
    }
}

/// Delivers the packet to user space, and the run before it; returns whether there was room. Events are as short
/// as they can be: each line of the ring comes into the caches of two CPUs.
#[inline(always)]
fn hand_out(packet: &impl Packet, passage: &Passage, run: &Run) -> bool {
    let len = passage.wire_len as usize;
    if len > DATA_HEAD_LEN && len < DATA_LEN {
        hand_out_in::<Run, HEAD_LEN>(packet, passage, run)
    } else if run.frames | run.lost != 0 {
        hand_out_in::<Run, DATA_HEAD_LEN>(packet, passage, run)
    } else if len > ACK_LEN {
        hand_out_in::<(), DATA_HEAD_LEN>(packet, passage, &())
    } else {
        hand_out_in::<(), ACK_ROOM>(packet, passage, &())
    }
}

#[inline(always)]
fn hand_out_in<R: Copy + 'static, const ROOM: usize>(
    packet: &impl Packet,
    passage: &Passage,
    run: &R,
) -> bool {
    let Some(mut entry) = EVENTS.reserve::<Handed<R, ROOM>>(0) else {
        log::lost(Loss::Event);
        return false;
    };
    let event = entry.as_mut_ptr();
    let &Passage { wire_len, time, is_outbound } = passage;
    let run_mark = if size_of::<R>() > 0 { HAS_RUN } else { 0 };
    // SAFETY: the entry is as long as the event; what is not written has a length in the
    // header that leaves it out.
    let is_read = unsafe {
        (&raw mut (*event).header).write(EventHeader {
            time,
            interface_index: packet.interface_index(),
            wire_len,
            vlan: packet.vlan(),
            head_len: wire_len.min(ROOM as u32) as u16,
            marks: u16::from(is_outbound) * OUTBOUND | run_mark,
        });
        (&raw mut (*event).run).write(*run);
        let (len, head) = (&raw const (*event).header.head_len, &raw mut (*event).head);
        // Most packets of the longest room do not fill it.
        let usual = if ROOM == ACK_ROOM { ACK_LEN } else { ROOM };
        ROOM < HEAD_LEN && headers::copy_words(packet, usual, head.cast())
            || headers::copy(packet, 0, len, head)
    };
    if !is_read {
        entry.discard(u64::from(BPF_RB_NO_WAKEUP));
        log::lost(Loss::Header);
        return false;
    }
    entry.submit(u64::from(BPF_RB_NO_WAKEUP));
    true
}
