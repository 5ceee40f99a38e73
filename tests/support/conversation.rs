//! Packets between two hosts, one after the other, and railscope's report on them.

use std::collections::BTreeMap;

use serde_json::Value;

use super::frame::{Built, FrameBuilder};
use super::ip::Ipv4;
use super::roce::Roce;
use super::{pcap, railscope};

/// The queue pairs at both ends.
pub const REQUESTER_QPN: u32 = 0x11;
pub const RESPONDER_QPN: u32 = 0x22;

const REQUESTER: [u8; 4] = [10, 0, 0, 1];
const RESPONDER: [u8; 4] = [10, 0, 0, 2];

/// Payload of every packet that has any: the smallest path MTU.
pub const PAYLOAD_BYTES: usize = 256;

/// Time between two packets.
const PACE_NS: u64 = 10_000;

/// A capture being built.
#[derive(Default)]
pub struct Conversation {
    frames: Vec<(u64, Built)>,
    now_ns: u64,
    next_id: u16,
    next_answer_id: u16,
}

impl Conversation {
    /// Skips IPv4 identifications of packets that were sent but not captured.
    pub fn skip_ids(&mut self, count: u16) -> &mut Self {
        self.next_id += count;
        self
    }

    /// The requester sends a packet.
    pub fn ask(&mut self, opcode: u8, psn: u32) -> &mut Self {
        let id = self.next_id;
        self.next_id += 1;
        self.ask_with_id(opcode, psn, id)
    }

    /// The requester sends a packet with this identification.
    pub fn ask_with_id(&mut self, opcode: u8, psn: u32, identification: u16) -> &mut Self {
        let packet = Roce { dest_qpn: RESPONDER_QPN, psn, ..Roce::new(opcode, PAYLOAD_BYTES) };
        self.add(frame(REQUESTER, RESPONDER, identification, &packet))
    }

    /// The requester sends this packet.
    pub fn ask_packet(&mut self, packet: &Roce) -> &mut Self {
        let id = self.next_id;
        self.next_id += 1;
        self.add(frame(REQUESTER, RESPONDER, id, packet))
    }

    /// The responder sends a packet with this syndrome.
    pub fn answer(&mut self, opcode: u8, psn: u32, syndrome: u8) -> &mut Self {
        let packet =
            Roce { dest_qpn: REQUESTER_QPN, psn, syndrome, ..Roce::new(opcode, PAYLOAD_BYTES) };
        self.next_answer_id += 1;
        let identification = self.next_answer_id ^ 0x8000;
        self.add(frame(RESPONDER, REQUESTER, identification, &packet))
    }

    /// The responder acknowledges everything up to `psn`.
    pub fn acknowledge(&mut self, psn: u32) -> &mut Self {
        self.answer(0x11, psn, 0x1f)
    }

    /// Adds any frame.
    pub fn add(&mut self, built: Built) -> &mut Self {
        self.now_ns += PACE_NS;
        self.frames.push((self.now_ns, built));
        self
    }

    /// Repeats the last frame `ns` later.
    pub fn again_after(&mut self, ns: u64) -> &mut Self {
        let (_, last) = self.frames.last().unwrap().clone();
        self.now_ns += ns;
        self.frames.push((self.now_ns, last));
        self
    }

    /// The report if only `snap_bytes` of each frame were captured.
    pub fn report_cut(&self, snap_bytes: usize) -> Value {
        railscope::analyze(&[self.capture(snap_bytes).path().to_owned()])
    }

    /// The report on the whole frames.
    pub fn report(&self) -> Value {
        self.report_cut(0xffff)
    }

    /// The samples of `railscope analyze --format prometheus`, by name and attributes.
    pub fn metrics(&self) -> BTreeMap<String, u64> {
        let text = railscope::prometheus(self.capture(0xffff).path());
        let samples = text.lines().filter_map(|line| line.rsplit_once(' '));
        let whole =
            samples.filter_map(|(name, value)| Some((name.to_owned(), value.parse().ok()?)));
        whole.collect()
    }

    fn capture(&self, snap_bytes: usize) -> tempfile::NamedTempFile {
        let mut capture = pcap::header(self.frames[0].1.link_type, snap_bytes as u32);
        for (ns, built) in &self.frames {
            let kept = &built.bytes[..built.bytes.len().min(snap_bytes)];
            pcap::record(&mut capture, pcap::FIRST_NS + ns, kept, built.bytes.len());
        }
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), capture).unwrap();
        file
    }
}

/// A RoCE packet in a plain frame between two hosts.
fn frame(source: [u8; 4], destination: [u8; 4], identification: u16, packet: &Roce) -> Built {
    let ip = Ipv4 { source, destination, identification, ..Ipv4::default() };
    FrameBuilder::ethernet().ipv4(&ip).udp(49_152, 4791).roce(packet).finish()
}

/// The flows to a queue pair, oldest epoch first.
pub fn flows_to(report: &Value, qpn: u32) -> Vec<&Value> {
    let flows = report["flows"].as_array().unwrap();
    flows.iter().filter(|flow| flow["dest_qpn"] == qpn).collect()
}

/// The only flow of requests.
pub fn requests(report: &Value) -> &Value {
    let flows = flows_to(report, RESPONDER_QPN);
    assert_eq!(flows.len(), 1, "{flows:?}");
    flows[0]
}
