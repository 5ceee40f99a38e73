//! Findings on queue pairs: loss, refusals, keys.

use super::scene::{
    ACK, ECT, Packet, REMOTE_ACCESS_ERROR, Scene, WRITE_FIRST, WRITE_LAST, WRITE_MIDDLE, bad,
    found, only,
};
use crate::support::fixture;
use crate::support::railscope::analyze;

fn of_fixture(name: &str) -> serde_json::Value {
    analyze(&[fixture::path(name)])
}

#[test]
fn loss_with_naks() {
    let report = of_fixture("loss1_send_bw_post.pcap.gz");
    let finding = only(&report, "loss");
    assert_eq!((&finding["severity"], &finding["cause"]), (&"warning".into(), &"loss".into()));
    assert_eq!(finding["grade"], "proven");
    assert!(finding["evidence"][0]["text"].as_str().unwrap().contains("71 NAKs"), "{finding}");
    assert!(finding["evidence"][0]["frame"].is_u64(), "{finding}");
    assert!(
        found(&report, "timeouts").is_empty() && found(&report, "receiver_not_ready").is_empty()
    );
}

#[test]
fn reordering_that_makes_senders_go_back() {
    let report = of_fixture("reorder_write_bw_post.pcap.gz");
    assert_eq!(only(&report, "reordering")["severity"], "warning");
    // Some retransmissions overtook their originals, which looks the same as loss.
    assert_eq!(only(&report, "loss")["cause"], "loss_or_reordering");
}

#[test]
fn the_frame_of_reordering_is_that_of_a_late_packet() {
    let mut scene = Scene::default();
    let like = Packet::new(1, 2, WRITE_FIRST, 0);
    scene.message(0, like);
    for (opcode, psn) in [(WRITE_FIRST, 3), (WRITE_LAST, 5), (WRITE_MIDDLE, 4)] {
        scene.packet(0, Packet { opcode, psn, ..like });
    }
    scene.messages(0, Packet { psn: 6, ..like }, 2);
    let report = scene.report();
    assert_eq!(only(&report, "reordering")["evidence"][0]["frame"], 7);
}

#[test]
fn a_receiver_that_is_not_ready() {
    let report = of_fixture("rnr_send_bw.pcap.gz");
    let finding = only(&report, "receiver_not_ready");
    assert!(finding["title"].as_str().unwrap().contains("201 RNR NAKs"), "{finding}");
    assert_eq!(bad(&report).len(), 1, "{:?}", bad(&report));
}

#[test]
fn a_key_that_opens_nothing() {
    let report = of_fixture("ring4_allreduce_pA.pcap.gz");
    let finding = only(&report, "remote_access_error");
    assert_eq!(finding["severity"], "critical");
    assert_eq!(finding["cause"], "remote_access_error");
    assert_eq!(bad(&report).len(), 1, "{:?}", bad(&report));

    let mut scene = Scene::default();
    scene.messages(0, Packet::new(1, 2, WRITE_FIRST, 0), 4);
    scene.packet(0, Packet { syndrome: 0x61, qpn: 0x201, ..Packet::new(2, 1, ACK, 11) });
    let report = scene.report();
    assert_eq!(only(&report, "remote_access_error")["cause"], "invalid_request");
    scene.packet(
        0,
        Packet { syndrome: REMOTE_ACCESS_ERROR, qpn: 0x201, ..Packet::new(2, 1, ACK, 11) },
    );
    assert_eq!(only(&scene.report(), "remote_access_error")["evidence"][0]["frame"], 17);
}

#[test]
fn a_port_with_a_partition_key_of_its_own() {
    let mut scene = Scene::default();
    scene.messages(0, Packet::new(1, 2, WRITE_FIRST, 0), 8);
    assert_eq!(bad(&scene.report()), [""; 0]);
    // The same receiver, another key: no answer.
    for psn in 0..6 {
        let opcode = [WRITE_FIRST, WRITE_MIDDLE, WRITE_LAST][psn as usize % 3];
        let packet = Packet::new(3, 2, opcode, psn);
        scene.packet(0, Packet { partition_key: 0x8001, qpn: 0x302, ..packet });
    }
    let report = scene.report();
    let finding = only(&report, "partition_key_mismatch");
    assert_eq!(finding["severity"], "critical");
    assert!(
        finding["title"].as_str().unwrap().contains("0x8001 sent, the receiver uses 0xffff"),
        "{finding}"
    );
    // Two limited members do not hear each other either.
    let mut scene = Scene::default();
    scene.messages(0, Packet { partition_key: 0x7fff, ..Packet::new(1, 2, WRITE_FIRST, 0) }, 8);
    only(&scene.report(), "partition_key_mismatch");
}

#[test]
fn an_icrc_that_does_not_fit() {
    let mut scene = Scene::default();
    scene.messages(0, Packet::new(1, 2, WRITE_FIRST, 0), 4);
    assert!(found(&scene.report(), "bad_icrc").is_empty());
    let roce = crate::support::roce::Roce::new(WRITE_MIDDLE, 64);
    let ip = crate::support::ip::Ipv4 { tos: ECT, ..Default::default() };
    let built = crate::support::frame::FrameBuilder::ethernet().ipv4(&ip).udp(50_000, 4791);
    let mut built = built.roce(&roce).finish();
    let last = built.bytes.len() - 1;
    built.bytes[last] ^= 0xff;
    scene.frame(0, built);
    assert_eq!(only(&scene.report(), "bad_icrc")["severity"], "info");
}

#[test]
fn packets_of_different_size() {
    let mut scene = Scene::default();
    scene.messages(0, Packet { payload: 4096, ..Packet::new(1, 2, WRITE_FIRST, 0) }, 8);
    scene.messages(0, Packet { payload: 4096, ..Packet::new(2, 3, WRITE_FIRST, 0) }, 8);
    assert!(found(&scene.report(), "path_mtu").is_empty());
    scene.messages(0, Packet { payload: 1024, ..Packet::new(3, 1, WRITE_FIRST, 0) }, 8);
    let report = scene.report();
    let finding = only(&report, "path_mtu");
    assert_eq!(
        (&finding["severity"], &finding["cause"]),
        (&"warning".into(), &"flows_differ".into())
    );
    assert_eq!(finding["subject"]["port"], "10.0.0.1");
    // A small MTU everywhere is information; on a fast port it costs throughput.
    let mut scene = Scene::default();
    scene.messages(0, Packet::new(1, 2, WRITE_FIRST, 0), 8);
    assert_eq!(only(&scene.report(), "path_mtu")["severity"], "info");
    let fast = scene.report_with(&["--line-rate", "400G"]);
    assert_eq!(only(&fast, "path_mtu")["severity"], "warning");
}
