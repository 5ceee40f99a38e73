//! Checksums made right after a change: IPv4, UDP, TCP and the ICRC.

use railscope_core::decode::roce::icrc;

/// Where an IP packet is in a frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct IpPlace {
    /// First byte of its header.
    pub(super) start: usize,
    /// First byte behind its headers.
    pub(super) transport: usize,
    /// Its end on the wire, which may not have been captured.
    pub(super) end: usize,
    pub(super) is_v6: bool,
    pub(super) protocol: u8,
}

const TCP: u8 = 6;
const UDP: u8 = 17;

/// Makes an IPv4 header's checksum right; 0 stays, as the NIC fills it in.
pub(super) fn ipv4_header(out: &mut [u8], ip: &IpPlace) {
    let Some(header) = out.get_mut(ip.start..ip.transport) else { return };
    if ip.is_v6 || header.get(10..12) == Some(&[0, 0]) {
        return;
    }
    put(header, 10, [0, 0]);
    let sum = !fold(add(0, header));
    put(header, 10, sum.to_be_bytes());
}

/// Makes the checksum of UDP or TCP right. If the packet was cut, or UDP had none, it is 0.
pub(super) fn transport(out: &mut [u8], ip: &IpPlace) {
    let at = match ip.protocol {
        UDP => 6,
        TCP => 16,
        _ => return,
    };
    let whole = out.get(ip.start..ip.end).is_some();
    let end = ip.end.min(out.len());
    let Some(addresses) = out
        .get(ip.start..ip.transport)
        .and_then(|header| if ip.is_v6 { header.get(8..40) } else { header.get(12..20) })
    else {
        return;
    };
    let length = (ip.end.saturating_sub(ip.transport)) as u32;
    let pseudo = add(u64::from(ip.protocol) + u64::from(length), addresses);
    let Some(segment) = out.get_mut(ip.transport..end) else { return };
    let Some(old) = segment.get(at..at + 2).map(<[u8]>::to_vec) else { return };
    put(segment, at, [0, 0]);
    if !whole || (ip.protocol == UDP && old == [0, 0]) {
        return;
    }
    let sum = match !fold(add(pseudo, segment)) {
        0 if ip.protocol == UDP => u16::MAX,
        sum => sum,
    };
    put(segment, at, sum.to_be_bytes());
}

/// Whether the ICRC was right, and then makes it right again; a wrong one stays wrong.
pub(super) fn invariant(out: &mut [u8], ip: &IpPlace, was_right: Option<bool>) {
    let Some(was_right) = was_right else { return };
    let Some(packet) = out.get_mut(ip.start..ip.end) else { return };
    let Some(sum) = icrc::compute(packet) else { return };
    let sum = if was_right { sum } else { !sum };
    let at = packet.len().saturating_sub(4);
    put(packet, at, sum.to_le_bytes());
}

fn add(sum: u64, bytes: &[u8]) -> u64 {
    let word = |pair: &[u8]| match pair {
        [high, low] => u64::from(u16::from_be_bytes([*high, *low])),
        [high] => u64::from(*high) << 8,
        _ => 0,
    };
    bytes.chunks(2).map(word).fold(sum, u64::wrapping_add)
}

fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// Writes bytes where there are any.
pub(super) fn put<const N: usize>(out: &mut [u8], at: usize, bytes: [u8; N]) {
    if let Some(place) = at.checked_add(N).and_then(|end| out.get_mut(at..end)) {
        place.copy_from_slice(&bytes);
    }
}
