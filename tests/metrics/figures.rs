//! Figures that queue pairs and metrics both have are the same.

use serde_json::Value;

use crate::support::conversation::{Conversation, RESPONDER_QPN};
use crate::support::frame::FrameBuilder;
use crate::support::ip::Ipv4;
use crate::support::roce::Roce;

const SEND_ONLY: u8 = 0x04;
const UC_SEND_ONLY: u8 = 0x24;

const GAPS: &str = "rdma_flow_gaps_total{rdma_port=\"10.0.0.1\"}";

/// Requests with these PSNs.
fn asked(opcode: u8, psns: impl IntoIterator<Item = u32>) -> Conversation {
    let mut conversation = Conversation::default();
    for psn in psns {
        conversation.ask(opcode, psn);
    }
    conversation
}

/// A figure of the only queue pair with requests.
fn figure<'a>(report: &'a Value, key: &str) -> &'a Value {
    let mut pairs = report["queue_pairs"].as_array().unwrap().iter();
    &pairs.find(|pair| pair["has_requests"] == true).unwrap()[key]
}

#[test]
fn packets_that_only_the_capture_lost_are_not_missing() {
    let mut captured = asked(SEND_ONLY, (100..110).chain(112..120));
    captured.acknowledge(119);
    assert_eq!(figure(&captured.report(), "missing_packets"), 0);
    assert_eq!(captured.metrics()[GAPS], 0);
}

#[test]
fn packets_that_are_sent_again_or_that_nothing_acknowledges_are_missing() {
    let mut again = asked(SEND_ONLY, (100..110).chain(112..120).chain(110..120));
    again.acknowledge(119);
    let unreliable = asked(UC_SEND_ONLY, (100..110).chain(112..120));
    for conversation in [again, unreliable] {
        assert_eq!(figure(&conversation.report(), "missing_packets"), 2);
        assert_eq!(conversation.metrics()[GAPS], 2);
    }
}

#[test]
fn a_counter_waits_until_it_is_certain_that_packets_are_missing() {
    let open = asked(SEND_ONLY, (100..110).chain(112..120));
    assert_eq!(figure(&open.report(), "missing_packets"), 2);
    assert_eq!(open.metrics()[GAPS], 0);
}

#[test]
fn a_mark_on_any_header_of_a_tunnel_marks_the_packet_once() {
    let mut conversation = Conversation::default();
    // The outer header only, both, the inner one only, neither.
    for (psn, outer, inner) in [(0, 3, 2), (1, 3, 3), (2, 2, 3), (3, 2, 2)] {
        let packet = Roce { dest_qpn: RESPONDER_QPN, psn: 100 + psn, ..Roce::new(SEND_ONLY, 256) };
        let tunnel = Ipv4 { source: [192, 0, 2, 1], tos: outer, ..Ipv4::default() };
        let ip = Ipv4 { identification: psn as u16, tos: inner, ..Ipv4::default() };
        let frame = FrameBuilder::ethernet().ipv4(&tunnel).udp(50_000, 4789).vxlan(7);
        let frame = frame.inner_ethernet().ipv4(&ip).udp(49_152, 4791).roce(&packet);
        conversation.add(frame.finish());
    }
    let (report, metrics) = (conversation.report(), conversation.metrics());
    assert_eq!(
        (figure(&report, "ce_packets"), figure(&report, "ce_among_packets")),
        (&3.into(), &4.into())
    );
    let marked = |ecn: &str| {
        let of_ecn = |name: &&String| name.contains("flow_ecn") && name.contains(ecn);
        metrics.iter().filter(|(name, _)| of_ecn(name)).map(|(_, count)| count).sum::<u64>()
    };
    assert_eq!((marked("\"ce\""), marked("\"ect0\"")), (3, 1));
}
