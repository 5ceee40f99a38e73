//! The invariant CRC: right on built packets, wrong after a change of any field that routers must
//! not change, right after a change of the fields that they do.

use railscope_core::decode::roce::icrc;

use super::{decode_whole, encapsulations, plain, roce};
use crate::support::frame::{Built, FrameBuilder};
use crate::support::ip::{Ipv4, Ipv6};
use crate::support::roce::Roce;

/// Whether the ICRC is right; `None` if it cannot be checked.
fn check(built: &Built) -> Option<bool> {
    roce(&decode_whole(built)).whole.and_then(icrc::check)
}

#[test]
fn every_opcode_and_payload_length_agrees() {
    for opcode in 0..=255 {
        for payload_bytes in [0, 1, 2, 3, 4, 1024] {
            let written = Roce::new(opcode, payload_bytes);
            assert_eq!(check(&plain(&written)), Some(true), "{written:?}");
        }
    }
}

#[test]
fn every_encapsulation_agrees() {
    for (name, frame) in encapsulations() {
        // The specification defines no ICRC over IPv4 options or IPv6 extension headers.
        if name.contains("options") || name.starts_with("ipv6 ") {
            continue;
        }
        let built = frame.roce(&Roce::new(0x0a, 61)).finish();
        assert_eq!(check(&built), Some(true), "{name}");
    }
}

// Offset from the start of the IP header, and the bits that routers may change.

/// IPv4: type of service, time to live, checksum; UDP checksum; BTH's F, B and reserved bits.
const VARIANT_V4: [(usize, u8); 7] =
    [(1, 0xff), (8, 0xff), (10, 0xff), (11, 0xff), (26, 0xff), (27, 0xff), (32, 0xff)];

/// IPv6: traffic class, flow label, hop limit; UDP checksum; BTH's F, B and reserved bits.
const VARIANT_V6: [(usize, u8); 8] =
    [(0, 0x0f), (1, 0xff), (2, 0xff), (3, 0xff), (7, 0xff), (46, 0xff), (47, 0xff), (52, 0xff)];

#[test]
fn every_bit_is_either_invariant_or_variant() {
    let written = Roce::new(0x0b, 13);
    let v4 = FrameBuilder::ethernet().ipv4(&Ipv4::default()).udp(49_152, super::ROCE);
    let v6 = FrameBuilder::ethernet().ipv6(&Ipv6::default()).udp(49_152, super::ROCE);
    flip_every_bit(&v4.roce(&written).finish(), &VARIANT_V4);
    flip_every_bit(&v6.roce(&written).finish(), &VARIANT_V6);
}

/// Flips every bit of the packet, one at a time.
fn flip_every_bit(built: &Built, variant: &[(usize, u8)]) {
    let packet = &built.bytes[built.ip_offset..built.ip_end];
    let protocol = if packet[0] >> 4 == 4 { 9 } else { 6 };
    for bit in 0..packet.len() * 8 {
        let (at, mask) = (bit / 8, 0x80_u8 >> (bit % 8));
        let mut flipped = packet.to_vec();
        flipped[at] ^= mask;
        let is_variant = variant.iter().any(|(byte, bits)| *byte == at && bits & mask != 0);
        match icrc::check(&flipped) {
            Some(is_right) => assert_eq!(is_right, is_variant, "byte {at}, mask {mask:#04x}"),
            // Another version, header length or protocol: the packet has no ICRC any more.
            None => assert!(at == 0 || at == protocol, "byte {at}, mask {mask:#04x}"),
        }
    }
}
