//! TCP segments as the bytes of Ethernet frames.

use super::frame::{self, Ip, Way};
use crate::simulate::control::segments::{SYN, Segment};

const TCP: u8 = 6;
const TCP_BYTES: usize = 20;
const IPV4_BYTES: usize = 20;
/// Maximum segment size option, in SYN.
const SEGMENT_OPTION: [u8; 4] = [2, 4, 0x05, 0xb4];
const WINDOW: u16 = 64_240;

/// Writes a frame into `out`.
pub(super) fn write(segment: &Segment, way: Way, ttl: u8, identification: u16, out: &mut Vec<u8>) {
    out.clear();
    frame::write_ethernet(way.macs, out);
    let options: &[u8] = if segment.flags & SYN != 0 { &SEGMENT_OPTION } else { &[] };
    let tcp_bytes = TCP_BYTES + options.len() + segment.payload.len();
    let bytes = (IPV4_BYTES + tcp_bytes) as u16;
    let ip = Ip { bytes, protocol: TCP, service: 0, identification, ttl };
    frame::write_ipv4(ip, way.addresses, out);
    let begin = out.len();
    out.extend_from_slice(&segment.from.port().to_be_bytes());
    out.extend_from_slice(&segment.to.port().to_be_bytes());
    out.extend_from_slice(&segment.sequence.to_be_bytes());
    out.extend_from_slice(&segment.acknowledgement.to_be_bytes());
    let words = ((TCP_BYTES + options.len()) / 4) as u8;
    out.extend_from_slice(&[words << 4, segment.flags]);
    out.extend_from_slice(&WINDOW.to_be_bytes());
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(options);
    out.extend_from_slice(&segment.payload);
    let pseudo = way.addresses.iter().flat_map(|address| frame::octets(*address));
    let pseudo: Vec<u8> = pseudo.chain([0, TCP, (tcp_bytes >> 8) as u8, tcp_bytes as u8]).collect();
    let sum = u32::from(!frame::checksum(&pseudo, 0));
    let sum = frame::checksum(out.get(begin..).unwrap_or_default(), sum).to_be_bytes();
    if let Some(place) = out.get_mut(begin + 16..begin + 18) {
        place.copy_from_slice(&sum);
    }
}
