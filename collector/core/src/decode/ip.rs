//! IPv4 and IPv6: addresses, traffic class, and where the transport header starts.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use etherparse::{IpAuthHeaderSlice, Ipv6FragmentHeaderSlice, Ipv6RawExtHeaderSlice, err};

use super::cursor::Cursor;
use super::error::{DecodeError, Layer, Limit};
use super::packet::Ip;

/// Protocol number of TCP.
pub(super) const TCP: u8 = 6;
/// Protocol number of UDP.
pub(super) const UDP: u8 = 17;
/// Protocol number of IPv4 in IP.
pub(super) const IPV4_IN_IP: u8 = 4;
/// Protocol number of IPv6 in IP.
pub(super) const IPV6_IN_IP: u8 = 41;
/// Protocol number of GRE.
pub(super) const GRE: u8 = 47;

const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const AUTHENTICATION: u8 = 51;
const DESTINATION_OPTIONS: u8 = 60;

/// What the next layers need of an IP header.
#[derive(Clone, Copy, Debug)]
pub(super) struct Payload<'a> {
    /// Protocol of the payload.
    pub(super) protocol: u8,
    /// The packet with its IP header; `None` if it is truncated or its length unknown.
    pub(super) whole: Option<&'a [u8]>,
}

/// Reads an IPv4 header into `ip` and yields what the layers behind it need.
///
/// ```text
/// byte 0               1    2..3          4..5  6..7                     8    9         10..11
///      version|length  TOS  total length  ID    flags(3)|fragment offset  TTL  protocol  checksum
///      12..15  16..19       20..
///      source  destination  options
/// ```
#[inline(always)]
pub(super) fn v4<'a>(
    cursor: &mut Cursor<'a>,
    ip: &mut Option<Ip>,
) -> Result<Payload<'a>, DecodeError> {
    let start = *cursor;
    #[rustfmt::skip]
    let &[
        version_and_len, traffic_class, l0, l1, i0, i1, f0, f1, hop_limit, protocol, _, _,
        s0, s1, s2, s3, d0, d1, d2, d3,
    ] = start.peek::<20>(Layer::Ipv4)?;
    let header_len = usize::from(version_and_len & 0x0f) << 2;
    let total_len = usize::from(u16::from_be_bytes([l0, l1]));
    // A total length of 0 is a host's capture of a packet that the NIC will segment (TSO).
    let is_len_known = total_len != 0;
    if version_and_len >> 4 != 4 || header_len < 20 || (is_len_known && total_len < header_len) {
        return Err(start.refuse(Layer::Ipv4));
    }
    if is_len_known {
        cursor.follow(total_len, Limit::IpLength);
    }
    let whole = if is_len_known { cursor.whole() } else { None };
    cursor.take_len(header_len, Layer::Ipv4)?;
    *ip = Some(Ip {
        source: IpAddr::V4(Ipv4Addr::new(s0, s1, s2, s3)),
        destination: IpAddr::V4(Ipv4Addr::new(d0, d1, d2, d3)),
        traffic_class,
        identification: Some(u16::from_be_bytes([i0, i1])),
        hop_limit,
        protocol,
    });
    if [f0 & 0x1f, f1] != [0, 0] {
        return Err(start.stop(Layer::Ipv4, Limit::Fragment));
    }
    Ok(Payload { protocol, whole })
}

/// Reads an IPv6 header and its extension headers into `ip` and yields what the layers
/// behind it need.
///
/// ```text
/// byte 0..3                                     4..5            6            7          8..23
///      version(4)|traffic class(8)|flow label   payload length  next header  hop limit  source
///      24..39
///      destination
/// ```
#[inline(always)]
pub(super) fn v6<'a>(
    cursor: &mut Cursor<'a>,
    ip: &mut Option<Ip>,
) -> Result<Payload<'a>, DecodeError> {
    let start = *cursor;
    let &[v0, v1, _, _, l0, l1, protocol, hop_limit, ref addresses @ ..] =
        start.peek::<40>(Layer::Ipv6)?;
    let (source, destination) = halves(addresses);
    if v0 >> 4 != 6 {
        return Err(start.refuse(Layer::Ipv6));
    }
    let payload_len = usize::from(u16::from_be_bytes([l0, l1]));
    // A payload length of 0: a jumbogram, or a packet that the NIC will segment.
    let is_len_known = payload_len != 0;
    if is_len_known {
        cursor.follow(payload_len.saturating_add(40), Limit::IpLength);
    }
    let whole = if is_len_known { cursor.whole() } else { None };
    cursor.take_len(40, Layer::Ipv6)?;
    let ip = ip.insert(Ip {
        source: IpAddr::V6(Ipv6Addr::from(source)),
        destination: IpAddr::V6(Ipv6Addr::from(destination)),
        traffic_class: (v0 << 4) | (v1 >> 4),
        identification: None,
        hop_limit,
        protocol,
    });
    if is_extension(protocol) {
        *cursor = extensions(*cursor, ip)?;
    }
    Ok(Payload { protocol: ip.protocol, whole })
}

/// The two addresses of an IPv6 header.
#[inline]
fn halves(addresses: &[u8; 32]) -> ([u8; 16], [u8; 16]) {
    match addresses.as_chunks() {
        ([source, destination], _) => (*source, *destination),
        _ => ([0; 16], [0; 16]),
    }
}

#[inline]
const fn is_extension(protocol: u8) -> bool {
    matches!(protocol, HOP_BY_HOP | ROUTING | FRAGMENT | AUTHENTICATION | DESTINATION_OPTIONS)
}

/// Skips extension headers; `ip.protocol` becomes what follows them. Each is at least 8 bytes long,
/// so the packet's end bounds the walk.
#[cold]
#[inline(never)]
fn extensions<'a>(mut cursor: Cursor<'a>, ip: &mut Ip) -> Result<Cursor<'a>, DecodeError> {
    while is_extension(ip.protocol) {
        let start = cursor;
        let cut = |cut: err::LenError| start.too_short(Layer::Ipv6Extension, cut.required_len);
        let (len, next_header, is_fragment) = match ip.protocol {
            FRAGMENT => {
                let header = Ipv6FragmentHeaderSlice::from_slice(start.bytes()).map_err(cut)?;
                let is_fragment = header.fragment_offset().value() != 0;
                (header.slice().len(), header.next_header(), is_fragment)
            }
            AUTHENTICATION => {
                use err::ip_auth::HeaderSliceError::{Content, Len};
                let header = IpAuthHeaderSlice::from_slice(start.bytes()).map_err(|e| match e {
                    Len(e) => cut(e),
                    Content(_) => start.refuse(Layer::Ipv6Extension),
                })?;
                (header.slice().len(), header.next_header(), false)
            }
            _ => {
                let header = Ipv6RawExtHeaderSlice::from_slice(start.bytes()).map_err(cut)?;
                (header.slice().len(), header.next_header(), false)
            }
        };
        cursor.take_len(len, Layer::Ipv6Extension)?;
        ip.protocol = next_header.0;
        if is_fragment {
            return Err(start.stop(Layer::Ipv6Extension, Limit::Fragment));
        }
    }
    Ok(cursor)
}
