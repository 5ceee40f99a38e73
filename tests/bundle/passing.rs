//! Which bytes of a frame pass through `scrub` unchanged: a bit is turned before, and it is looked for afterwards.
//! Headers that only look like headers must not pass, and nothing may pass in a sum of it.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddr};

use railscope::scrub::frame::rewrite;
use railscope::scrub::key::Key;
use railscope::scrub::pseudonym::Pseudonyms;
use railscope::scrub::stream::{Kind, Known, Streams};
use railscope_core::decode::packet::{Ports, TcpFlags, TcpSegment};
use railscope_core::model::frame::Frame;
use railscope_core::model::tap::{LinkType, TapId};
use railscope_core::model::time::Timestamp;

const MAC: [u8; 12] = [0x4c, 0xb3, 0x11, 0x4d, 0x5e, 0x6f, 0x6c, 0x79, 0x81, 0x92, 0xa3, 0xb4];

fn scrubbed(link_type: LinkType, bytes: &[u8]) -> Vec<u8> {
    let (mut pseudonyms, mut out) = (Pseudonyms::new(Key::new([11; 32])), Vec::new());
    let wire_len = bytes.len() as u32;
    let (tap, time) = (TapId(0), Timestamp::EPOCH);
    let frame = Frame { tap, number: 1, time, wire_len, bytes, link_type, direction: None };
    rewrite(&frame, &mut pseudonyms, &mut Streams::default(), &mut out);
    assert_eq!(out.len(), bytes.len());
    out
}

/// Bytes of which a bit passes: turned before, it is turned afterwards, and nothing else but sums is.
fn passing(link_type: LinkType, bytes: &[u8]) -> BTreeSet<usize> {
    let before = scrubbed(link_type, bytes);
    let passes = |at: usize, bit: u8| {
        let mut other = bytes.to_vec();
        other[at] ^= bit;
        scrubbed(link_type, &other)[at] ^ before[at] == bit
    };
    // A byte that becomes another keeps a bit by chance, but not all that it has.
    (0..bytes.len()).filter(|at| (0..8).all(|bit| passes(*at, 1 << bit))).collect()
}

/// IPv4 from 10.1.2.3 to 10.4.5.6, with a checksum that is right.
fn ipv4(protocol: u8, payload: &[u8]) -> Vec<u8> {
    let [high, low] = (20 + payload.len() as u16).to_be_bytes();
    let mut header =
        vec![0x45, 0, high, low, 0, 1, 0, 0, 64, protocol, 0, 0, 10, 1, 2, 3, 10, 4, 5, 6];
    let sum: u32 =
        header.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
    let sum = !(((sum & 0xffff) + (sum >> 16)) as u16);
    header[10..12].copy_from_slice(&sum.to_be_bytes());
    [&header[..], payload].concat()
}

fn udp(port: u16, payload: &[u8]) -> Vec<u8> {
    let len = (8 + payload.len() as u16).to_be_bytes();
    [&[0xc0, 0][..], &port.to_be_bytes(), &len, &[0; 2], payload].concat()
}

fn ethernet(kind: u16, payload: &[u8]) -> Vec<u8> {
    [&MAC[..], &kind.to_be_bytes(), payload].concat()
}

/// A SEND without payload, in IPv4 in Ethernet.
pub(super) fn send() -> Vec<u8> {
    let bth = [0x04, 0x40, 0xff, 0xff, 0, 0, 0, 9, 0, 0, 0, 1, 0, 0, 0, 0];
    ethernet(0x0800, &ipv4(17, &udp(4791, &bth)))
}

/// Nothing is left of the IP addresses, nor two bytes of the MAC addresses together.
fn is_hidden(bytes: &[u8], what: &str) {
    for part in MAC.windows(2).chain([&[1, 2, 3][..], &[4, 5, 6]]) {
        assert!(
            !bytes.windows(part.len()).any(|it| it == part),
            "{what}: {part:02x?} in {bytes:02x?}"
        );
    }
}

#[test]
fn tunnels_keep_only_what_is_read() {
    let key = [0, 0, 0, 7];
    let erspan_2 = [0x10, 0x99, 0x0c, 0x55, 0x12, 0x34, 0x56, 0x78];
    let erspan_3 = [0x20, 0x99, 0x0c, 0x55, 1, 2, 3, 4, 0x77, 0x88, 0x02, 0xf7];
    let platform = *b"platform";
    for (what, header) in [
        ("GRE", [&[0xb0, 0, 0x65, 0x58, 0xab, 0xcd, 0, 0][..], &key, &[0, 0, 0, 1]].concat()),
        ("ERSPAN I", vec![0, 0, 0x88, 0xbe]),
        ("ERSPAN II", [&[0x10, 0, 0x88, 0xbe, 0, 0, 0, 1][..], &erspan_2].concat()),
        ("ERSPAN III", [&[0x10, 0, 0x22, 0xeb, 0, 0, 0, 1][..], &erspan_3, &platform].concat()),
        // Some switches write the type of the other.
        ("III as II", [&[0x10, 0, 0x88, 0xbe, 0, 0, 0, 1][..], &erspan_3, &platform].concat()),
        ("SONiC", [&[0, 0, 0x89, 0x49][..], &[0x5a; 22]].concat()),
        ("MPLS in GRE", vec![0, 0, 0x88, 0x47, 0, 0, 0x11, 64]),
    ] {
        let bytes = ethernet(0x0800, &ipv4(47, &[&header[..], &send()].concat()));
        let out = scrubbed(LinkType::Ethernet, &bytes);
        is_hidden(&out, what);
        let inner = bytes.len() - send().len();
        // The BTH within is read: its queue pair and PSN.
        assert_eq!(out[inner + 42..inner + 54], bytes[inner + 42..inner + 54], "{what}");
        let kept: BTreeSet<usize> = passing(LinkType::Ethernet, &bytes);
        let kept: Vec<usize> = kept.range(34..inner).map(|at| at - 34).collect();
        let expected: &[usize] = match what {
            // Key and sequence number.
            "GRE" => &[8, 9, 10, 11, 12, 13, 14, 15],
            // Sequence number, and the lower bits of the session.
            "ERSPAN II" | "ERSPAN III" | "III as II" => &[4, 5, 6, 7, 11],
            "MPLS in GRE" => &[4, 5, 6, 7],
            _ => &[],
        };
        assert!(expected.iter().all(|at| kept.contains(at)), "{what}: {kept:?}");
        let more = kept.iter().filter(|at| **at >= 4 && !expected.contains(at));
        assert_eq!(more.count(), 0, "{what}: {kept:?}");
    }
}

#[test]
fn what_only_looks_like_a_header_is_zero() {
    let text = b"acme's own protocol: names, names, names and again names of acme".as_slice();
    for (what, bytes) in [
        (
            "MPLS, then Ethernet of another kind",
            [&[0, 0, 0x11, 64][..], &ethernet(0x88cc, text)].concat(),
        ),
        ("MPLS, then text", [&[0, 0, 0x11, 64][..], text].concat()),
    ] {
        let out = scrubbed(LinkType::Ethernet, &ethernet(0x8847, &bytes));
        is_hidden(&out, what);
        assert!(out[18..].iter().all(|byte| *byte == 0), "{what}: {out:02x?}");
    }
    for (what, payload) in [
        ("VXLAN", udp(4789, &[&[8, 0, 0, 0, 0, 0, 1, 0][..], text].concat())),
        ("Geneve", udp(6081, &[&[0, 0, 0x65, 0x58, 0, 0, 1, 0][..], text].concat())),
    ] {
        let out = scrubbed(LinkType::Ethernet, &ethernet(0x0800, &ipv4(17, &payload)));
        assert!(out[50..].iter().all(|byte| *byte == 0), "{what}: {out:02x?}");
    }
    for (what, header) in [
        ("routes", &[0x40, 0, 8, 0][..]),
        ("PPTP", &[0x30, 1, 0x65, 0x58]),
        ("gretap", &[0, 0, 0x65, 0x58]),
        ("IP", &[0, 0, 8, 0]),
        ("ERSPAN", &[0, 0, 0x22, 0xeb]),
    ] {
        let bytes = ethernet(0x0800, &ipv4(47, &[header, text].concat()));
        let out = scrubbed(LinkType::Ethernet, &bytes);
        assert!(out[38..].iter().all(|byte| *byte == 0), "{what}: {out:02x?}");
    }
    let out = scrubbed(LinkType::Ethernet, &ethernet(0x0800, text));
    assert!(out[14..].iter().all(|byte| *byte == 0), "{out:02x?}");
}

#[test]
fn reserved_bits_do_not_pass() {
    let kept = |bytes: &[u8]| passing(LinkType::Ethernet, bytes);
    // A datagram: reserved are bytes 4 and 8 of the BTH, and byte 4 of the DETH.
    let deth = [0, 0, 0, 1, 0x5a, 0, 0, 7];
    let bth = [0x64, 0x40, 0xff, 0xff, 0, 0, 0, 9, 0, 0, 0, 1];
    let packet = ethernet(0x0800, &ipv4(17, &udp(4791, &[&bth[..], &deth, &[0; 4]].concat())));
    let passed = kept(&packet);
    assert!([46, 50, 58].iter().all(|at| !passed.contains(at)), "{passed:?}");
    assert!([49, 53, 57, 61].iter().all(|at| passed.contains(at)), "{passed:?}");
    assert_eq!(scrubbed(LinkType::Ethernet, &packet)[58], 0);
    // TCP: the urgent pointer.
    let tcp = [0x9c, 0x40, 0, 80, 0, 0, 0, 1, 0, 0, 0, 2, 0x50, 0x10, 1, 0, 0, 0, b'a', b'c'];
    let out = scrubbed(LinkType::Ethernet, &ethernet(0x0800, &ipv4(6, &tcp)));
    assert_eq!((&out[34..50], &out[52..54]), (&tcp[..16], &[0, 0][..]));
}

#[test]
fn lids_are_addresses() {
    let bth = [0x04, 0x40, 0xff, 0xff, 0, 0, 0, 9, 0, 0, 0, 1, 0, 0, 0, 0];
    let route = [0, 0x02, 0x01, 0x35, 0, 6, 0x02, 0x46];
    let packet = [&route[..], &bth, &[0; 2]].concat();
    let out = scrubbed(LinkType::InfiniBand, &packet);
    assert!(out[2..4] != packet[2..4] && out[6..8] != packet[6..8], "{out:02x?}");
    assert_eq!(out[8..20], packet[8..20]);
    // The report calls LID 0x135 so; logs have it in decimal.
    let mut pseudonyms = Pseudonyms::new(Key::new([11; 32]));
    let mut address = [0; 16];
    address[..2].copy_from_slice(&[0xfe, 0x80]);
    address[14..].copy_from_slice(&route[2..4]);
    assert_eq!(pseudonyms.gid(address)[14..], out[2..4]);
}

/// A switch makes the source port of the frame's addresses.
#[test]
fn ports_of_tunnels_do_not_pass() {
    for (port, header) in [
        (4789, [8, 0, 0, 0, 0, 0, 1, 0]),
        (4790, [12, 0, 0, 3, 0, 0, 1, 0]),
        (6081, [0, 0, 0x65, 0x58, 0, 0, 1, 0]),
    ] {
        let payload = udp(port, &[&header[..], &send()].concat());
        let out = scrubbed(LinkType::Ethernet, &ethernet(0x0800, &ipv4(17, &payload)));
        is_hidden(&out, "tunnel");
        assert_eq!((&out[34..36], &out[36..38]), (&[0; 2][..], &port.to_be_bytes()[..]));
        assert_eq!(out[92..104], [0x04, 0x40, 0xff, 0xff, 0, 0, 0, 9, 0, 0, 0, 1], "{port}");
    }
}

/// A connection of NET/Socket with these messages: what becomes of their data.
fn socket(messages: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let mut sent =
        [&0x564a_b9f2_fc4b_9d6c_u64.to_le_bytes()[..], &3_u32.to_le_bytes(), &[0]].concat();
    let start = sent.len();
    for data in messages {
        sent.extend((data.len() as u32).to_le_bytes());
        sent.extend(data);
    }
    let [from, to] = [40001, 50001].map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    let (mut pseudonyms, mut streams) = (Pseudonyms::new(Key::new([11; 32])), Streams::default());
    let segment = TcpSegment {
        ports: Ports { source: 40001, destination: 50001 },
        sequence: 7,
        acknowledgment: 0,
        flags: TcpFlags::ACK,
        window: 0,
        payload: &sent,
        payload_len: sent.len() as u32,
    };
    streams.observe((TapId(0), from, to), &segment);
    streams.scrub(|_| Some(Kind::Socket), &Known::default(), &mut pseudonyms);
    let mut out = sent.clone();
    streams.replace((TapId(0), from, to), 7, false, &mut out);
    let mut rest = &out[start..];
    let each = messages.iter().map(|data| {
        let (size, behind) = rest.split_at(4);
        assert_eq!(size, (data.len() as u32).to_le_bytes());
        let (data, behind) = behind.split_at(data.len());
        rest = behind;
        data.to_vec()
    });
    each.collect()
}

fn words(words: impl IntoIterator<Item = u32>) -> Vec<u8> {
    words.into_iter().flat_map(u32::to_le_bytes).collect()
}

/// Message `n` has flags from `n` to `8 n`: so have many tokens of a text, at the places of flags.
#[test]
fn tokens_are_no_flags() {
    let tokens = |n: u32| words((0..64).map(move |at| n + (at * 5) % (7 * n)));
    let messages: Vec<Vec<u8>> = (1..50).map(tokens).collect();
    for (n, data) in (1..).zip(socket(&messages)) {
        assert!(data[32..].iter().all(|byte| *byte == 0), "{n}: {data:?}");
        let all: Vec<&[u8]> = messages[n - 1].chunks(4).collect();
        assert!(data[..32].chunks(4).zip(all).all(|(after, before)| after != before), "{n}");
    }
    // Those of LL and LL128 stay.
    let ll = words((0..8).flat_map(|at| [1000 + at, 3, 2000 + at, 3]));
    let ll128 = words((0..30).map(|at| 1000 + at).chain([4, 0]));
    let after = socket(&[ll.clone(), ll.clone(), ll, ll128]);
    let has_flags = |data: &Vec<u8>| data.chunks(8).all(|line| line[4..] == [3, 0, 0, 0]);
    assert!(after[..3].iter().all(has_flags));
    assert_eq!(after[2][48..52], [0; 4]);
    assert_eq!(
        (&after[3][112..120], &after[3][120..]),
        (&[0; 8][..], &[4, 0, 0, 0, 0, 0, 0, 0][..])
    );
}
