//! Packets of the network as the bytes of Ethernet frames, without FCS.
//!
//! Ethernet and IPv4, then RoCEv2 (InfiniBand Architecture Specification 1.4, volume 1, annex A17),
//! UDP, or PFC (IEEE 802.1Qbb).

use std::net::{IpAddr, Ipv4Addr};

use crc32fast::Hasher;

use crate::rdma::soft::packet::{
    self as roce, Answer, End, ICRC_BYTES, OVERHEAD_BYTES, PORT, Target, WritePart,
};
use crate::simulate::network::packet::{Body, Packet, RNR_TIMER, Syndrome, Write};

const ETHERNET_BYTES: usize = 14;
const IPV4_BYTES: usize = 20;
const UDP_BYTES: usize = 8;
const IPV4: u16 = 0x0800;
const MAC_CONTROL: u16 = 0x8808;
/// Destination of MAC control frames, which no bridge forwards.
const MAC_CONTROL_GROUP: [u8; 6] = [0x01, 0x80, 0xc2, 0, 0, 0x01];
/// Opcode of priority-based flow control.
const PFC: u16 = 0x0101;
const UDP: u8 = 17;
const DO_NOT_FRAGMENT: u16 = 0x4000;
const FIRST_TTL: u8 = 64;

/// The two ends of a frame's path.
#[derive(Clone, Copy, Debug)]
pub(super) struct Way {
    /// MAC addresses of the link's ports: sender and receiver.
    pub macs: [[u8; 6]; 2],
    /// IP addresses of the NICs: source and destination.
    pub addresses: [IpAddr; 2],
}

/// The variable fields of an IPv4 header.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ip {
    /// Size of the packet.
    pub bytes: u16,
    pub protocol: u8,
    /// DSCP and ECN.
    pub service: u8,
    pub identification: u16,
    pub ttl: u8,
}

/// Writes the start of a frame into `out`, at least `keep` bytes if it is that long.
pub(super) fn write(packet: &Packet, way: Way, keep: usize, out: &mut Vec<u8>) {
    out.clear();
    if let Body::Pause { priority, quanta } = packet.body {
        write_pause(way.macs[0], priority, quanta, packet.frame_bytes, out);
        return;
    }
    write_ethernet(way.macs, out);
    let ip = Ip {
        bytes: packet.frame_bytes.saturating_sub(ETHERNET_BYTES as u16),
        protocol: UDP,
        service: packet.dscp << 2 | packet.ecn.bits(),
        identification: packet.ip_identification,
        ttl: FIRST_TTL.saturating_sub(packet.hops),
    };
    write_ipv4(ip, way.addresses, out);
    let port = match packet.body {
        Body::Datagram { udp_destination_port, .. } => udp_destination_port,
        _ => PORT,
    };
    let udp_bytes = ip.bytes.saturating_sub(IPV4_BYTES as u16);
    // No checksum, as annex A17 has it.
    for field in [packet.udp_source_port, port, udp_bytes, 0] {
        out.extend_from_slice(&field.to_be_bytes());
    }
    let frame_bytes = usize::from(packet.frame_bytes);
    if let Body::Datagram { .. } = packet.body {
        out.resize(frame_bytes.min(keep).max(out.len()), 0);
        return;
    }
    write_roce(packet, keep, out);
    if out.len() + ICRC_BYTES == frame_bytes {
        let icrc = icrc(out.get(ETHERNET_BYTES..).unwrap_or_default());
        out.extend_from_slice(&icrc);
    }
}

pub(super) fn write_ethernet(macs: [[u8; 6]; 2], out: &mut Vec<u8>) {
    out.extend_from_slice(&macs[1]);
    out.extend_from_slice(&macs[0]);
    out.extend_from_slice(&IPV4.to_be_bytes());
}

pub(super) fn write_ipv4(ip: Ip, addresses: [IpAddr; 2], out: &mut Vec<u8>) {
    let begin = out.len();
    out.extend_from_slice(&[0x45, ip.service]);
    for field in [ip.bytes, ip.identification, DO_NOT_FRAGMENT] {
        out.extend_from_slice(&field.to_be_bytes());
    }
    out.extend_from_slice(&[ip.ttl, ip.protocol, 0, 0]);
    for address in addresses {
        out.extend_from_slice(&octets(address));
    }
    let sum = checksum(out.get(begin..).unwrap_or_default(), 0).to_be_bytes();
    if let Some(place) = out.get_mut(begin + 10..begin + 12) {
        place.copy_from_slice(&sum);
    }
}

/// NICs of a scenario have IPv4 addresses.
pub(super) const fn octets(address: IpAddr) -> [u8; 4] {
    match address {
        IpAddr::V4(address) => address.octets(),
        IpAddr::V6(_) => Ipv4Addr::UNSPECIFIED.octets(),
    }
}

/// The Internet checksum (RFC 1071) of `bytes`, to which `sum` is added.
pub(super) fn checksum(bytes: &[u8], sum: u32) -> u16 {
    let words = bytes.chunks(2).map(|pair| match *pair {
        [high, low] => u32::from(u16::from_be_bytes([high, low])),
        [high] => u32::from(high) << 8,
        _ => 0,
    });
    let mut sum = words.fold(sum, u32::wrapping_add);
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

fn write_pause(from: [u8; 6], priority: u8, quanta: u16, frame_bytes: u16, out: &mut Vec<u8>) {
    out.extend_from_slice(&MAC_CONTROL_GROUP);
    out.extend_from_slice(&from);
    for field in [MAC_CONTROL, PFC, 1 << (priority & 7)] {
        out.extend_from_slice(&field.to_be_bytes());
    }
    for class in 0..8 {
        let time = if class == priority { quanta } else { 0 };
        out.extend_from_slice(&time.to_be_bytes());
    }
    out.resize(usize::from(frame_bytes).max(out.len()), 0);
}

fn write_roce(packet: &Packet, keep: usize, out: &mut Vec<u8>) {
    let payload;
    let (qpn, psn, body) = match &packet.body {
        Body::Write(write) => {
            payload = kept_payload(write, keep);
            (write.destination_qpn, write.psn, roce::Body::Write(part(write, &payload)))
        }
        Body::Acknowledge { destination_qpn, psn, syndrome, msn } => {
            let syndrome = match syndrome {
                Syndrome::Ack => roce::Syndrome::Ack,
                Syndrome::NakSequence => roce::Syndrome::SequenceError,
                Syndrome::NotReady => roce::Syndrome::ReceiverNotReady(RNR_TIMER),
            };
            (*destination_qpn, *psn, roce::Body::Answer(Answer { syndrome, msn: *msn }))
        }
        Body::Cnp { destination_qpn } => (*destination_qpn, 0, roce::Body::Cnp),
        Body::Datagram { .. } | Body::Pause { .. } => return,
    };
    roce::Packet { qpn, psn, body }.encode(out);
}

fn part<'a>(write: &Write, payload: &'a [u8]) -> WritePart<'a> {
    WritePart {
        target: write.first.map(|reth| Target {
            address: reth.remote_address,
            rkey: reth.rkey,
            bytes: reth.bytes,
        }),
        end: match (write.last, write.immediate) {
            (false, _) => End::More,
            (true, None) => End::Last,
            (true, Some(immediate)) => End::LastWithImmediate(immediate.to_be_bytes()),
        },
        ack_request: write.ack_request,
        payload,
    }
}

/// The payload, or enough of it that the frame is longer than `keep` and has the same padding.
fn kept_payload(write: &Write, keep: usize) -> Vec<u8> {
    let bytes = usize::from(write.payload_bytes);
    let enough = keep.saturating_add(OVERHEAD_BYTES);
    let kept = if bytes > enough { enough.next_multiple_of(4) + bytes % 4 } else { bytes };
    let mut payload = vec![0; kept.min(bytes)];
    for (to, from) in payload.iter_mut().zip(write.head.as_deref().unwrap_or_default()) {
        *to = *from;
    }
    payload
}

/// The invariant CRC of an IPv4 packet without it: mutable fields count as ones (volume 1, 9.8.2
/// and annex A17.3.3).
fn icrc(packet: &[u8]) -> [u8; ICRC_BYTES] {
    let mut head = [0; IPV4_BYTES + UDP_BYTES + roce::BTH_BYTES];
    let (begin, rest) = packet.split_at(packet.len().min(head.len()));
    head.iter_mut().zip(begin).for_each(|(to, from)| *to = *from);
    // Service, TTL and checksum of IPv4, checksum of UDP, the byte with FECN and BECN.
    for masked in [1, 8, 10, 11, IPV4_BYTES + 6, IPV4_BYTES + 7, IPV4_BYTES + UDP_BYTES + 4] {
        head[masked] = 0xff;
    }
    let mut crc = Hasher::new();
    crc.update(&[0xff; 8]);
    crc.update(&head);
    crc.update(rest);
    crc.finalize().to_le_bytes()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::rdma::soft::icrc::icrc as icrc_of_socket;
    use crate::simulate::network::id::NicId;
    use crate::simulate::network::packet::{Ecn, Reth};

    const HEADER_BYTES: usize = ETHERNET_BYTES + IPV4_BYTES + UDP_BYTES;

    fn way() -> Way {
        Way { macs: [[2; 6], [4; 6]], addresses: [[10, 0, 0, 1].into(), [10, 0, 0, 2].into()] }
    }

    fn packet(body: Body, frame_bytes: u16) -> Packet {
        Packet {
            source: NicId(0),
            destination: NicId(1),
            body,
            udp_source_port: 0xc123,
            ip_identification: 0,
            frame_bytes,
            dscp: 26,
            ecn: Ecn::Ect0,
            hops: 1,
        }
    }

    fn a_write(payload_bytes: u16, immediate: Option<u32>) -> Packet {
        let padded = payload_bytes.next_multiple_of(4);
        let frame = HEADER_BYTES as u16 + 12 + 16 + 4 * u16::from(immediate.is_some()) + padded + 4;
        let first = Some(Reth { remote_address: 1, rkey: 2, bytes: payload_bytes.into() });
        let write = Write {
            destination_qpn: 7,
            psn: 9,
            ack_request: true,
            first,
            last: true,
            immediate,
            payload_bytes,
            head: Some(Arc::from([5, 6, 7].as_slice())),
        };
        packet(Body::Write(write), frame)
    }

    #[test]
    fn a_whole_frame_has_the_icrc_that_the_soft_adapter_would_send() {
        let mut frame = Vec::new();
        let packet = a_write(63, Some(0x0102_0304));
        write(&packet, way(), 1 << 16, &mut frame);
        assert_eq!(frame.len(), usize::from(packet.frame_bytes));
        let (rest, found) = frame.split_at(frame.len() - 4);
        let [source, destination] = way().addresses;
        assert_eq!(found, icrc_of_socket(source, destination, 0xc123, &rest[HEADER_BYTES..]));
        assert_eq!(checksum(&frame[14..34], 0), 0, "the checksum of IPv4");
    }

    #[test]
    fn what_is_kept_is_the_beginning_of_the_whole() {
        for bytes in [0, 1, 2, 3, 97, 1022, 4096] {
            let packet = a_write(bytes, None);
            let (mut whole, mut cut) = (Vec::new(), Vec::new());
            write(&packet, way(), 1 << 16, &mut whole);
            write(&packet, way(), 96, &mut cut);
            assert_eq!(whole.len(), usize::from(packet.frame_bytes));
            let kept = whole.len().min(96);
            assert_eq!(whole[..kept], cut[..kept], "{bytes} bytes of payload");
        }
    }

    #[test]
    fn a_pause_frame_names_its_class() {
        let mut frame = Vec::new();
        write(&packet(Body::Pause { priority: 3, quanta: 0x1234 }, 60), way(), 96, &mut frame);
        assert_eq!(frame.len(), 60);
        assert_eq!(frame[..18], [1, 0x80, 0xc2, 0, 0, 1, 2, 2, 2, 2, 2, 2, 0x88, 8, 1, 1, 0, 8]);
        assert_eq!(frame[18..34], [0, 0, 0, 0, 0, 0, 0x12, 0x34, 0, 0, 0, 0, 0, 0, 0, 0]);
    }
}
