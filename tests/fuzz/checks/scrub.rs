//! What is scrubbed: the first byte says where a secret is planted and what the rest is, a frame, TCP of NCCL,
//! or text. Lengths stay, the same input gives the same output, and the secret is gone.

use std::net::{Ipv4Addr, SocketAddr};

use railscope::scrub::frame::rewrite;
use railscope::scrub::key::Key;
use railscope::scrub::lines;
use railscope::scrub::pseudonym::Pseudonyms;
use railscope::scrub::stream::{Kind, Known, Streams};
use railscope::scrub::text::{Unknown, words};
use railscope_core::decode::frame::decode_with;
use railscope_core::decode::packet::{Body, Ports, TcpFlags, TcpSegment};
use railscope_core::model::frame::Frame;
use railscope_core::model::tap::{LinkType, TapId};
use railscope_core::model::time::Timestamp;

/// A name that is in no list.
const NAME: &str = "zebra-planted-7";

/// The GUID of a NIC, as NCCL wrote it until 2.21.
const GUID: &str = "b8599f0003a0c2b4";

/// Longer than all fields together that stay in a header.
const SECRET: &[u8; 64] = b"0zebra-planted-secret-of-sixty-four-bytes-that-no-header-holds-1";

const LINK_TYPES: [LinkType; 4] =
    [LinkType::Ethernet, LinkType::LinuxCookedV1, LinkType::LinuxCookedV2, LinkType::RawIp];

/// Panics if an invariant does not hold.
pub fn check(data: &[u8]) {
    let Some((&first, bytes)) = data.split_first() else { return };
    let (place, link) = (usize::from(first >> 2) * 2, LINK_TYPES[usize::from(first & 3)]);
    check_frame(bytes, link, place);
    check_text(&String::from_utf8_lossy(bytes), place);
    for kind in [Kind::Requests, Kind::Replies, Kind::Nccl, Kind::Exchange, Kind::Socket] {
        check_stream(bytes, place, kind);
    }
}

fn pseudonyms() -> Pseudonyms {
    Pseudonyms::new(Key::new([7; 32]))
}

fn holds(bytes: &[u8], secret: &[u8]) -> bool {
    bytes.windows(secret.len()).any(|window| window == secret)
}

/// `bytes` with a secret in them.
fn planted(bytes: &[u8], place: usize, secret: &[u8]) -> Vec<u8> {
    let (before, behind) = bytes.split_at(place.min(bytes.len()));
    [before, secret, behind].concat()
}

fn check_frame(bytes: &[u8], link_type: LinkType, place: usize) {
    for bytes in [bytes.to_vec(), planted(bytes, place, SECRET)] {
        let (tap, time, wire_len) = (TapId(0), Timestamp::EPOCH, bytes.len() as u32);
        let bytes = &bytes[..];
        let frame = Frame { tap, number: 1, time, wire_len, bytes, link_type, direction: None };
        let scrubbed = || {
            let (mut pseudonyms, mut streams, mut out) =
                (pseudonyms(), Streams::default(), Vec::new());
            decode_with(&frame, |packet| {
                let Some((ip, Body::Tcp(segment))) = packet.ip.zip(Some(&packet.body)) else {
                    return;
                };
                let from = SocketAddr::new(ip.source, segment.ports.source);
                let to = SocketAddr::new(ip.destination, segment.ports.destination);
                streams.observe((tap, from, to), segment);
            });
            streams.scrub(|_| None, &Known::default(), &mut pseudonyms);
            rewrite(&frame, &mut pseudonyms, &mut streams, &mut out);
            out
        };
        let out = scrubbed();
        assert_eq!(out.len(), bytes.len());
        assert_eq!(out, scrubbed());
        assert!(!holds(&out, SECRET), "{out:02x?}");
    }
}

fn check_text(line: &str, place: usize) {
    let mut at = place.min(line.len());
    while !line.is_char_boundary(at) {
        at -= 1;
    }
    let (before, behind) = line.split_at(at);
    let with = [before, " ", NAME, " ", behind].concat();
    let mut pseudonyms = pseudonyms();
    let kept = |out: Option<String>| {
        let out = out.unwrap_or_default();
        assert!(!out.contains(NAME), "{out}");
    };
    kept(Some(words(&with, Unknown::Name, &mut pseudonyms)));
    kept(Some(words(&with, Unknown::Blank, &mut pseudonyms)));
    for line in [with.as_str(), line] {
        // Beside other letters it is another word, which is not known either.
        let line = line.replace(' ', NAME);
        kept(lines::of_log(line.as_bytes(), &mut pseudonyms));
    }
    let nic = [before, " NET/0 (", GUID, "/1/1.25) ", behind].concat();
    let nic = words(&nic, Unknown::Blank, &mut pseudonyms);
    assert!(line.contains(GUID) || !nic.contains(GUID), "{nic}");
    kept(lines::of_log(with.as_bytes(), &mut pseudonyms));
    kept(lines::of_training(with.as_bytes()));
    kept(lines::Counters::default().line(with.as_bytes(), &mut pseudonyms));
}

fn segment(sequence: u32, flags: TcpFlags, payload: &[u8]) -> TcpSegment<'_> {
    TcpSegment {
        ports: Ports { source: 9, destination: 8 },
        sequence,
        acknowledgment: 0,
        flags,
        window: 0,
        payload,
        payload_len: payload.len() as u32,
    }
}

fn check_stream(bytes: &[u8], place: usize, kind: Kind) {
    let payload = planted(bytes, place, NAME.as_bytes());
    let tap = TapId(0);
    let [from, to] = [9, 8].map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    let (mut pseudonyms, mut streams) = (pseudonyms(), Streams::default());
    streams.observe((tap, from, to), &segment(6, TcpFlags::SYN, &[]));
    streams.observe((tap, from, to), &segment(7, TcpFlags::ACK, &payload));
    streams.scrub(|_| Some(kind), &Known::default(), &mut pseudonyms);
    let mut out = payload.clone();
    streams.replace((tap, from, to), 7, false, &mut out);
    assert_eq!(out.len(), payload.len());
    assert!(!holds(&out, NAME.as_bytes()), "{kind:?}: {out:?}");
}
