//! The invariant CRC: over what no router changes between the ends.
//!
//! InfiniBand Architecture Specification 1.4, volume 1, 9.8.2 and annex A17.3.3: CRC-32 over eight
//! bytes of ones (no local route header), the IP header, the UDP header, and all up to the ICRC.
//! What routers may change counts as ones: type of service, time to live and header checksum of
//! IPv4; traffic class, flow label and hop limit of IPv6; the UDP checksum; byte 4 of the BTH.

use std::net::IpAddr;

use crc32fast::Hasher;

use super::packet::{BTH_BYTES, ICRC_BYTES, PORT};

const UDP_BYTES: usize = 8;
const UDP: u8 = 17;

/// The ICRC of a packet between two ports, in the order of the wire. `bytes` is from behind the
/// UDP header to before the ICRC.
///
/// The IPv4 header is taken to be as Linux makes it for a socket that is not connected and
/// discovers the path MTU: no options, identification 0, "don't fragment".
#[must_use]
pub fn icrc(source: IpAddr, destination: IpAddr, source_port: u16, bytes: &[u8]) -> [u8; 4] {
    let mut crc = Hasher::new();
    crc.update(&[0xff; 8]);
    let udp_length = length16(UDP_BYTES + bytes.len() + ICRC_BYTES);
    match (source, destination) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            let [length_high, length_low] = length16(20 + UDP_BYTES + bytes.len() + ICRC_BYTES);
            crc.update(&[
                0x45,
                0xff,
                length_high,
                length_low,
                0,
                0,
                0x40,
                0,
                0xff,
                UDP,
                0xff,
                0xff,
            ]);
            crc.update(&source.octets());
            crc.update(&destination.octets());
        }
        (source, destination) => {
            crc.update(&[0x6f, 0xff, 0xff, 0xff, udp_length[0], udp_length[1], UDP, 0xff]);
            crc.update(&octets16(source));
            crc.update(&octets16(destination));
        }
    }
    let [from_high, from_low] = source_port.to_be_bytes();
    let [to_high, to_low] = PORT.to_be_bytes();
    let [length_high, length_low] = udp_length;
    crc.update(&[from_high, from_low, to_high, to_low, length_high, length_low, 0xff, 0xff]);
    let (bth, rest) = bytes.split_at(bytes.len().min(BTH_BYTES));
    for (at, &byte) in bth.iter().enumerate() {
        crc.update(&[if at == 4 { 0xff } else { byte }]);
    }
    crc.update(rest);
    crc.finalize().to_le_bytes()
}

/// An address as IPv6 has it.
fn octets16(address: IpAddr) -> [u8; 16] {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
        IpAddr::V6(address) => address.octets(),
    }
}

fn length16(bytes: usize) -> [u8; 2] {
    (bytes as u16).to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routers_may_change_the_masked_byte_of_the_bth_only() {
        let ends: (IpAddr, IpAddr) = ([10, 0, 0, 1].into(), [10, 0, 0, 2].into());
        let bytes: Vec<u8> = (0..32).collect();
        let whole = icrc(ends.0, ends.1, 0xc123, &bytes);
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 0x40;
            assert_eq!(icrc(ends.0, ends.1, 0xc123, &changed) == whole, at == 4, "byte {at}");
        }
        assert_ne!(icrc(ends.1, ends.0, 0xc123, &bytes), whole);
        assert_ne!(icrc(ends.0, ends.1, 0xc124, &bytes), whole);
    }
}
