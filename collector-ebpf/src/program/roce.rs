//! RoCEv2: packets that say something new are handed out, the others are counted.

use aya_ebpf::bindings::{BPF_NOEXIST, BPF_RB_NO_WAKEUP};
use aya_ebpf::helpers::{bpf_ktime_get_ns, bpf_skb_load_bytes};
use aya_ebpf::programs::TcContext;
use railscope_ebpf::event::{EventHeader, HEAD_LEN, PacketEvent, Run};
use railscope_ebpf::flow::{Arrival, FlowKey, FlowState};
use railscope_ebpf::loss::Loss;

use super::headers::{self, Network};
use super::maps::{self, EVENTS, FLOWS};

/// UDP destination port (IBTA annex A17).
const ROCE_PORT: u16 = 4791;
const UDP_AND_BTH_LEN: usize = 20;

/// Takes a UDP packet; `None` when it is not RoCEv2.
#[inline(always)]
pub(super) fn observe(context: &TcContext, network: &Network, is_outbound: bool) -> Option<()> {
    let bytes: [u8; UDP_AND_BTH_LEN] = headers::load(context, network.transport)?;
    if u16::from_be_bytes([bytes[2], bytes[3]]) != ROCE_PORT {
        return None;
    }
    // SAFETY: a helper without arguments.
    let time = unsafe { bpf_ktime_get_ns() };
    let skb = context.skb.skb;
    // SAFETY: the kernel's, alive while the program runs.
    let interface_index = unsafe { (*skb).ifindex };
    let key = FlowKey {
        source: network.source,
        destination: network.destination,
        dest_qpn: u32::from_be_bytes([0, bytes[13], bytes[14], bytes[15]]),
        interface_index,
    };
    let arrival = Arrival {
        time,
        wire_len: context.len(),
        opcode: bytes[8],
        asks_for_ack: bytes[16] & 0x80 != 0,
        psn: u32::from_be_bytes([0, bytes[17], bytes[18], bytes[19]]),
        fields: u32::from_be_bytes([bytes[0], bytes[1], bytes[10], bytes[11]]),
        dscp: u32::from(network.traffic_class >> 2),
        ecn: u32::from(network.traffic_class & 3),
    };
    let Some(flow) = FLOWS.get_ptr_mut(&key) else {
        let flow = FlowState::new(&arrival);
        if FLOWS.insert(&key, &flow, u64::from(BPF_NOEXIST)).is_err() {
            maps::count(Loss::Flow);
        }
        hand_out(context, &arrival, interface_index, is_outbound, &Run::default());
        return Some(());
    };
    // SAFETY: the map keeps the value while the program runs; packets of a flow come one after the
    // other, and where two CPUs do race, a count of a run is the worst that is lost.
    let flow = unsafe { &mut *flow };
    if flow.goes_on_with(&arrival, maps::settings().run_limit) {
        flow.count(&arrival);
    } else if hand_out(context, &arrival, interface_index, is_outbound, &flow.run) {
        flow.handed_out(&arrival);
    } else {
        flow.lost(&arrival);
    }
    Some(())
}

/// Gives the packet to user space; whether there was room.
#[inline(always)]
fn hand_out(
    context: &TcContext,
    arrival: &Arrival,
    interface_index: u32,
    is_outbound: bool,
    run: &Run,
) -> bool {
    let Some(mut entry) = EVENTS.reserve::<PacketEvent>(0) else {
        maps::count(Loss::Event);
        return false;
    };
    let event = entry.as_mut_ptr();
    let skb = context.skb.skb;
    let len = if arrival.wire_len < HEAD_LEN as u32 { arrival.wire_len } else { HEAD_LEN as u32 };
    // SAFETY: the entry is as long as the event; what is not written has a length in the
    // header that leaves it out.
    unsafe {
        (&raw mut (*event).header).write(EventHeader {
            time: arrival.time,
            interface_index,
            is_outbound: u32::from(is_outbound),
            wire_len: arrival.wire_len,
            head_len: len,
            vlan: headers::vlan(context),
            payload_offset: 0,
            payload_len: 0,
            reserved: 0,
        });
        (&raw mut (*event).run).write(*run);
        let head = (&raw mut (*event).head).cast();
        if len > 0 && bpf_skb_load_bytes(skb.cast(), 0, head, len) != 0 {
            entry.discard(u64::from(BPF_RB_NO_WAKEUP));
            maps::count(Loss::Header);
            return false;
        }
    }
    entry.submit(u64::from(BPF_RB_NO_WAKEUP));
    true
}
