//! RoCE packets between three hosts with four queue pairs, from a [`script`](super::script).
//!
//! QPNs repeat on the hosts, and two pairs share a UDP port, as on real fabrics.

use railscope_core::flow::tracker::FlowConfig;
use railscope_core::model::frame::Frame;
use railscope_core::model::tap::{LinkType, Tap, TapFormat, TapId};
use railscope_core::model::time::Timestamp;
use railscope_core::pipeline::{Pipeline, PipelineConfig};
use railscope_core::report::{Detail, Report, ReportContext};

use super::invariants;
use super::script::{Action, PACKET_BYTES, ScriptedPacket, actions};

/// Table sizes. The input's first byte sets table size, line rate and start of the clock.
const SIZES: [usize; 8] = [1, 2, 3, 4, 5, 8, 64, 64];
const STARTS: [u64; 4] = [1_700_000_000_000_000_000, 0, u64::MAX - 20_000_000, 5_000_000];

/// Longer scripts find nothing new and take time.
const PACKETS: usize = 2000;

/// Snap length, as in many RoCE captures.
const SNAP_BYTES: usize = 342;

/// Two hosts, the queue pair of each, and their UDP source port.
const PAIRS: [([u8; 2], [u32; 2], u16); 4] = [
    ([1, 2], [0x11, 0x22], 50_000),
    ([1, 2], [0x12, 0x11], 50_001),
    ([1, 3], [0x11, 0x22], 50_000),
    ([2, 1], [0x22, 0x13], 50_000),
];

/// Panics if an invariant does not hold.
pub fn check(data: &[u8]) {
    let Some((setup, script)) = data.split_first() else { return };
    let script = &script[..script.len().min(PACKETS * PACKET_BYTES)];
    let report = report_of(*setup, script);
    invariants::check(&report);
    let sent = (script.len() / PACKET_BYTES) as u64;
    assert_eq!(report.capture.frames, sent);
    for (name, count) in &report.health {
        // A dropped READ is one packet with many PSNs; byte and PSN counters do not count packets.
        assert!(*count <= 2 * sent, "{name}: {count}");
    }
    assert_eq!(invariants::json(&report), invariants::json(&report_of(*setup, script)));
}

fn report_of(setup: u8, script: &[u8]) -> Report {
    let flow = FlowConfig {
        flow_capacity: SIZES[usize::from(setup & 7)],
        line_rate_bps: [None, Some(100_000_000_000), Some(1), None][usize::from(setup >> 3 & 3)],
        keeps_details: true,
    };
    let mut pipeline = Pipeline::new(PipelineConfig { flow, message_capacity: Some(4_096) });
    pipeline.add_tap(Tap {
        file: "script".to_owned(),
        format: TapFormat::PcapNg,
        interface: None,
        link_type: LinkType::Ethernet,
        snap_len: None,
        line_rate_bps: None,
    });
    let mut wire = Wire { frame: rdma(&[0; 12], [1, 2], 0, 0, 0), ..Wire::default() };
    let mut time_ns = STARTS[usize::from(setup >> 5 & 3)];
    for (number, (delta_ns, action)) in (1..).zip(actions(script)) {
        time_ns = time_ns.saturating_add_signed(delta_ns);
        wire.take(action);
        pipeline.handle_frame(&Frame {
            tap: TapId(0),
            number,
            time: Timestamp::from_nanos(time_ns),
            wire_len: wire.frame.len() as u32,
            bytes: &wire.frame[..wire.frame.len().min(SNAP_BYTES)],
            link_type: LinkType::Ethernet,
            direction: None,
        });
        let ended = pipeline.drain_messages().count();
        assert!(ended <= 1, "a packet ends one message at most");
    }
    pipeline.finish(ReportContext { detail: Detail::Full, ..Default::default() })
}

/// The senders' state: next PSNs and identifications.
#[derive(Default)]
struct Wire {
    next_psn: [[u32; 2]; PAIRS.len()],
    next_identification: u16,
    frame: Vec<u8>,
}

impl Wire {
    /// Builds the next frame.
    fn take(&mut self, action: Action) {
        match action {
            Action::Packet(packet) => self.frame = self.packet(&packet),
            Action::Announce(packet) => self.frame = self.announcement(&packet),
            Action::Repeat => {}
            Action::Pause { enabled, quanta } => self.frame = pause(enabled, quanta),
        }
    }

    fn packet(&mut self, packet: &ScriptedPacket) -> Vec<u8> {
        let (hosts, qpns, port) = PAIRS[packet.pair];
        let way = usize::from(packet.is_backward);
        let is_response = matches!(packet.opcode, 0x0d..=0x12);
        // A response has the PSNs of the other side's requests.
        let next = &mut self.next_psn[packet.pair][if is_response { 1 - way } else { way }];
        let psn = match packet.psn_delta {
            Some(delta) => next.wrapping_add_signed(delta - i32::from(is_response)) & 0xff_ffff,
            None => 0,
        };
        if !is_response {
            *next = psn + 1;
        }
        let [q0, q1, q2] = low_three(qpns[1 - way]);
        let [p0, p1, p2] = low_three(psn);
        let ack = u8::from(packet.ack_request) << 7;
        let mut roce = vec![packet.opcode, 0, 0xff, 0xff, 0, q0, q1, q2, ack, p0, p1, p2];
        match packet.opcode & 0x1f {
            0x06 | 0x0a | 0x0b | 0x0c | 0x1c | 0x1d if packet.opcode < 0x40 => {
                roce.extend([0, 0, 0, 0, 0, 0, p1, p2, 0, 0, 0, 7]);
                roce.extend(packet.bytes.to_be_bytes());
            }
            0x13 | 0x14 => roce.extend([packet.syndrome; 28]),
            0x0d | 0x0f..=0x12 => roce.extend([packet.syndrome, p0, p1, p2]),
            _ => {}
        }
        if packet.opcode == 0x64 {
            roce.extend([0; 7]);
            roce.push(packet.syndrome);
        }
        let has_payload = !matches!(packet.opcode, 0x0c | 0x11..=0x14);
        let payload = if has_payload { packet.bytes.min(1024) as usize } else { 0 };
        roce.resize(roce.len() + payload, 0x5a);
        let ends = if packet.is_backward { [hosts[1], hosts[0]] } else { hosts };
        rdma(&roce, ends, port, self.identification(packet), packet.ecn)
    }

    /// A REQ from the first host, or the second host's REP.
    fn announcement(&mut self, packet: &ScriptedPacket) -> Vec<u8> {
        let (hosts, qpns, port) = PAIRS[packet.pair];
        let way = usize::from(packet.is_backward);
        // BTH to QP1, DETH from QP1, then the MAD.
        let mut roce = vec![0x64, 0, 0xff, 0xff, 0, 0, 0, 1, 0, 0, 0, packet.syndrome];
        roce.extend([0, 0, 0, 1, 0, 0, 0, 1]);
        let mad = roce.len();
        roce.extend([1, 7, 2, 3]);
        roce.resize(mad + 256, 0);
        let attribute = if packet.is_backward { 0x13 } else { 0x10 };
        roce[mad + 17] = attribute;
        let identifier = packet.pair as u8 + 1;
        let data = mad + 24;
        // Communication identifiers, then the QPN: at offset 32 in a REQ, 12 in a REP.
        roce[data + 3] = identifier;
        roce[data + 7] = if packet.is_backward { identifier } else { 0 };
        let at = data + if packet.is_backward { 12 } else { 32 };
        roce[at..at + 3].copy_from_slice(&low_three(qpns[way]));
        let ends = if packet.is_backward { [hosts[1], hosts[0]] } else { hosts };
        rdma(&roce, ends, port, self.identification(packet), packet.ecn)
    }

    fn identification(&mut self, packet: &ScriptedPacket) -> u16 {
        if !packet.has_identification {
            return 0;
        }
        self.next_identification = self.next_identification.wrapping_add(1);
        self.next_identification.wrapping_sub(u16::from(packet.syndrome >> 5))
    }
}

/// A frame with `roce` and a dummy ICRC of four bytes.
fn rdma(roce: &[u8], ends: [u8; 2], port: u16, identification: u16, ecn: u8) -> Vec<u8> {
    let [from, to] = ends;
    let [l0, l1] = (roce.len() as u16 + 32).to_be_bytes();
    let [u0, u1] = (roce.len() as u16 + 12).to_be_bytes();
    let [i0, i1] = identification.to_be_bytes();
    let [p0, p1] = port.to_be_bytes();
    let mut frame = vec![2, 0, 0, 0, 0, to, 2, 0, 0, 0, 0, from, 0x08, 0];
    frame.extend([0x45, 26 << 2 | ecn, l0, l1, i0, i1, 0, 0, 64, 17, 0, 0]);
    frame.extend([10, 0, 0, from, 10, 0, 0, to, p0, p1, 0x12, 0xb7, u0, u1, 0, 0]);
    frame.extend(roce);
    frame.extend([0; 4]);
    frame
}

fn pause(enabled: u8, quanta: u16) -> Vec<u8> {
    let mut frame = vec![1, 0x80, 0xc2, 0, 0, 1, 2, 0, 0, 0, 0, 1, 0x88, 0x08, 1, 1, 0, enabled];
    for _ in 0..8 {
        frame.extend(quanta.to_be_bytes());
    }
    frame.resize(60, 0);
    frame
}

fn low_three(value: u32) -> [u8; 3] {
    let [_, a, b, c] = value.to_be_bytes();
    [a, b, c]
}
