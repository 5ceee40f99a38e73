//! Rewrites a frame in place: its length and its headers' shape stay, so do sequence numbers, queue pair
//! numbers, ECN and sizes. What no reader needs becomes zero.

use std::net::{IpAddr, SocketAddr};

use super::pseudonym::Pseudonyms;
use super::stream::Streams;
use super::sums::{self, IpPlace, put};
use railscope_core::decode::frame::decode_with;
use railscope_core::decode::nccl::cts::Cts;
use railscope_core::decode::packet::{Body, Packet, TcpFlags, TcpSegment};
use railscope_core::decode::roce::packet::RocePacket;
use railscope_core::model::frame::Frame;
use railscope_core::model::qpn::Qpn;
use railscope_core::model::tap::LinkType;

/// Bytes of a message that the analysis compares with those of others.
const HEAD_BYTES: usize = 32;
/// Most MPLS labels of a packet.
const LABELS: usize = 8;
/// Most nested tunnels.
const DEPTH_LIMIT: usize = 6;
/// Bytes of a management datagram's header.
const MAD_HEADER: usize = 24;
/// The management class of connection management.
const CM_CLASS: u8 = 0x07;
/// GUID and end of what is needed, from the MAD's start, by attribute of connection management: REQ, REP.
/// Behind a REQ's fields are 36 bytes in which rdma_cm writes addresses.
const CM_REQUEST: (u16, usize, usize) = (0x0010, MAD_HEADER + 16, MAD_HEADER + 140 + 36);
const CM_REPLY: (u16, usize, usize) = (0x0013, MAD_HEADER + 28, MAD_HEADER + 36);

const TCP: u8 = 6;

const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
const ARP: u16 = 0x0806;
const PAUSE: u16 = 0x8808;
const ROCE_V1: u16 = 0x8915;
const VLANS: [u16; 3] = [0x8100, 0x88a8, 0x9100];
const MPLS: [u16; 2] = [0x8847, 0x8848];
const ETHERNET_IN_GRE: u16 = 0x6558;
const ERSPAN_I_II: u16 = 0x88be;
const ERSPAN_III: u16 = 0x22eb;

/// What is at an offset.
#[derive(Clone, Copy)]
enum Next {
    Ethernet,
    Type(u16),
    Infiniband,
}

/// A rewritten frame.
struct Draft<'a> {
    out: &'a mut Vec<u8>,
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
    let mut draft =
        Draft { out, pseudonyms, ips: Vec::new(), bth: None, unknown: None, is_whole: false };
    draft.link(frame.link_type);
    let unknown = draft.unknown;
    let (ips, bth) = (std::mem::take(&mut draft.ips), draft.bth);
    if let Some(from) = unknown {
        zero(out, from);
        pack(out, &ips);
        return from < frame.bytes.len();
    }
    decode_with(frame, |packet| match &packet.body {
        Body::Roce(roce) => {
            if let Some(bth) = bth {
                rewrite_roce(roce, bth, pseudonyms, out);
            }
            pack(out, &ips);
            if let Some(ip) = ips.last() {
                sums::invariant(out, ip, roce.has_valid_icrc());
            }
        }
        Body::Tcp(segment) => {
            if let Some(ip) = ips.last() {
                clear_options(out, ip.transport);
            }
            rewrite_tcp(frame, packet, segment, streams, out);
            pack(out, &ips);
        }
        // It looked like RDMA or TCP, and cannot be read.
        _ => {
            let transport = ips.last().filter(|ip| ip.protocol == TCP).map(|ip| ip.transport);
            if let Some(from) = bth.or(transport) {
                zero(out, from);
            }
            pack(out, &ips);
        }
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

/// Turns TCP options into no operation but for those that are about the transfer: others may name a client.
fn clear_options(out: &mut [u8], header: usize) {
    let words = out.get(header + 12).map_or(0, |byte| usize::from(byte >> 4));
    let end = header + 4 * words;
    let mut at = header + 20;
    while at < end {
        let length = out.get(at + 1).map_or(1, |byte| usize::from(*byte));
        let taken = match out.get(at).copied() {
            Some(1) => 1,
            // Segment size, window scale, selective acknowledgements, timestamps.
            Some(2..=5 | 8) if length >= 2 && at + length <= end => length,
            Some(0) | None => break,
            Some(_) => {
                let other = if length < 2 { end - at } else { length.min(end - at) };
                out.iter_mut().skip(at).take(other).for_each(|byte| *byte = 1);
                other
            }
        };
        at += taken;
    }
    let rest = end.saturating_sub(at);
    out.iter_mut().skip(at).take(rest).for_each(|byte| *byte = 0);
}

fn rewrite_tcp(
    frame: &Frame<'_>,
    packet: &Packet<'_>,
    segment: &TcpSegment<'_>,
    streams: &mut Streams,
    out: &mut [u8],
) {
    let Some(ip) = packet.ip else { return };
    let end = |address: IpAddr, port| SocketAddr::new(address, port);
    let source = end(ip.source, segment.ports.source);
    let destination = end(ip.destination, segment.ports.destination);
    // The payload is a part of the frame's bytes.
    let start = (segment.payload.as_ptr() as usize).wrapping_sub(frame.bytes.as_ptr() as usize);
    let range = start..start.saturating_add(segment.payload.len());
    let is_begin = segment.flags.has(TcpFlags::SYN);
    let Some(payload) = out.get_mut(range) else { return };
    streams.replace((frame.tap, source, destination), segment.sequence, is_begin, payload);
}

/// Rewrites the extension headers and the payload behind a BTH.
fn rewrite_roce(roce: &RocePacket<'_>, bth: usize, pseudonyms: &Pseudonyms, out: &mut [u8]) {
    let mut at = bth + 12;
    let mut field = |is_there: bool, len: usize| {
        let start = at;
        at += if is_there { len } else { 0 };
        is_there.then_some(start)
    };
    field(roce.rdeth.is_some(), 4);
    field(roce.deth.is_some(), 8);
    field(roce.xrceth.is_some(), 4);
    field(roce.feth.is_some(), 4);
    let reth = field(roce.reth.is_some(), 16);
    let atomic = field(roce.atomic.is_some(), 28);
    field(roce.aeth.is_some(), 4);
    let original = field(roce.atomic_ack.is_some(), 8);
    field(roce.immediate.is_some(), 4);
    let invalidated = field(roce.ieth.is_some(), 4);
    if let Some(at) = reth.or(atomic) {
        word64(out, at, |address| pseudonyms.virtual_address(address));
        word32(out, at + 8, |key| pseudonyms.remote_key(key));
    }
    for at in atomic.iter().flat_map(|at| [at + 12, at + 20]).chain(original) {
        word64(out, at, |value| if value == 0 { 0 } else { pseudonyms.hash(value) });
    }
    if let Some(at) = invalidated {
        word32(out, at, |key| pseudonyms.remote_key(key));
    }
    let start = roce.payload_offset as usize;
    let Some(payload) = out.get_mut(start..start.saturating_add(roce.payload.len())) else {
        return;
    };
    if start == 0 {
        // A header was cut, and what is left of it may hold an address.
        return zero(out, at);
    }
    if roce.bth.opcode.name() == Some("CNP") {
        return payload.fill(0);
    }
    rewrite_payload(roce, pseudonyms, payload);
    // Pad bytes, of which nothing is known; the ICRC is computed later.
    let end = start + roce.payload.len();
    let pad = usize::from(roce.bth.pad_count);
    if let Some(pad) = out.get_mut(end..end.saturating_add(pad)) {
        pad.fill(0);
    }
}

fn rewrite_payload(roce: &RocePacket<'_>, pseudonyms: &Pseudonyms, payload: &mut [u8]) {
    if roce.deth.is_some() && roce.bth.dest_qpn == Qpn::GSI {
        return rewrite_management(payload, pseudonyms);
    }
    if let Some(reth) = &roce.reth
        && let Some((_, layout)) = Cts::recognise(payload, reth.dma_len)
    {
        let keys_end = layout.requests.unwrap_or(layout.remote_key + 4);
        for element in payload.chunks_mut(layout.len) {
            word64_le(element, 0, |address| pseudonyms.virtual_address(address));
            for at in (layout.remote_key..keys_end).step_by(4) {
                word32_le(element, at, |key| pseudonyms.remote_key(key));
            }
        }
        return;
    }
    let name = roce.bth.opcode.name().unwrap_or_default();
    let is_begin = name.contains("FIRST") || name.contains("ONLY");
    let head = if is_begin { HEAD_BYTES.min(payload.len()) } else { 0 };
    let (head, rest) = payload.split_at_mut(head);
    rest.fill(0);
    // Nothing sent is nothing to hide, and readers may know zeros.
    if head.iter().any(|byte| *byte != 0) {
        pseudonyms.digest(head);
    }
}

/// Of management, connections of queue pairs are kept: numbers, GIDs, and addresses of rdma_cm.
fn rewrite_management(mad: &mut [u8], pseudonyms: &Pseudonyms) {
    let class = mad.get(1).copied();
    let attribute = mad.get(16..18).map(|pair| u16::from_be_bytes([pair[0], pair[1]]));
    let known = [CM_REQUEST, CM_REPLY].into_iter().find(|(one, ..)| Some(*one) == attribute);
    let Some((kind, guid, end)) = known.filter(|_| class == Some(CM_CLASS)) else {
        // Of the others, what names two connections and why one was refused comes first.
        let kept = if class == Some(CM_CLASS) { MAD_HEADER + 12 } else { MAD_HEADER };
        return zero(mad, kept);
    };
    zero(mad, end);
    if let Some(bytes) = mad.get(guid..guid + 8).and_then(|bytes| bytes.try_into().ok()) {
        put(mad, guid, pseudonyms.guid(bytes));
    }
    if kind != CM_REQUEST.0 {
        return;
    }
    // Primary and alternate path: two GIDs each, 44 bytes apart, behind the LIDs.
    for at in [MAD_HEADER + 56, MAD_HEADER + 72, MAD_HEADER + 100, MAD_HEADER + 116] {
        if let Some(gid) = mad.get(at..at + 16).and_then(|gid| gid.try_into().ok()) {
            put(mad, at, pseudonyms.fixed_gid(gid));
        }
    }
    // rdma_cm: version, IP version, port, source, destination; IPv4 is in the last four bytes.
    let private = MAD_HEADER + 140;
    let is_v4 = mad.get(private + 1).is_some_and(|byte| byte >> 4 == 4);
    for at in [private + 4, private + 20] {
        let Some(address) = mad.get(at..at + 16).and_then(|it| <[u8; 16]>::try_from(it).ok())
        else {
            continue;
        };
        let [.., a, b, c, d] = address;
        if is_v4 {
            put(mad, at, [0; 12]);
            put(mad, at + 12, pseudonyms.fixed_v4([a, b, c, d]));
        } else {
            put(mad, at, pseudonyms.fixed_gid(address));
        }
    }
}

fn word64(out: &mut [u8], at: usize, change: impl FnOnce(u64) -> u64) {
    let Some(bytes) = out.get(at..at + 8).and_then(|it| it.try_into().ok()) else { return };
    put(out, at, change(u64::from_be_bytes(bytes)).to_be_bytes());
}

fn word32(out: &mut [u8], at: usize, change: impl FnOnce(u32) -> u32) {
    let Some(bytes) = out.get(at..at + 4).and_then(|it| it.try_into().ok()) else { return };
    put(out, at, change(u32::from_be_bytes(bytes)).to_be_bytes());
}

fn word64_le(out: &mut [u8], at: usize, change: impl FnOnce(u64) -> u64) {
    let Some(bytes) = out.get(at..at + 8).and_then(|it| it.try_into().ok()) else { return };
    put(out, at, change(u64::from_le_bytes(bytes)).to_le_bytes());
}

fn word32_le(out: &mut [u8], at: usize, change: impl FnOnce(u32) -> u32) {
    let Some(bytes) = out.get(at..at + 4).and_then(|it| it.try_into().ok()) else { return };
    put(out, at, change(u32::from_le_bytes(bytes)).to_le_bytes());
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
        if let Some(kind) = self.half(kind) {
            self.walk(len, Next::Type(kind));
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
                Next::Type(kind) if VLANS.contains(&kind) => {
                    self.half(at + 2).map(|kind| (at + 4, Next::Type(kind)))
                }
                Next::Type(kind) if MPLS.contains(&kind) => self.labels(at),
                Next::Type(IPV4) => self.ipv4(at),
                Next::Type(IPV6) => self.ipv6(at),
                Next::Type(ROCE_V1) => self.global_route(at),
                Next::Type(ARP) => self.arp(at),
                Next::Type(PAUSE) => {
                    // Opcode, classes, eight times.
                    zero(self.out, at + 20);
                    self.finish()
                }
                Next::Type(_) => self.stop(at),
                Next::Infiniband => match self.byte(at + 1).map(|byte| byte & 3) {
                    Some(3) => self.global_route(at + 8),
                    Some(2) => {
                        self.bth = Some(at + 8);
                        self.finish()
                    }
                    _ => self.stop(at + 8),
                },
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

    const fn stop(&mut self, at: usize) -> Option<(usize, Next)> {
        self.unknown = Some(at);
        None
    }

    fn labels(&mut self, mut at: usize) -> Option<(usize, Next)> {
        let first = at;
        while self.byte(at + 2)? & 1 == 0 {
            at += 4;
            if at > first + 4 * LABELS {
                return self.stop(first);
            }
        }
        at += 4;
        match self.byte(at)? >> 4 {
            4 => Some((at, Next::Type(IPV4))),
            6 => Some((at, Next::Type(IPV6))),
            _ => self.stop(at),
        }
    }

    fn ipv4(&mut self, at: usize) -> Option<(usize, Next)> {
        let words = usize::from(self.byte(at)? & 0x0f);
        if words < 5 {
            return self.stop(at);
        }
        let (transport, end) = (at + 4 * words, at + usize::from(self.half(at + 2)?));
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
        let is_fragment = self.half(at + 6)? & 0x1fff != 0;
        // With segmentation offload the length may be 0.
        let end = if end <= at { self.out.len() } else { end };
        self.ips.push(IpPlace { start: at, transport, end, is_v6: false, protocol });
        if is_fragment { self.stop(transport) } else { self.transport(protocol, transport) }
    }

    fn ipv6(&mut self, at: usize) -> Option<(usize, Next)> {
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
                4791 => {
                    self.bth = Some(at + 8);
                    self.finish()
                }
                4789 | 8472 => Some((at + 16, Next::Ethernet)),
                6081 => {
                    let options = 4 * usize::from(self.byte(at + 8)? & 0x3f);
                    for byte in self.out.iter_mut().take(at + 16 + options).skip(at + 16) {
                        *byte = 0;
                    }
                    let kind = self.half(at + 10)?;
                    let next =
                        if kind == ETHERNET_IN_GRE { Next::Ethernet } else { Next::Type(kind) };
                    Some((at + 16 + options, next))
                }
                _ => self.stop(at + 8),
            },
            47 => self.routing_encapsulation(at),
            4 => Some((at, Next::Type(IPV4))),
            41 => Some((at, Next::Type(IPV6))),
            _ => self.stop(at + 4),
        }
    }

    fn routing_encapsulation(&mut self, at: usize) -> Option<(usize, Next)> {
        let (flags, kind) = (self.half(at)?, self.half(at + 2)?);
        let has = |bit: u16| usize::from(flags & bit != 0) * 4;
        let behind = at + 4 + has(0x8000) + has(0x2000) + has(0x1000);
        match kind {
            ETHERNET_IN_GRE => Some((behind, Next::Ethernet)),
            ERSPAN_I_II if flags & 0x1000 == 0 => Some((behind, Next::Ethernet)),
            ERSPAN_I_II => Some((behind + 8, Next::Ethernet)),
            ERSPAN_III => {
                let optional = 8 * usize::from(self.byte(behind + 11)? & 1);
                Some((behind + 12 + optional, Next::Ethernet))
            }
            IPV4 | IPV6 => Some((behind, Next::Type(kind))),
            _ => self.stop(behind),
        }
    }

    fn global_route(&mut self, at: usize) -> Option<(usize, Next)> {
        for place in [at + 8, at + 24] {
            let address = self.bytes::<16>(place)?;
            let replaced = self.pseudonyms.gid(address);
            put(self.out, place, replaced);
        }
        self.bth = Some(at + 40);
        self.finish()
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

    fn byte(&self, at: usize) -> Option<u8> {
        self.out.get(at).copied()
    }

    fn half(&self, at: usize) -> Option<u16> {
        self.bytes(at).map(u16::from_be_bytes)
    }

    fn bytes<const N: usize>(&self, at: usize) -> Option<[u8; N]> {
        self.out.get(at..at + N)?.try_into().ok()
    }
}
