//! The invariant CRC, over everything that routers do not change.
//!
//! InfiniBand Architecture Specification 1.4, volume 1, 9.8.2 and annex A17.3.3: CRC-32 over eight
//! bytes of ones (no local route header), the IP header, the UDP header, and everything up to the
//! ICRC. Mutable fields count as ones: type of service, time to live and header checksum of IPv4;
//! traffic class, flow label and hop limit of IPv6; the UDP checksum; byte 4 of the BTH.

use std::net::IpAddr;

use crc32fast::Hasher;

use super::packet::{BTH_BYTES, ICRC_BYTES, PORT};

const UDP_BYTES: usize = 8;
const UDP: u8 = 17;
/// Ones in place of the local route header.
const NO_ROUTE_BYTES: usize = 8;
/// Up to the end of the BTH, with the longer IPv6 header.
const HEAD_BYTES: usize = NO_ROUTE_BYTES + 40 + UDP_BYTES + BTH_BYTES;

/// The ICRC of a packet between two ports, in wire order. `bytes` are those between UDP header and
/// ICRC.
///
/// The IPv4 header is assumed to be Linux's for an unconnected socket with path MTU discovery: no
/// options, identification 0, "don't fragment".
#[must_use]
pub fn icrc(source: IpAddr, destination: IpAddr, source_port: u16, bytes: &[u8]) -> [u8; 4] {
    let (bth, rest) = bytes.split_at(bytes.len().min(BTH_BYTES));
    let mut head = Head { bytes: [0xff; HEAD_BYTES], len: NO_ROUTE_BYTES };
    let udp_bytes = length16(UDP_BYTES + bytes.len() + ICRC_BYTES);
    match (source, destination) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            let [high, low] = length16(20 + UDP_BYTES + bytes.len() + ICRC_BYTES);
            head.put(&[0x45, 0xff, high, low, 0, 0, 0x40, 0, 0xff, UDP, 0xff, 0xff]);
            head.put(&source.octets());
            head.put(&destination.octets());
        }
        (source, destination) => {
            head.put(&[0x6f, 0xff, 0xff, 0xff, udp_bytes[0], udp_bytes[1], UDP, 0xff]);
            head.put(&octets16(source));
            head.put(&octets16(destination));
        }
    }
    head.put(&source_port.to_be_bytes());
    head.put(&PORT.to_be_bytes());
    head.put(&udp_bytes);
    head.put(&[0xff; 2]);
    let resv8a = head.len + 4;
    head.put(bth);
    head.bytes[resv8a] = 0xff;
    let mut crc = Hasher::new();
    crc.update(&head.bytes[..head.len]);
    crc.update(rest);
    crc.finalize().to_le_bytes()
}

/// Headers with mutable fields set to ones.
struct Head {
    bytes: [u8; HEAD_BYTES],
    len: usize,
}

impl Head {
    fn put(&mut self, field: &[u8]) {
        self.bytes[self.len..self.len + field.len()].copy_from_slice(field);
        self.len += field.len();
    }
}

/// An address in IPv6 form.
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
