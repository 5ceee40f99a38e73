//! The global route header of InfiniBand, which RoCE v1 has in place of IP (IBTA volume 1, section 8.3):
//! the layout of IPv6, with GIDs as addresses.

use std::net::{IpAddr, Ipv6Addr};

use super::cursor::Cursor;
use super::error::{DecodeError, Layer, Limit};
use super::packet::Ip;

/// Bytes of the header.
const LEN: usize = 40;
/// The part of the traffic class that is used: marks are in the BTH.
const DSCP: u8 = 0xfc;
/// The next header is a BTH.
const BTH: u8 = 0x1b;

/// Reads the header into `ip`; GIDs that hold an IPv4 address become it. Returns whether a BTH follows.
///
/// ```text
/// byte 0..3                                     4..5            6            7          8..23
///      version(4)|traffic class(8)|flow label   payload length  next header  hop limit  source
///      24..39
///      destination
/// ```
pub(super) fn decode(cursor: &mut Cursor<'_>, ip: &mut Option<Ip>) -> Result<bool, DecodeError> {
    let start = *cursor;
    let &[v0, v1, _, _, l0, l1, protocol, hop_limit, ref gids @ ..] =
        start.peek::<LEN>(Layer::Grh)?;
    if v0 >> 4 != 6 {
        return Err(start.refuse(Layer::Grh));
    }
    let payload_len = usize::from(u16::from_be_bytes([l0, l1]));
    cursor.follow(payload_len.saturating_add(LEN), Limit::IpLength);
    cursor.take::<LEN>(Layer::Grh)?;
    let (gids, _) = gids.as_chunks::<16>();
    let address = |at: usize| {
        let gid = gids.get(at).copied().unwrap_or_default();
        IpAddr::V6(Ipv6Addr::from(gid)).to_canonical()
    };
    *ip = Some(Ip {
        source: address(0),
        destination: address(1),
        traffic_class: ((v0 << 4) | (v1 >> 4)) & DSCP,
        identification: None,
        hop_limit,
        protocol,
    });
    Ok(protocol == BTH)
}
