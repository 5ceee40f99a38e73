//! Frames cut at every length: no panic; the layers before the cut are read, and the reason for
//! stopping is given.

use railscope_core::decode::error::{DecodeError, Limit};
use railscope_core::decode::packet::{Body, Packet, Tunnel};
use railscope_core::decode::roce::packet::RocePacket;

use super::{decode_cut, decode_whole, encapsulations, plain};
use crate::support::frame::{Built, FrameBuilder};
use crate::support::ip::Ipv4;
use crate::support::roce::Roce;

/// RC ACK, WRITE ONLY with immediate, UD SEND, RD compare-and-swap, XRC WRITE, FLUSH, CNP, unknown.
const OPCODES: [u8; 8] = [0x11, 0x0b, 0x64, 0x53, 0xaa, 0x1c, 0x81, 0xc0];

#[test]
fn every_opcode_cut_at_every_length() {
    for opcode in 0..=255 {
        cut_everywhere(&format!("opcode {opcode:#04x}"), &plain(&Roce::new(opcode, 21)));
    }
}

#[test]
fn every_encapsulation_cut_at_every_length() {
    for (name, frame) in encapsulations() {
        for opcode in OPCODES {
            let built = frame.clone().roce(&Roce::new(opcode, 21)).finish();
            cut_everywhere(&format!("{name}, opcode {opcode:#04x}"), &built);
        }
    }
}

#[test]
fn padded_frames_cut_at_every_length() {
    for opcode in OPCODES {
        let frame = FrameBuilder::ethernet().ipv4(&Ipv4::default()).udp(49_152, super::ROCE);
        let built = frame.roce(&Roce::new(opcode, 2)).trailer(18).finish();
        cut_everywhere(&format!("padded, opcode {opcode:#04x}"), &built);
    }
}

#[test]
fn pause_frames_cut_at_every_length() {
    for built in [
        FrameBuilder::ethernet().pfc(0b1000, [1; 8]).finish(),
        FrameBuilder::ethernet().link_pause(0xffff).finish(),
    ] {
        cut_everywhere("pause", &built);
    }
}

/// Cuts `built` at every length, by the snap length and on the wire.
fn cut_everywhere(name: &str, built: &Built) {
    let whole = decode_whole(built);
    assert_eq!(whole.stop, None, "{name}");
    for kept in 0..=built.bytes.len() {
        for (wire_bytes, limit) in [(built.bytes.len(), Limit::Snap), (kept, Limit::Frame)] {
            let what = format!("{name}, {kept} of {wire_bytes} bytes");
            let cut = decode_cut(built, kept, wire_bytes);
            assert_stop(cut.stop, built, kept, limit, &what);
            assert_prefix(&cut, &whole, built, kept, &what);
        }
    }
}

/// Decoding stops in the layer that contains the cut, and nowhere else.
fn assert_stop(stop: Option<DecodeError>, built: &Built, kept: usize, limit: Limit, what: &str) {
    let Some(place) = built.places.iter().find(|place| place.end() > kept) else {
        assert_eq!(stop, None, "{what}");
        return;
    };
    let stop = stop.unwrap_or_else(|| panic!("{what}: did not stop in {place:?}"));
    let have = kept - place.offset;
    let need = place.needs.iter().find(|need| **need > have).unwrap();
    assert_eq!(stop.layer.name(), place.layer, "{what}");
    let read = (stop.offset as usize, stop.need as usize, stop.have as usize);
    assert_eq!(read, (place.offset, *need, have), "{what}: {}", place.layer);
    assert_eq!(stop.limit, limit, "{what}");
}

/// The result for the cut frame is a prefix of the result for the whole frame.
fn assert_prefix(cut: &Packet<'_>, whole: &Packet<'_>, built: &Built, kept: usize, what: &str) {
    let tunnels: Vec<Tunnel> = cut.tunnels.iter().flatten().copied().collect();
    let all_tunnels: Vec<Tunnel> = whole.tunnels.iter().flatten().copied().collect();
    assert!(all_tunnels.starts_with(&tunnels), "{what}: {tunnels:?}");

    let innermost_ip = built.places.iter().rfind(|place| place.layer.starts_with("ipv"));
    if innermost_ip.is_some_and(|place| place.end() <= kept) {
        assert_eq!(cut.ip, whole.ip, "{what}");
        assert_eq!(cut.outer_ip, whole.outer_ip, "{what}");
        assert_eq!((cut.ethernet, cut.vlans), (whole.ethernet, whole.vlans), "{what}");
        assert_eq!(cut.direction, whole.direction, "{what}");
        assert_eq!(tunnels, all_tunnels, "{what}");
    }

    let Body::Roce(all) = &whole.body else { return };
    let bth = built.places.iter().position(|place| place.layer == "bth").unwrap();
    let complete = built.places[bth..].iter().filter(|place| place.end() <= kept).count();
    let Body::Roce(read) = &cut.body else {
        assert_eq!(complete, 0, "{what}: the BTH was captured");
        return;
    };
    assert_eq!(headers(read), headers(all)[..complete], "{what}");
    assert_eq!(read.payload_len, all.payload_len, "{what}");
    let payload_kept = kept.saturating_sub(built.places.last().unwrap().end());
    assert_eq!(read.payload, &all.payload[..payload_kept.min(all.payload.len())], "{what}");
    let udp = built.places[bth - 1].offset;
    assert_eq!(read.after_ip, &built.bytes[udp..kept.min(built.ip_end)], "{what}");
    let packet = &built.bytes[built.ip_offset..built.ip_end];
    assert_eq!(read.whole, (kept >= built.ip_end).then_some(packet), "{what}");
}

/// The headers in wire order.
fn headers(roce: &RocePacket<'_>) -> Vec<String> {
    let extensions = [
        roce.rdeth.map(|header| format!("{header:?}")),
        roce.deth.map(|header| format!("{header:?}")),
        roce.xrceth.map(|header| format!("{header:?}")),
        roce.feth.map(|header| format!("{header:?}")),
        roce.reth.map(|header| format!("{header:?}")),
        roce.atomic.map(|header| format!("{header:?}")),
        roce.aeth.map(|header| format!("{header:?}")),
        roce.atomic_ack.map(|header| format!("{header:?}")),
        roce.immediate.map(|header| format!("{header:?}")),
        roce.ieth.map(|header| format!("{header:?}")),
    ];
    let bth = format!("{:?}", roce.bth);
    std::iter::once(bth).chain(extensions.into_iter().flatten()).collect()
}
