//! Short conversations whose report can be worked out by hand.

use serde_json::{Value, json};

use crate::support::conversation::{
    Conversation, PAYLOAD_BYTES, REQUESTER_QPN, RESPONDER_QPN, flows_to, requests,
};
use crate::support::frame::FrameBuilder;
use crate::support::ip::Ipv4;
use crate::support::roce::Roce;

const SEND_ONLY: u8 = 0x04;
const WRITE_FIRST: u8 = 0x06;
const WRITE_MIDDLE: u8 = 0x07;
const READ_REQUEST: u8 = 0x0c;
const READ_RESPONSE_FIRST: u8 = 0x0d;
const READ_RESPONSE_MIDDLE: u8 = 0x0e;
const READ_RESPONSE_LAST: u8 = 0x0f;
const UC_SEND_ONLY: u8 = 0x24;
const NAK_PSN_SEQUENCE: u8 = 0x60;
const ACK: u8 = 0x11;

/// Requests with these PSNs, in order.
fn asked(psns: impl IntoIterator<Item = u32>) -> Conversation {
    let mut conversation = Conversation::default();
    for psn in psns {
        conversation.ask(SEND_ONLY, psn);
    }
    conversation
}

/// The classes that are not 0, by name.
fn classes(flow: &Value) -> Vec<(&'static str, u64)> {
    ["gap", "out_of_order", "retransmitted", "ambiguous", "uncaptured", "unresolved"]
        .into_iter()
        .map(|class| (class, flow["psn"][format!("{class}_packets")].as_u64().unwrap()))
        .filter(|(_, count)| *count > 0)
        .collect()
}

#[test]
fn numbers_in_a_row_are_nothing_even_around_the_circle() {
    let report = asked((0xff_fff0..=0xff_ffff).chain(0..16)).report();
    let flow = requests(&report);
    assert_eq!(classes(flow), []);
    assert_eq!((&flow["psn"]["first"], &flow["psn"]["last"]), (&json!(0xff_fff0), &json!(15)));
    assert_eq!(flow["epoch"], 0);
}

#[test]
fn an_acknowledged_hole_that_nothing_fills_was_lost_by_the_capture() {
    let mut conversation = asked((100..110).chain(112..120));
    let report = conversation.acknowledge(119).report();
    assert_eq!(classes(requests(&report)), [("gap", 2), ("uncaptured", 2)]);
}

#[test]
fn a_hole_without_a_way_back_stays_unresolved() {
    let report = asked((100..110).chain(112..120)).report();
    assert_eq!(classes(requests(&report)), [("gap", 2), ("unresolved", 2)]);
}

#[test]
fn a_lost_packet_is_sent_again_from_the_hole_on() {
    let mut conversation = asked((100..120).chain(121..125));
    conversation.skip_ids(1).answer(ACK, 120, NAK_PSN_SEQUENCE);
    for psn in 120..125 {
        conversation.ask(SEND_ONLY, psn);
    }
    let report = conversation.acknowledge(124).report();
    assert_eq!(classes(requests(&report)), [("gap", 1), ("retransmitted", 5)]);
    let answers = flows_to(&report, REQUESTER_QPN);
    assert_eq!(answers[0]["naks"]["psn_sequence_error"], 1);
    assert_eq!(answers[0]["acks"], 1);
}

#[test]
fn a_late_packet_has_an_older_identification() {
    let mut conversation = asked(100..120);
    conversation.ask_with_id(SEND_ONLY, 121, 21).ask_with_id(SEND_ONLY, 122, 22);
    conversation.ask_with_id(SEND_ONLY, 120, 20).ask_with_id(SEND_ONLY, 123, 23);
    let report = conversation.acknowledge(123).report();
    assert_eq!(classes(requests(&report)), [("gap", 1), ("out_of_order", 1)]);
}

#[test]
fn a_copy_that_overtook_its_original_has_a_newer_identification() {
    let mut conversation = asked(100..120);
    conversation.ask_with_id(SEND_ONLY, 121, 21).ask_with_id(SEND_ONLY, 120, 30);
    conversation.ask_with_id(SEND_ONLY, 120, 20);
    let report = conversation.acknowledge(121).report();
    assert_eq!(classes(requests(&report)), [("gap", 1), ("retransmitted", 2)]);
}

#[test]
fn identification_zero_throughout_proves_nothing() {
    let mut conversation = Conversation::default();
    for psn in (100..120).chain([121, 122, 120, 123]) {
        conversation.ask_with_id(SEND_ONLY, psn, 0);
    }
    let report = conversation.report();
    // Only one packet follows the highest PSN: nothing shows more than that it was late.
    assert_eq!(classes(requests(&report)), [("gap", 1), ("out_of_order", 1)]);
}

#[test]
fn a_request_from_before_the_capture_is_ambiguous() {
    let mut conversation = Conversation::default();
    for psn in [100, 101, 90, 102] {
        conversation.ask_with_id(SEND_ONLY, psn, 0);
    }
    assert_eq!(classes(requests(&conversation.report())), [("ambiguous", 1)]);
}

#[test]
fn on_uc_a_hole_is_loss() {
    let mut conversation = Conversation::default();
    for psn in [100, 101, 104] {
        conversation.ask(UC_SEND_ONLY, psn);
    }
    let report = conversation.report();
    let flow = requests(&report);
    assert_eq!(flow["transport"], "UC");
    assert_eq!(flow["psn"]["gap_packets"], 2);
}

#[test]
fn a_read_takes_a_number_for_every_packet_of_its_response() {
    let mut conversation = asked(100..105);
    // Three full packets answer it.
    let read = Roce {
        dest_qpn: RESPONDER_QPN,
        psn: 105,
        dma_len: 3 * PAYLOAD_BYTES as u32,
        ..Roce::new(READ_REQUEST, 0)
    };
    conversation.ask_packet(&read);
    conversation
        .answer(READ_RESPONSE_FIRST, 105, 0x1f)
        .answer(READ_RESPONSE_MIDDLE, 106, 0x1f)
        .answer(READ_RESPONSE_LAST, 107, 0x1f);
    for psn in 108..112 {
        conversation.ask(SEND_ONLY, psn);
    }
    let report = conversation.acknowledge(111).report();
    let flow = requests(&report);
    assert_eq!(classes(flow), []);
    assert_eq!(flow["messages"]["read"], 1);
    assert_eq!(classes(flows_to(&report, REQUESTER_QPN)[0]), []);
}

#[test]
fn both_directions_of_a_queue_pair_have_spaces_of_their_own() {
    let mut conversation = Conversation::default();
    for psn in 0..20 {
        conversation.ask(SEND_ONLY, 100 + psn).acknowledge(100 + psn);
        conversation.answer(SEND_ONLY, 7_000_000 + psn, 0);
    }
    let report = conversation.report();
    assert_eq!(classes(requests(&report)), []);
    let answers = flows_to(&report, REQUESTER_QPN)[0];
    assert_eq!(classes(answers), []);
    assert_eq!(answers["psn"]["first"], 7_000_000);
    assert_eq!(answers["acks"], 20);
}

#[test]
fn a_reused_queue_pair_begins_another_epoch_at_psn_zero() {
    let report = asked((5_000_000..5_000_010).chain(0..10)).report();
    let flows = flows_to(&report, RESPONDER_QPN);
    let epochs: Vec<_> = flows.iter().map(|flow| (&flow["epoch"], &flow["frames"])).collect();
    assert_eq!(epochs, [(&json!(0), &json!(10)), (&json!(1), &json!(10))]);
    assert!(flows.iter().all(|flow| classes(flow).is_empty()));
}

#[test]
fn the_first_packet_of_all_may_be_overtaken_and_then_sent_again() {
    let mut conversation = Conversation::default();
    let first = Roce {
        dest_qpn: RESPONDER_QPN,
        virtual_address: 0x7000,
        remote_key: 9,
        ..Roce::new(WRITE_FIRST, PAYLOAD_BYTES)
    };
    // The responder refuses PSN 1, takes the late PSN 0, and gets both again.
    conversation.ask(WRITE_MIDDLE, 1).answer(ACK, 0, NAK_PSN_SEQUENCE);
    conversation.ask_packet(&first).answer(ACK, 1, NAK_PSN_SEQUENCE);
    conversation.ask_packet(&first).ask(WRITE_MIDDLE, 1).ask(WRITE_MIDDLE, 2).acknowledge(2);
    let report = conversation.report();
    let flows = flows_to(&report, RESPONDER_QPN);
    let epochs: Vec<_> = flows.iter().map(|flow| (&flow["epoch"], &flow["frames"])).collect();
    assert_eq!(epochs, [(&json!(0), &json!(5))]);
}

#[test]
fn a_packet_that_the_tap_saw_twice_counts_once() {
    let mut conversation = asked(100..105);
    let report = conversation.again_after(1_000).ask(SEND_ONLY, 105).report();
    let flow = requests(&report);
    assert_eq!(classes(flow), []);
    assert_eq!(flow["frames"], 6);
    assert_eq!(report["taps"][0]["tap_duplicates"], 1);
    assert_eq!(report["capture"]["frames"], 7);
}

#[test]
fn a_cnp_has_no_place_among_the_numbers() {
    let mut conversation = asked(100..105);
    conversation.answer(0x81, 0, 0).answer(0x81, 0, 0);
    let report = conversation.ask(SEND_ONLY, 105).acknowledge(105).report();
    assert_eq!(classes(requests(&report)), []);
    let back = flows_to(&report, REQUESTER_QPN)[0];
    assert_eq!((&back["cnps"], &back["acks"]), (&json!(2), &json!(1)));
    assert_eq!(back["psn"]["first"], 105);
}

#[test]
fn marks_on_a_tunnel_and_on_its_packet_are_kept_apart() {
    let outer = Ipv4 { source: [192, 0, 2, 1], tos: 0b11, ..Ipv4::default() };
    let mut conversation = Conversation::default();
    for psn in 0..3 {
        let packet =
            Roce { dest_qpn: RESPONDER_QPN, psn: 100 + psn, ..Roce::new(SEND_ONLY, PAYLOAD_BYTES) };
        let ip = Ipv4 { identification: psn as u16, ..Ipv4::default() };
        let tunnel = FrameBuilder::ethernet().ipv4(&outer).udp(50_000, 4789).vxlan(7);
        let built = tunnel.inner_ethernet().ipv4(&ip).udp(49_152, 4791).roce(&packet).finish();
        conversation.add(built);
    }
    let report = conversation.report();
    let flow = requests(&report);
    assert_eq!((&flow["ecn"]["ect0"], &flow["ecn"]["ce"]), (&json!(3), &json!(0)));
    assert_eq!(flow["outer_ecn"]["ce"], 3);
}

#[test]
fn a_changed_byte_of_the_payload_makes_the_icrc_bad_and_a_router_s_change_does_not() {
    let whole = |identification| {
        let packet = Roce { dest_qpn: RESPONDER_QPN, psn: 1, ..Roce::new(SEND_ONLY, 64) };
        let ip = Ipv4 { identification, ..Ipv4::default() };
        FrameBuilder::ethernet().ipv4(&ip).udp(49_152, 4791).roce(&packet).finish()
    };
    let (mut routed, mut damaged) = (whole(2), whole(3));
    routed.bytes[14 + 8] -= 1; // time to live
    damaged.bytes[70] ^= 0x10;
    let report = Conversation::default().add(whole(1)).add(routed).add(damaged).report();
    assert_eq!(requests(&report)["icrc"], json!({"checked": 3, "bad": 1}));
}

#[test]
fn pauses_are_counted_by_station_and_priority() {
    let pause =
        |quanta| FrameBuilder::ethernet().pfc(0b1000, [0, 0, 0, quanta, 0, 0, 0, 0]).finish();
    let mut conversation = Conversation::default();
    conversation.add(pause(0xffff)).add(pause(0xffff)).add(pause(0));
    let report = conversation.report();
    assert_eq!(report["capture"]["pfc_frames"], 3);
    let pfc = &report["pfc"][0];
    assert_eq!((&pfc["station"], &pfc["priority"]), (&json!("02:00:00:00:00:0a"), &json!(3)));
    assert_eq!((&pfc["pause_frames"], &pfc["resume_frames"]), (&json!(2), &json!(1)));
    // A pcap file does not have the link speed, so a pause quantum has no duration.
    assert!(pfc["paused_ns"].is_null());
}

#[test]
fn cut_frames_are_counted_with_the_layer_that_was_cut() {
    // 14 Ethernet, 20 IPv4, 8 UDP, 12 BTH: 50 bytes end inside the BTH.
    let report = asked(100..105).report_cut(50);
    assert_eq!(report["capture"]["frames"], 5);
    assert_eq!(report["capture"]["roce_frames"], 0);
    assert_eq!(report["capture"]["truncated_frames"], 5);
    assert_eq!(report["capture"]["refused"], json!({"bth.snap": 5}));
    assert_eq!(report["flows"], json!([]));
}

#[test]
fn a_snap_length_behind_the_headers_loses_the_icrc_and_nothing_else() {
    let report = asked(100..105).report_cut(64);
    let flow = requests(&report);
    assert_eq!((&flow["frames"], &flow["icrc"]["checked"]), (&json!(5), &json!(0)));
    assert_eq!(
        (&flow["payload_bytes"], &flow["messages"]["send"]),
        (&json!(5 * PAYLOAD_BYTES), &json!(5))
    );
    assert_eq!(report["capture"]["refused"], json!({}));
}

#[test]
fn a_read_response_that_is_missing_is_counted() {
    let mut conversation = Conversation::default();
    let bytes = 4 * PAYLOAD_BYTES as u32;
    for psn in [100, 104] {
        let read =
            Roce { dest_qpn: RESPONDER_QPN, psn, dma_len: bytes, ..Roce::new(READ_REQUEST, 0) };
        conversation.ask_packet(&read);
        conversation.answer(READ_RESPONSE_FIRST, psn, 0x1f);
        if psn == 100 {
            conversation.answer(READ_RESPONSE_MIDDLE, psn + 1, 0x1f);
        }
        conversation.answer(READ_RESPONSE_MIDDLE, psn + 2, 0x1f);
        conversation.answer(READ_RESPONSE_LAST, psn + 3, 0x1f);
    }
    let report = conversation.report();
    assert_eq!(classes(requests(&report)), []);
    assert_eq!(flows_to(&report, REQUESTER_QPN)[0]["psn"]["response_gap_packets"], 1);
}

#[test]
fn an_ack_that_was_cut_before_its_syndrome_acknowledges_nothing() {
    let mut conversation = asked((100..110).chain(111..120));
    conversation.answer(ACK, 110, NAK_PSN_SEQUENCE);
    // Ethernet, IPv4, UDP and BTH: the AETH is missing.
    let report = conversation.report_cut(14 + 20 + 8 + 12);
    assert_eq!(classes(requests(&report)), [("gap", 1), ("unresolved", 1)]);
    assert_eq!(requests(&report)["ack_rtt_ns"], Value::Null);
}

#[test]
fn the_same_request_with_number_0_is_a_new_use_once_everything_was_acknowledged() {
    let write = |psn| Roce { dest_qpn: RESPONDER_QPN, psn, ..Roce::new(0x0a, PAYLOAD_BYTES) };
    let mut conversation = Conversation::default();
    for _ in 0..2 {
        for psn in 0..400 {
            conversation.ask_packet(&write(psn));
        }
        conversation.acknowledge(399);
    }
    let report = conversation.report();
    let epochs: Vec<_> =
        flows_to(&report, RESPONDER_QPN).iter().map(|flow| flow["epoch"].as_u64()).collect();
    assert_eq!(epochs, [Some(0), Some(1)]);
    assert_eq!(classes(flows_to(&report, RESPONDER_QPN)[0]), []);
}
