//! Cost of one decoded packet in the flow layer: with one flow, and with more flows than any cache
//! holds, in an order that no prefetcher predicts.

#![expect(clippy::expect_used, reason = "a bench that cannot be set up has nothing to measure")]

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use railscope_core::decode::frame::decode;
use railscope_core::decode::packet::{Body, Packet};
use railscope_core::flow::tracker::{FlowConfig, FlowTracker};
use railscope_core::model::frame::Frame;
use railscope_core::model::psn::Psn;
use railscope_core::model::qpn::Qpn;
use railscope_core::model::tap::{LinkType, Tap, TapFormat, TapId};
use railscope_core::model::time::Timestamp;

/// Packets in one measured run.
const PACKETS: u32 = 200_000;

/// A prime that shares no factor with the numbers of flows: its multiples visit all of them.
const SCATTER: u32 = 7_919;

const PACE_NS: u64 = 100;

fn main() {
    divan::main();
}

/// A packet in the middle of an RDMA WRITE.
fn write_middle() -> Vec<u8> {
    let [l0, l1] = 1068_u16.to_be_bytes();
    let [u0, u1] = 1048_u16.to_be_bytes();
    let mut bytes = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x08, 0];
    bytes.extend([0x45, 0x6a, l0, l1, 0x12, 0x34, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    bytes.extend([0xc0, 0x01, 0x12, 0xb7, u0, u1, 0, 0]);
    bytes.extend([7, 0, 0xff, 0xff, 0, 0, 0, 0x11, 0, 0, 0, 7]);
    bytes.resize(128, 0x5a);
    bytes
}

/// Packets of many flows, one after the other, that differ in the fields that identify a flow.
struct Traffic<'a> {
    packet: Packet<'a>,
    frame: Frame<'a>,
    flows: u32,
    sent: u32,
}

impl<'a> Traffic<'a> {
    fn new(bytes: &'a [u8], flows: u32) -> Self {
        let frame = Frame {
            tap: TapId(0),
            number: 1,
            time: Timestamp::EPOCH,
            wire_len: 1082,
            bytes,
            link_type: LinkType::Ethernet,
            direction: None,
        };
        Self { packet: decode(&frame), frame, flows, sent: 0 }
    }

    fn send(&mut self, tracker: &mut FlowTracker) {
        let flow = self.sent.wrapping_mul(SCATTER) % self.flows;
        if let Body::Roce(roce) = &mut self.packet.body {
            roce.bth.dest_qpn = Qpn::new(0x100 + flow);
            roce.bth.psn = Psn::new(1 + self.sent / self.flows);
        }
        if let Some(ip) = &mut self.packet.ip {
            ip.identification = Some(self.sent as u16);
        }
        self.frame.time = Timestamp::from_nanos(u64::from(self.sent) * PACE_NS);
        self.sent = self.sent.wrapping_add(1);
        tracker.observe(black_box(&self.frame), black_box(&self.packet), &mut ());
    }
}

#[divan::bench(args = [1, 1_000, 100_000])]
fn update(bencher: Bencher<'_, '_>, flows: u32) {
    let bytes = write_middle();
    let mut traffic = Traffic::new(&bytes, flows);
    let mut tracker = FlowTracker::new(FlowConfig {
        flow_capacity: 262_144,
        line_rate_bps: None,
        keeps_details: false,
    });
    tracker.add_tap(Tap {
        file: "memory".to_owned(),
        format: TapFormat::Pcap,
        interface: None,
        link_type: LinkType::Ethernet,
        snap_len: Some(128),
        line_rate_bps: None,
    });
    // Creates every flow before the first measurement.
    for _ in 0..flows {
        traffic.send(&mut tracker);
    }
    assert_eq!(tracker.flows().flows().len(), usize::try_from(flows).expect("32 bits fit"));
    bencher.counter(ItemsCount::new(PACKETS)).bench_local(|| {
        for _ in 0..PACKETS {
            traffic.send(&mut tracker);
        }
    });
}
