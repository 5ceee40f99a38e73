//! The invariant CRC at the end of every RoCEv2 packet (IBTA annex A17.3.3).
//!
//! It is Ethernet's CRC-32 over the IP packet, with every bit set in the fields that switches and
//! routers may change, after eight bytes of ones that stand for InfiniBand's local route header.
//!
//! ```text
//! ones | IPv4 but for TOS, TTL, checksum                   | UDP but for | BTH but for | the rest
//!      | IPv6 but for traffic class, flow label, hop limit | checksum    | byte 4      |
//! ```
//!
//! On the wire it is in little-endian order, unlike all other fields.

/// What stands for the local route header.
const LOCAL_ROUTE_HEADER: [u8; 8] = [0xff; 8];

/// The ICRC that an IP packet, given from its IP header to its ICRC, should have.
///
/// `None` when it is too short or has IP options or extension headers, which RoCEv2 does not allow.
#[must_use]
pub fn compute(ip_packet: &[u8]) -> Option<u32> {
    let mut crc = crc32fast::Hasher::new();
    crc.update(&LOCAL_ROUTE_HEADER);
    let rest = match ip_packet.first()? >> 4 {
        4 => {
            let (&header, rest) = ip_packet.split_first_chunk::<20>()?;
            let mut masked = header;
            let [version_and_len, tos, _, _, _, _, _, _, ttl, protocol, c0, c1, ..] = &mut masked;
            if (*version_and_len, *protocol) != (0x45, 17) {
                return None;
            }
            for byte in [tos, ttl, c0, c1] {
                *byte = 0xff;
            }
            crc.update(&masked);
            rest
        }
        6 => {
            let (&header, rest) = ip_packet.split_first_chunk::<40>()?;
            let mut masked = header;
            let [version, class, flow, label, _, _, next_header, hop_limit, ..] = &mut masked;
            if *next_header != 17 {
                return None;
            }
            *version |= 0x0f;
            for byte in [class, flow, label, hop_limit] {
                *byte = 0xff;
            }
            crc.update(&masked);
            rest
        }
        _ => return None,
    };
    let (&headers, rest) = rest.split_first_chunk::<20>()?;
    let mut masked = headers;
    let [_, _, _, _, _, _, c0, c1, _, _, _, _, congestion, ..] = &mut masked;
    for byte in [c0, c1, congestion] {
        *byte = 0xff;
    }
    crc.update(&masked);
    let (invariant, _) = rest.split_last_chunk::<4>()?;
    crc.update(invariant);
    Some(crc.finalize())
}

/// Whether an IP packet ends with the ICRC that it should have; `None` as for [`compute`].
#[doc(alias = "infiniband.invariant.crc")]
#[must_use]
pub fn check(ip_packet: &[u8]) -> Option<bool> {
    let computed = compute(ip_packet)?;
    let (_, found) = ip_packet.split_last_chunk()?;
    Some(u32::from_le_bytes(*found) == computed)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An ACK of `ibv_rc_pingpong` over soft-RoCE.
    const ACK: [u8; 48] = [
        0x45, 0x00, 0x00, 0x30, 0xdc, 0xd2, 0x40, 0x00, 0x40, 0x11, 0x49, 0xe8, 10, 0, 0, 2, 10, 0,
        0, 1, 0xc1, 0x21, 0x12, 0xb7, 0x00, 0x1c, 0x00, 0x00, 0x11, 0x00, 0xff, 0xff, 0x00, 0x00,
        0x00, 0x11, 0x00, 0x0a, 0xc3, 0xdd, 0x1f, 0x00, 0x00, 0x01, 0xc2, 0x64, 0x4c, 0x2d,
    ];

    #[test]
    fn a_real_packet_checks_whatever_switches_change_and_nothing_else() {
        assert_eq!(check(&ACK), Some(true));
        for at in 0..ACK.len() {
            let mut changed = ACK;
            changed[at] ^= 0x01;
            let expected = match at {
                1 | 8 | 10 | 11 | 26 | 27 | 32 => Some(true),
                0 | 9 => None,
                _ => Some(false),
            };
            assert_eq!(check(&changed), expected, "byte {at}");
        }
    }

    #[test]
    fn short_packets_have_none() {
        for len in 0..44 {
            assert_eq!(check(&ACK[..len]), None);
        }
    }
}
