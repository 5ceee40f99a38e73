//! Two ends with different path MTUs: READs that are counted differently, requests of the wrong size.

use std::process::Command;

use serde_json::Value;

use super::scene::{
    ACK, Packet, READ_REQUEST, READ_RESPONSE_FIRST, READ_RESPONSE_LAST, READ_RESPONSE_MIDDLE,
    SEND_ONLY, Scene, WRITE_FIRST, found, only,
};
use crate::cli::railscope;
use crate::support::frame::FrameBuilder;
use crate::support::ip::Ipv4;
use crate::support::roce::Roce;

const MISMATCH: &str = "path_mtu_mismatch";

/// A READ of 3072 bytes at PSN 100 from host 1, and the answer of host 2 in three packets of 1024.
fn answered_read() -> Scene {
    let mut scene = Scene::default();
    scene.packet(0, Packet { payload: 0, ..Packet::new(1, 2, READ_REQUEST, 100) });
    for (opcode, psn) in
        [(READ_RESPONSE_FIRST, 100), (READ_RESPONSE_MIDDLE, 101), (READ_RESPONSE_LAST, 102)]
    {
        scene.packet(0, Packet { qpn: 0x201, ..Packet::new(2, 1, opcode, psn) });
    }
    scene
}

fn send(psn: u32) -> Packet {
    Packet { payload: 16, ..Packet::new(1, 2, SEND_ONLY, psn) }
}

/// Packets that were sent again, and timers that expired, by what the report says.
fn again(report: &Value) -> (u64, usize) {
    let pairs = report["queue_pairs"].as_array().unwrap().iter();
    let resent = pairs.map(|pair| pair["retransmitted_packets"].as_u64().unwrap_or(0)).sum();
    (resent, found(report, "timeouts").len())
}

/// The sender of the READ counted two packets, as with 2048 bytes each: its next request takes the PSN
/// of the third. It is no resend, and the silence before it no timeout.
#[test]
fn a_read_that_the_two_ends_count_differently() {
    let mut scene = answered_read();
    scene.wait(31_000_000).packet(0, send(102));
    scene.packet(0, Packet { qpn: 0x201, payload: 0, ..Packet::new(2, 1, ACK, 0xff_ffff) });
    let report = scene.report();
    assert_eq!(again(&report), (0, 0), "{}", report["findings"]);
    let finding = only(&report, MISMATCH);
    assert_eq!((&finding["severity"], &finding["grade"]), (&"critical".into(), &"proven".into()));
    let title = finding["title"].as_str().unwrap();
    assert!(title.ends_with("the sender uses 2048, the receiver 1024"), "{title}");
    assert_eq!(finding["evidence"][0]["frame"], 5, "{finding}");
    let verdict = &report["verdicts"][0];
    assert_eq!((&verdict["id"], &verdict["severity"]), (&MISMATCH.into(), &"critical".into()));
    let ends = [&verdict["subject"]["port"], &verdict["subject"]["peer_port"]];
    assert_eq!(ends, ["10.0.0.1", "10.0.0.2"]);
}

/// Both ends count three packets: what follows begins behind them, or is a resend.
#[test]
fn reads_that_both_ends_count_alike() {
    let mut scene = answered_read();
    scene.wait(31_000_000).packet(0, send(103));
    let report = scene.report();
    assert!(found(&report, MISMATCH).is_empty());
    assert_eq!(again(&report), (0, 0));
    // Sent again after a silence.
    scene.wait(31_000_000).packet(0, send(103));
    let report = scene.report();
    assert!(found(&report, MISMATCH).is_empty());
    assert_eq!(again(&report).0, 1);
    // The same PSN as in the middle of the READ, when later ones were in use: no new request.
    scene.packet(0, send(102));
    assert!(found(&scene.report(), MISMATCH).is_empty());
}

/// The third packet of the answer was lost behind the tap: the READ asks for it again.
#[test]
fn the_rest_of_a_read() {
    let mut scene = answered_read();
    let ip = Ipv4 { source: [10, 0, 0, 1], destination: [10, 0, 0, 2], ..Ipv4::default() };
    let first = Roce::new(READ_REQUEST, 0);
    let rest = Roce {
        dest_qpn: 0x102,
        psn: 102,
        virtual_address: first.virtual_address + 2048,
        dma_len: 1024,
        ..first
    };
    let frame = FrameBuilder::ethernet().ipv4(&ip).udp(50_000, 4791).roce(&rest).finish();
    scene.wait(31_000_000).frame(0, frame);
    assert!(found(&scene.report(), MISMATCH).is_empty());
}

/// Full packets of 4096 bytes one way and of 1024 bytes the other, on one queue pair.
#[test]
fn directions_with_packets_of_different_size() {
    let report_with = |back: usize| {
        let mut scene = Scene::default();
        scene.messages(0, Packet { payload: 4096, ..Packet::new(1, 2, WRITE_FIRST, 0) }, 4);
        let packet = Packet { payload: back, qpn: 0x201, ..Packet::new(2, 1, WRITE_FIRST, 0) };
        for at in 0..4 {
            let like = Packet { psn: 3 * at, ..packet };
            for (opcode, psn) in [(0x06, 0), (0x07, 1), (0x08, 2)] {
                scene.packet(0, Packet { opcode, psn: like.psn + psn, ..like });
            }
            let ack = Packet { qpn: 0x102, ..Packet::new(1, 2, ACK, like.psn + 2) };
            scene.packet(0, ack);
        }
        scene.report()
    };
    let report = report_with(1024);
    let finding = only(&report, MISMATCH);
    assert_eq!(finding["severity"], "warning", "{finding}");
    let title = finding["title"].as_str().unwrap();
    assert!(title.contains("uses 4096") && title.contains("1024"), "{title}");
    assert!(found(&report_with(4096), MISMATCH).is_empty());
}

/// Rank 2 of the driver cuts and expects packets of 1024 bytes, though 4096 were agreed on: rank 0
/// rejects what it sends. Late receive buffers let rank 0 send first, and rank 2 before it rejects what
/// it gets. The job may stop before both channels of rank 2 have sent.
#[test]
fn a_rank_that_uses_another_path_mtu() {
    let folder = tempfile::tempdir().unwrap();
    let record = folder.path().join("job");
    let record = record.to_str().unwrap();
    let drive = ["drive", "--ranks", "3", "--mtu", "4096", "--iterations", "4", "--compute", "2ms"];
    let late = ["rank=0,delay=300ms", "rank=2,delay=900ms"];
    let late = late.into_iter().flat_map(|late| ["--late-receiver", late]);
    let rest = ["--buckets", "512KiB", "--path-mtu", "rank=2,bytes=1024", "--record", record];
    let mut command = Command::new(env!("CARGO_BIN_EXE_railscope"));
    let output = command.args(drive.into_iter().chain(late).chain(rest)).output().unwrap();
    assert!(!output.status.success(), "the job cannot go on");
    let captures: Vec<String> = (0..3).map(|rank| format!("{record}/rank{rank}.pcap")).collect();
    let mut arguments = vec!["analyze", "--format", "json"];
    arguments.extend(captures.iter().map(String::as_str));
    let report: Value = serde_json::from_str(&railscope(arguments).succeeds()).unwrap();
    let finding = only(&report, MISMATCH);
    assert_eq!(
        (&finding["severity"], &finding["subject"]["rank"]),
        (&"critical".into(), &2.into())
    );
    let title = finding["title"].as_str().unwrap();
    let one = "(ranks 2 → 0): the sender uses 1024, the receiver 4096";
    assert!(title.ends_with("it uses 1024, its peers 4096") || title.ends_with(one), "{title}");
    assert_eq!(report["verdicts"][0]["id"], MISMATCH, "{}", report["verdicts"]);
}
