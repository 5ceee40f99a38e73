//! `union ncclSocketAddress`, 28 bytes (NCCL `src/include/socket.h`): a `sockaddr_in` or
//! `sockaddr_in6` of Linux. Family at 0 (2 or 10), port at 2 (big-endian); IPv4: address at 4; IPv6:
//! flow information at 4, address at 8, scope at 24.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};

/// Size in bytes.
pub const BYTES: usize = 28;

const IPV4: [u8; 2] = [2, 0];
const IPV6: [u8; 2] = [10, 0];

/// The bytes that NCCL sends.
#[must_use]
pub fn encode(address: SocketAddr) -> [u8; BYTES] {
    let mut bytes = [0; BYTES];
    bytes[2..4].copy_from_slice(&address.port().to_be_bytes());
    match address {
        SocketAddr::V4(address) => {
            bytes[..2].copy_from_slice(&IPV4);
            bytes[4..8].copy_from_slice(&address.ip().octets());
        }
        SocketAddr::V6(address) => {
            bytes[..2].copy_from_slice(&IPV6);
            bytes[4..8].copy_from_slice(&address.flowinfo().to_be_bytes());
            bytes[8..24].copy_from_slice(&address.ip().octets());
            bytes[24..].copy_from_slice(&address.scope_id().to_le_bytes());
        }
    }
    bytes
}

/// `None` for another family.
#[must_use]
pub fn parse(bytes: &[u8; BYTES]) -> Option<SocketAddr> {
    let [f0, f1, p0, p1, a, b, c, d, rest @ ..] = *bytes;
    let port = u16::from_be_bytes([p0, p1]);
    match [f0, f1] {
        IPV4 => Some(SocketAddrV4::new(Ipv4Addr::new(a, b, c, d), port).into()),
        IPV6 => {
            let flow = u32::from_be_bytes([a, b, c, d]);
            let (address, scope) = rest.split_first_chunk::<16>()?;
            let scope = u32::from_le_bytes(*scope.first_chunk()?);
            Some(SocketAddrV6::new(Ipv6Addr::from(*address), port, flow, scope).into())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_families() {
        for address in ["192.168.50.1:35209", "[fd00:10::1%3]:9", "127.0.0.1:1"] {
            let address: SocketAddr = address.parse().unwrap();
            assert_eq!(parse(&encode(address)), Some(address));
        }
        assert_eq!(parse(&[0; BYTES]), None);
    }
}
