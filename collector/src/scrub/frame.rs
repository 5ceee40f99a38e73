//! Rewrites a frame in place: its length and its headers' shape stay, so do sequence numbers, queue pair
//! numbers, ECN and sizes. What no reader needs becomes zero.

use std::net::{IpAddr, SocketAddr};

use super::pseudonym::Pseudonyms;
use super::rdma::{is_known, rewrite_roce};
use super::stream::Streams;
use super::sums::{self, IpPlace, put};
use railscope_core::decode::frame::decode_with;
use railscope_core::decode::packet::{Body, Packet, TcpFlags, TcpSegment};
use railscope_core::model::frame::Frame;
use railscope_core::model::tap::LinkType;

/// Most nested tunnels.
const DEPTH_LIMIT: usize = 6;

const TCP: u8 = 6;

pub(super) const IPV4: u16 = 0x0800;
pub(super) const IPV6: u16 = 0x86dd;
const ARP: u16 = 0x0806;
const PAUSE: u16 = 0x8808;
const ROCE_V1: u16 = 0x8915;
const VLANS: [u16; 3] = [0x8100, 0x88a8, 0x9100];
pub(super) const MPLS: [u16; 2] = [0x8847, 0x8848];

/// EtherTypes of what readers know: a frame in a tunnel has one of them, or is none.
const KNOWN: [u16; 10] =
    [IPV4, IPV6, ARP, PAUSE, ROCE_V1, VLANS[0], VLANS[1], VLANS[2], MPLS[0], MPLS[1]];

/// What is at an offset.
#[derive(Clone, Copy)]
pub(super) enum Next {
    Ethernet,
    /// Ethernet in a tunnel.
    Inner,
    Type(u16),
    Infiniband,
}

/// A rewritten frame.
pub(super) struct Draft<'a> {
    pub(super) out: &'a mut Vec<u8>,
    /// Its length on the wire.
    pub(super) wire_len: usize,
    pseudonyms: &'a mut Pseudonyms,
    /// Outermost first.
    ips: Vec<IpPlace>,
    /// Where the BTH is.
    bth: Option<usize>,
    /// From here on nothing is known, and all becomes zero.
    unknown: Option<usize>,
    /// Whether the innermost header was whole.
    is_whole: bool,
}

/// Rewrites `frame` into `out`. Returns whether anything but padding was not understood and became zero.
pub fn rewrite(
    frame: &Frame<'_>,
    pseudonyms: &mut Pseudonyms,
    streams: &mut Streams,
    out: &mut Vec<u8>,
) -> bool {
    out.clear();
    out.extend_from_slice(frame.bytes);
    let (wire_len, ips) = (frame.wire_len as usize, Vec::new());
    let mut draft =
        Draft { out, wire_len, pseudonyms, ips, bth: None, unknown: None, is_whole: false };
    draft.link(frame.link_type);
    let unknown = draft.unknown;
    let (ips, bth) = (std::mem::take(&mut draft.ips), draft.bth);
    if let Some(from) = unknown {
        zero(out, from);
        pack(out, &ips);
        return out.len() > from && frame.bytes.iter().skip(from).any(|byte| *byte != 0);
    }
    let tcp = ips.last().filter(|ip| ip.protocol == TCP).map(|ip| ip.transport);
    let Some(from) = bth.or(tcp) else {
        pack(out, &ips);
        return false;
    };
    // It looks like RDMA or TCP: what is read of it comes back.
    zero(out, from);
    decode_with(frame, |packet| match &packet.body {
        Body::Roce(roce) if bth == Some(from) => {
            rewrite_roce(frame.bytes, roce, from, pseudonyms, out);
            pack(out, &ips);
            if let Some(ip) = ips.last() {
                sums::invariant(out, ip, roce.has_valid_icrc());
            }
        }
        Body::Tcp(segment) if bth.is_none() => {
            rewrite_tcp(frame, packet, (segment, from), streams, out);
            pack(out, &ips);
        }
        _ => pack(out, &ips),
    });
    false
}

/// Makes the checksums right, innermost first, and clears the padding behind the packet.
fn pack(out: &mut [u8], ips: &[IpPlace]) {
    for ip in ips.iter().rev() {
        sums::transport(out, ip);
        sums::ipv4_header(out, ip);
    }
    if let Some(ip) = ips.first() {
        zero(out, ip.end);
    }
}

fn zero(out: &mut [u8], from: usize) {
    out.iter_mut().skip(from).for_each(|byte| *byte = 0);
}

/// The options of TCP that are about the transfer: kind and length. Others may name a client.
const OPTIONS: [(u8, u8); 8] =
    [(2, 4), (3, 3), (4, 2), (5, 10), (5, 18), (5, 26), (5, 34), (8, 10)];

/// Writes the header of TCP: options that are not known become no operation.
fn rewrite_options(before: &[u8], out: &mut [u8]) {
    let len = before.len();
    let mut at = 20;
    while let Some(kind) = before.get(at).copied().filter(|kind| *kind != 0) {
        let length = before.get(at + 1).copied().unwrap_or_default();
        let taken = if kind == 1 { 1 } else { usize::from(length).max(1).min(len - at) };
        let option = before.get(at..at + taken).unwrap_or_default();
        let Some(place) = out.get_mut(at..at + taken) else { return };
        if OPTIONS.contains(&(kind, length)) && option.len() == usize::from(length) {
            place.copy_from_slice(option);
        } else {
            place.fill(1);
        }
        at += taken;
    }
}

/// Writes a segment whose header is at `from`: the header, and what stands for its payload.
fn rewrite_tcp(
    frame: &Frame<'_>,
    packet: &Packet<'_>,
    (segment, from): (&TcpSegment<'_>, usize),
    streams: &mut Streams,
    out: &mut [u8],
) {
    let Some(ip) = packet.ip else { return };
    let end = |address: IpAddr, port| SocketAddr::new(address, port);
    let source = end(ip.source, segment.ports.source);
    let destination = end(ip.destination, segment.ports.destination);
    let header = frame.bytes.get(from + 12).map_or(0, |byte| 4 * usize::from(byte >> 4));
    let start = from + header;
    // The payload is a part of the frame's bytes; if it is elsewhere, this is another segment.
    let place = (segment.payload.as_ptr() as usize).wrapping_sub(frame.bytes.as_ptr() as usize);
    if header < 20 || (place != start && !segment.payload.is_empty()) {
        return;
    }
    if let Some((before, out)) = frame.bytes.get(from..start).zip(out.get_mut(from..start)) {
        out[..20].copy_from_slice(&before[..20]);
        // Reserved bits, and the urgent pointer, which is seldom one.
        out[12] &= 0xf1;
        out[18..20].copy_from_slice(&[0; 2]);
        rewrite_options(before, out);
    }
    let is_begin = segment.flags.has(TcpFlags::SYN);
    let Some(payload) = out.get_mut(start..start + segment.payload.len()) else { return };
    streams.replace((frame.tap, source, destination), segment.sequence, is_begin, payload);
}

impl Draft<'_> {
    fn link(&mut self, link_type: LinkType) {
        match link_type {
            LinkType::Ethernet => self.walk(0, Next::Ethernet),
            LinkType::RawIp => {
                let kind =
                    if self.byte(0).is_some_and(|byte| byte >> 4 == 6) { IPV6 } else { IPV4 };
                self.walk(0, Next::Type(kind));
            }
            LinkType::Null | LinkType::Loopback => {
                let kind =
                    if self.byte(4).is_some_and(|byte| byte >> 4 == 6) { IPV6 } else { IPV4 };
                self.walk(4, Next::Type(kind));
            }
            LinkType::LinuxCookedV1 => self.cooked(6, 14, 16),
            LinkType::LinuxCookedV2 => self.cooked(12, 0, 20),
            LinkType::InfiniBand => self.walk(0, Next::Infiniband),
            LinkType::Erf | LinkType::Unknown(_) => self.unknown = Some(0),
        }
    }

    fn cooked(&mut self, address: usize, kind: usize, len: usize) {
        self.mac(address);
        // There is room for eight bytes.
        self.out.iter_mut().skip(address + 6).take(2).for_each(|byte| *byte = 0);
        match self.half(kind) {
            Some(kind) => self.walk(len, Next::Type(kind)),
            None => self.unknown = Some(0),
        }
    }

    /// Goes from header to header until the innermost.
    fn walk(&mut self, mut at: usize, mut next: Next) {
        for _ in 0..DEPTH_LIMIT * 3 {
            let followed = match next {
                Next::Ethernet => {
                    self.mac(at);
                    self.mac(at + 6);
                    self.half(at + 12).map(|kind| (at + 14, Next::Type(kind)))
                }
                Next::Inner => match self.half(at + 12) {
                    Some(kind) if KNOWN.contains(&kind) => Some((at, Next::Ethernet)),
                    _ => self.stop(at),
                },
                Next::Type(kind) if VLANS.contains(&kind) => {
                    self.half(at + 2).map(|kind| (at + 4, Next::Type(kind)))
                }
                Next::Type(kind) if MPLS.contains(&kind) => self.labels(at),
                Next::Type(IPV4) => self.ipv4(at),
                Next::Type(IPV6) => self.ipv6(at),
                Next::Type(ROCE_V1) => self.global_route(at),
                Next::Type(ARP) => self.arp(at),
                Next::Type(PAUSE) => match self.half(at) {
                    // Opcode and time; opcode, classes and eight times.
                    Some(1) => self.stop(at + 4),
                    Some(0x0101) => self.stop(at + 20),
                    _ => self.stop(at),
                },
                Next::Type(_) => self.stop(at),
                Next::Infiniband => self.local_route(at),
            };
            match followed {
                Some((behind, what)) => (at, next) = (behind, what),
                None => {
                    // A header that was cut may hold half of an address.
                    if !self.is_whole {
                        self.unknown.get_or_insert(at);
                    }
                    return;
                }
            }
        }
        self.unknown = Some(at);
    }

    const fn finish(&mut self) -> Option<(usize, Next)> {
        self.is_whole = true;
        None
    }

    pub(super) const fn stop(&mut self, at: usize) -> Option<(usize, Next)> {
        self.unknown = Some(at);
        None
    }

    fn ipv4(&mut self, at: usize) -> Option<(usize, Next)> {
        let words = usize::from(self.byte(at)? & 0x0f);
        let len = usize::from(self.half(at + 2)?);
        if self.byte(at)? >> 4 != 4 || words < 5 || (len != 0 && len < 4 * words) {
            return self.stop(at);
        }
        let (transport, end) = (at + 4 * words, at + len);
        for place in [at + 12, at + 16] {
            let address = self.bytes::<4>(place)?;
            let replaced = self.pseudonyms.v4(address);
            put(self.out, place, replaced);
        }
        // Options may hold addresses: no operation.
        for option in self.out.iter_mut().take(transport).skip(at + 20) {
            *option = 1;
        }
        let protocol = self.byte(at + 9)?;
        // The first one, too: readers need a whole packet.
        let is_fragment = self.half(at + 6)? & 0x3fff != 0;
        // With segmentation offload the length may be 0.
        let end = if end <= at { self.out.len() } else { end };
        self.ips.push(IpPlace { start: at, transport, end, is_v6: false, protocol });
        if is_fragment { self.stop(transport) } else { self.transport(protocol, transport) }
    }

    fn ipv6(&mut self, at: usize) -> Option<(usize, Next)> {
        if self.byte(at)? >> 4 != 6 {
            return self.stop(at);
        }
        let end = at + 40 + usize::from(self.half(at + 4)?);
        for place in [at + 8, at + 24] {
            let address = self.bytes::<16>(place)?;
            let replaced = self.pseudonyms.gid(address);
            put(self.out, place, replaced);
        }
        let mut protocol = self.byte(at + 6)?;
        let mut transport = at + 40;
        // Hop-by-hop and destination options.
        while matches!(protocol, 0 | 60) && transport < end {
            protocol = self.byte(transport)?;
            let behind = transport + 8 + 8 * usize::from(self.byte(transport + 1)?);
            // Options may hold addresses: padding.
            self.out.iter_mut().take(behind).skip(transport + 2).for_each(|byte| *byte = 0);
            transport = behind;
        }
        let end = if end <= at + 40 { self.out.len() } else { end };
        self.ips.push(IpPlace { start: at, transport, end, is_v6: true, protocol });
        self.transport(protocol, transport)
    }

    fn transport(&mut self, protocol: u8, at: usize) -> Option<(usize, Next)> {
        match protocol {
            TCP => self.finish(),
            17 if self.bytes::<8>(at).is_none() => self.stop(at),
            17 => match self.half(at + 2)? {
                4791 => self.base_transport(at + 8),
                port @ (4789 | 4790 | 8472 | 6081) => {
                    let is_geneve = port == 6081;
                    let next = if is_geneve { self.geneve(at + 8) } else { self.vxlan(at + 8) };
                    // The source port may be a sum of the addresses within, and nobody reads it.
                    if next.is_some() {
                        put(self.out, at, [0; 2]);
                    }
                    next
                }
                _ => self.stop(at + 8),
            },
            47 => self.routing_encapsulation(at),
            4 => Some((at, Next::Type(IPV4))),
            41 => Some((at, Next::Type(IPV6))),
            _ => self.stop(at),
        }
    }

    /// Other applications use the port, too: what is no BTH becomes zero.
    fn base_transport(&mut self, at: usize) -> Option<(usize, Next)> {
        match self.bytes::<2>(at) {
            Some([opcode, flags]) if is_known(opcode, flags) => {
                self.bth = Some(at);
                self.finish()
            }
            _ => self.stop(at),
        }
    }

    /// InfiniBand's local route header: its LIDs are addresses.
    fn local_route(&mut self, at: usize) -> Option<(usize, Next)> {
        for place in [at + 2, at + 6] {
            let lid = self.half(place)?;
            put(self.out, place, self.pseudonyms.lid(lid).to_be_bytes());
        }
        match self.byte(at + 1)? & 3 {
            3 => self.global_route(at + 8),
            2 => self.base_transport(at + 8),
            _ => self.stop(at + 8),
        }
    }

    fn global_route(&mut self, at: usize) -> Option<(usize, Next)> {
        for place in [at + 8, at + 24] {
            let address = self.bytes::<16>(place)?;
            let replaced = self.pseudonyms.gid(address);
            put(self.out, place, replaced);
        }
        self.base_transport(at + 40)
    }

    fn arp(&mut self, at: usize) -> Option<(usize, Next)> {
        if self.bytes::<6>(at)? != [0, 1, 0x08, 0, 6, 4] {
            return self.stop(at);
        }
        self.mac(at + 8);
        self.mac(at + 18);
        for place in [at + 14, at + 24] {
            let address = self.bytes::<4>(place)?;
            let replaced = self.pseudonyms.v4(address);
            put(self.out, place, replaced);
        }
        zero(self.out, at + 28);
        self.finish()
    }

    fn mac(&mut self, at: usize) {
        if let Some(mac) = self.bytes(at) {
            put(self.out, at, self.pseudonyms.mac(mac));
        }
    }

    pub(super) fn byte(&self, at: usize) -> Option<u8> {
        self.out.get(at).copied()
    }

    pub(super) fn half(&self, at: usize) -> Option<u16> {
        self.bytes(at).map(u16::from_be_bytes)
    }

    pub(super) fn bytes<const N: usize>(&self, at: usize) -> Option<[u8; N]> {
        self.out.get(at..at + N)?.try_into().ok()
    }
}
