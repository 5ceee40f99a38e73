//! Which host a tap is next to, from round trips.

use serde_json::Value;

use crate::support::frame::{Built, FrameBuilder};
use crate::support::ip::Ipv4;
use crate::support::roce::Roce;
use crate::support::{pcap, railscope};

const FAST: [u8; 4] = [10, 0, 0, 1];
const SLOW: [u8; 4] = [10, 0, 0, 2];
/// Time from one tap to the other.
const PATH_NS: u64 = 5_000;
/// Time that each host takes to answer.
const FAST_NS: u64 = 20_000;
const SLOW_NS: u64 = 900_000;

/// Packets at a tap, with their times.
type Seen = Vec<(u64, Built)>;

/// A request that leaves `from` at `at`, and its ACK, at the tap next to `FAST` and at the one next to `SLOW`.
fn exchange(from: [u8; 4], at: u64, psn: u32, taps: &mut [Seen; 2]) {
    let (to, turnaround, own) = if from == FAST { (SLOW, SLOW_NS, 0) } else { (FAST, FAST_NS, 1) };
    let qpn = |host: [u8; 4]| if host == FAST { 0x11 } else { 0x22 };
    let request = frame(
        from,
        to,
        &Roce { dest_qpn: qpn(to), psn, ack_request: true, ..Roce::new(0x04, 256) },
    );
    let answer =
        frame(to, from, &Roce { dest_qpn: qpn(from), psn, syndrome: 0x1f, ..Roce::new(0x11, 0) });
    for (tap, seen) in taps.iter_mut().enumerate() {
        let delay = if tap == own { 0 } else { PATH_NS };
        seen.push((at + delay, request.clone()));
        seen.push((at + 2 * PATH_NS + turnaround - delay, answer.clone()));
    }
}

fn frame(source: [u8; 4], destination: [u8; 4], packet: &Roce) -> Built {
    let ip = Ipv4 { source, destination, ..Ipv4::default() };
    FrameBuilder::ethernet().ipv4(&ip).udp(49_152, 4791).roce(packet).finish()
}

fn near(taps: [Seen; 2]) -> Vec<Vec<String>> {
    let folder = tempfile::tempdir().unwrap();
    let paths = [0, 1].map(|tap| folder.path().join(format!("tap{tap}.pcap")));
    for (mut seen, path) in taps.into_iter().zip(&paths) {
        seen.sort_by_key(|(time, _)| *time);
        let mut capture = pcap::header(seen[0].1.link_type, 0xffff);
        for (time, built) in &seen {
            pcap::record(&mut capture, pcap::FIRST_NS + time, &built.bytes, built.bytes.len());
        }
        std::fs::write(path, capture).unwrap();
    }
    let report = railscope::analyze(&paths);
    let address = |host: &Value| host["address"].as_str().unwrap().to_owned();
    let hosts = |tap: &Value| tap["hosts_near"].as_array().unwrap().iter().map(address).collect();
    report["taps"].as_array().unwrap().iter().map(hosts).collect()
}

/// A host that answers late makes its peer's round trips the longer ones at both taps: each tap alone
/// would be next to the peer.
#[test]
fn two_taps_of_one_path_are_not_next_to_one_host() {
    let mut taps = [Seen::new(), Seen::new()];
    for psn in 0..40_u32 {
        let at = u64::from(psn) * 2_000_000;
        exchange(FAST, at, psn, &mut taps);
        exchange(SLOW, at + 1_000_000, 0x80_0000 + psn, &mut taps);
    }
    assert_eq!(near(taps), [["10.0.0.1"], ["10.0.0.2"]]);
}
