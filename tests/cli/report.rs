//! The text of built captures.

use super::{railscope, text, write};
use crate::support::frame::{Built, FrameBuilder};
use crate::support::ip::{Ipv4, Ipv6};
use crate::support::pcap;
use crate::support::roce::Roce;

const WRITE_ONLY: u8 = 0x0a;
const READ_REQUEST: u8 = 0x0c;
const READ_RESPONSE_ONLY: u8 = 0x10;
const ACKNOWLEDGE: u8 = 0x11;

const CE: u8 = 0b11;

fn shown(frames: &[Built]) -> String {
    let directory = tempfile::tempdir().unwrap();
    let path = write(&directory, "built.pcap", &pcap::capture(frames));
    let text = railscope(["analyze", text(&path)]).succeeds();
    for line in text.lines() {
        assert!(line.chars().count() <= 100, "{line}");
    }
    text
}

fn packet(source: [u8; 4], destination: [u8; 4], packet: &Roce) -> Built {
    let ip = Ipv4 { source, destination, ..Ipv4::default() };
    FrameBuilder::ethernet().ipv4(&ip).udp(49_152, 4791).roce(packet).finish()
}

#[test]
fn naks_alone_are_seen_where_only_one_direction_was_captured() {
    let (requester, responder) = ([10, 0, 0, 1], [10, 0, 0, 2]);
    // Syndrome 0x60: NAK, PSN sequence error; 0x62: NAK, remote access error.
    let answers: Vec<Built> = [(1, 0x1f), (2, 0x60), (3, 0x62)]
        .into_iter()
        .map(|(psn, syndrome)| {
            let ack = Roce { dest_qpn: 0x11, psn, syndrome, ..Roce::new(ACKNOWLEDGE, 0) };
            packet(responder, requester, &ack)
        })
        .collect();
    let text = shown(&answers);
    assert!(
        text.contains(
            "request rejected on 10.0.0.2 → 10.0.0.1 QP 0x11: 1 NAK, remote access error"
        ),
        "{text}"
    );
    assert!(text.contains("0 flows with data"), "{text}");
    assert!(text.contains("1 flow captured in one direction only"), "{text}");
    let row = text.lines().find(|line| line.starts_with("10.0.0.2 → 10.0.0.1")).unwrap();
    assert!(row.contains("ACK") && row.ends_with('2'), "{row}");
}

#[test]
fn read_responses_belong_to_the_read() {
    let (requester, responder) = ([10, 0, 0, 1], [10, 0, 0, 2]);
    let mut frames = Vec::new();
    for psn in 0..20 {
        let dma_len = 512;
        let request =
            Roce { dest_qpn: 0x22, psn, dma_len, ack_request: true, ..Roce::new(READ_REQUEST, 0) };
        frames.push(packet(requester, responder, &request));
        let response =
            Roce { dest_qpn: 0x11, psn, syndrome: 0x1f, ..Roce::new(READ_RESPONSE_ONLY, 512) };
        let ip = Ipv4 { source: responder, destination: requester, tos: CE, ..Ipv4::default() };
        frames.push(FrameBuilder::ethernet().ipv4(&ip).udp(49_152, 4791).roce(&response).finish());
    }
    let text = shown(&frames);
    assert!(text.contains("1 flow with data"), "{text}");
    assert!(text.contains(": 20 packets CE-marked"), "{text}");
    let row = text.lines().find(|line| line.starts_with("10.0.0.1 → 10.0.0.2")).unwrap();
    assert!(row.contains("20 READ") && row.contains("10.0 KiB") && row.ends_with("100 %"), "{row}");
}

#[test]
fn resends_alone_say_how_many() {
    let write =
        |psn| packet([10, 0, 0, 1], [10, 0, 0, 2], &Roce { psn, ..Roce::new(WRITE_ONLY, 64) });
    let again = Ipv4 {
        source: [10, 0, 0, 1],
        destination: [10, 0, 0, 2],
        identification: 0x1300,
        ..Ipv4::default()
    };
    let resent = FrameBuilder::ethernet()
        .ipv4(&again)
        .udp(49_152, 4791)
        .roce(&Roce { psn: 1, ..Roce::new(WRITE_ONLY, 64) })
        .finish();
    let text = shown(&[write(0), write(1), write(2), resent]);
    let title = "retransmissions on 10.0.0.1 → 10.0.0.2 QP 0x10203: 1 packet (25.0 %), no gap";
    assert!(text.contains(title), "{text}");
}

#[test]
fn long_addresses_fit_the_line() {
    let ip = Ipv6 { source: [0xfd; 16], destination: [0xfe; 16], ..Ipv6::default() };
    let frames: Vec<Built> = [0, 1, 2, 9]
        .into_iter()
        .map(|psn| {
            let write = Roce { psn, ..Roce::new(WRITE_ONLY, 64) };
            FrameBuilder::ethernet().ipv6(&ip).udp(49_152, 4791).roce(&write).finish()
        })
        .collect();
    let text = shown(&frames);
    assert!(text.contains(": 6 packets missing, none retransmitted"), "{text}");
    assert!(text.contains("\n→ fefe:fefe:"), "{text}");
}

#[test]
fn a_capture_without_rdma_says_where_to_look() {
    let frame = FrameBuilder::ethernet().ipv4(&Ipv4::default()).udp(1, 53).finish();
    let text = shown(&[frame]);
    assert!(text.contains("\n1 other\n"), "{text}");
    assert!(text.contains("● No RoCEv2 in this capture."), "{text}");
    assert!(text.contains("Capture on a mirror\n  port, or"), "{text}");
    assert!(!text.contains("No problem found"), "{text}");
    let empty = shown(&[]);
    assert!(empty.starts_with("● No frames in this capture.\n\n"), "{empty}");
}

#[test]
fn the_sickest_flow_is_first() {
    let flow = |host: u8, psns: &[u32]| -> Vec<Built> {
        let write = |psn: &u32| Roce { psn: *psn, ..Roce::new(WRITE_ONLY, 64) };
        psns.iter().map(|psn| packet([10, 0, 0, host], [10, 0, 0, 100], &write(psn))).collect()
    };
    let frames =
        [flow(1, &[0, 1, 2, 3, 4, 5, 6]), flow(2, &[0, 5]), flow(3, &[0, 9]), flow(4, &[0, 1])];
    let text = shown(&frames.concat());
    let rows = text.lines().filter(|line| line.contains(" → 10.0.0.100  "));
    let order: Vec<&str> = rows.map(|row| row.split(' ').next().unwrap()).collect();
    assert_eq!(order, ["10.0.0.3", "10.0.0.2", "10.0.0.1", "10.0.0.4"], "{text}");
}
