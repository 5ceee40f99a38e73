//! Rewrites a frame in place: its length and its headers' shape stay, so do sequence numbers, queue pair
//! numbers, ECN and sizes. What no reader needs becomes zero.

use std::net::{IpAddr, SocketAddr};

use super::claim::Claims;
use super::pseudonym::Pseudonyms;
use super::stream::Streams;
use super::sums::{self, IpPlace, put};
use railscope_core::decode::frame::decode_with;
use railscope_core::decode::nccl::cts::{Cts, CtsLayout};
use railscope_core::decode::packet::{Body, Packet, TcpFlags, TcpSegment};
use railscope_core::decode::roce::packet::RocePacket;
use railscope_core::model::frame::Frame;
use railscope_core::model::nccl::RANK_LIMIT;
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
/// Attribute of connection management, bytes of its fields, and where a GUID is in them: REQ, MRA, REJ, REP, RTU,
/// DREQ, DREP.
const CM_FIELDS: [(u16, usize, usize); 7] = [
    (CM_REQUEST, 140, 16),
    (0x0011, 10, 0),
    (0x0012, 12, 0),
    (0x0013, 36, 28),
    (0x0014, 8, 0),
    (0x0015, 12, 0),
    (0x0016, 8, 0),
];
const CM_REQUEST: u16 = 0x0010;

/// More than the memory of a host, and more messages than a connection carries.
const CAPACITY: u64 = 1 << 40;
const NUMBERS: u64 = 1 << 48;

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
        rewrite_options(before, out);
    }
    let is_begin = segment.flags.has(TcpFlags::SYN);
    let Some(payload) = out.get_mut(start..start + segment.payload.len()) else { return };
    streams.replace((frame.tap, source, destination), segment.sequence, is_begin, payload);
}

/// Writes the headers from the BTH on, and what stands for the payload.
fn rewrite_roce(
    before: &[u8],
    roce: &RocePacket<'_>,
    bth: usize,
    pseudonyms: &mut Pseudonyms,
    out: &mut [u8],
) {
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
    // A header that was cut may hold a part of an address: then nothing comes back.
    let Some((to, from)) = out.get_mut(bth..at).zip(before.get(bth..at)) else { return };
    to.copy_from_slice(from);
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
    let end = at + roce.payload.len();
    if roce.payload_offset as usize != at || roce.bth.opcode.name() == Some("CNP") {
        return;
    }
    if let Some((payload, from)) = out.get_mut(at..end).zip(before.get(at..end)) {
        rewrite_payload(roce, from, pseudonyms, payload);
    }
}

/// Writes what stands for the payload `before` into `out`, which is zero.
fn rewrite_payload(
    roce: &RocePacket<'_>,
    before: &[u8],
    pseudonyms: &mut Pseudonyms,
    out: &mut [u8],
) {
    if roce.deth.is_some() && roce.bth.dest_qpn == Qpn::GSI {
        return rewrite_management(before, pseudonyms, out);
    }
    if let Some(reth) = &roce.reth
        && let Some((cts, layout)) = Cts::recognise(before, reth.dma_len)
        && cts.capacity < CAPACITY
        && cts.tag.is_none_or(|tag| tag < RANK_LIMIT)
    {
        for (before, out) in before.chunks(layout.len).zip(out.chunks_mut(layout.len)) {
            rewrite_clear_to_send(before, layout, pseudonyms, out);
        }
        return;
    }
    let name = roce.bth.opcode.name().unwrap_or_default();
    let is_begin = name.contains("FIRST") || name.contains("ONLY");
    let head = if is_begin { HEAD_BYTES.min(before.len()) } else { 0 };
    // Nothing sent is nothing to hide, and readers may know zeros.
    if let Some((out, before)) = out.get_mut(..head).zip(before.get(..head))
        && before.iter().any(|byte| *byte != 0)
    {
        out.copy_from_slice(before);
        pseudonyms.digest(out);
    }
}

/// An element of NET/IB's FIFO.
fn rewrite_clear_to_send(
    before: &[u8],
    layout: &CtsLayout,
    pseudonyms: &Pseudonyms,
    out: &mut [u8],
) {
    let mut claims = Claims::new(before);
    if let Some(address) = claims.long(0) {
        claims.put(0, pseudonyms.virtual_address(address).to_le_bytes());
    }
    if layout.has_wide_size && claims.long(8).is_some_and(|size| size < CAPACITY) {
        claims.keep(8, 8);
    } else if !layout.has_wide_size {
        claims.keep(8, 4);
    }
    for at in (layout.remote_key..layout.requests.unwrap_or(layout.remote_key + 4)).step_by(4) {
        if let Some(key) = claims.word(at) {
            claims.put(at, pseudonyms.remote_key(key).to_le_bytes());
        }
    }
    match layout.requests {
        Some(at) => {
            claims.count(at, 1 << 8);
            claims.count(at + 4, RANK_LIMIT);
            if claims.long(layout.number).is_some_and(|number| number < NUMBERS) {
                claims.keep(layout.number, 8);
            }
        }
        None => claims.keep(layout.number, 4),
    }
    out.copy_from_slice(&claims.out);
}

/// Of management, connections of queue pairs are kept: numbers, GIDs, and addresses of rdma_cm.
fn rewrite_management(before: &[u8], pseudonyms: &mut Pseudonyms, out: &mut [u8]) {
    let mut claims = Claims::new(before);
    claims.keep(0, MAD_HEADER);
    let attribute = claims.bytes(16).map_or(0, u16::from_be_bytes);
    if before.get(1) == Some(&CM_CLASS)
        && let Some((_, kept, guid)) = CM_FIELDS.iter().find(|(kind, ..)| *kind == attribute)
    {
        claims.keep(MAD_HEADER, *kept);
        if let Some(bytes) = claims.bytes(MAD_HEADER + guid).filter(|_| *guid > 0) {
            claims.put(MAD_HEADER + guid, pseudonyms.guid(bytes));
        }
        if attribute == CM_REQUEST {
            rewrite_paths(&mut claims, pseudonyms);
        }
    }
    out.copy_from_slice(&claims.out);
}

/// Addresses in a request for a connection.
fn rewrite_paths(claims: &mut Claims<'_>, pseudonyms: &mut Pseudonyms) {
    // Primary and alternate path: two GIDs each, 44 bytes apart, behind the LIDs.
    for at in [MAD_HEADER + 56, MAD_HEADER + 72, MAD_HEADER + 100, MAD_HEADER + 116] {
        match claims.bytes(at) {
            Some(gid) => claims.put(at, pseudonyms.gid(gid)),
            // It was cut.
            None => claims.out.iter_mut().skip(at).for_each(|byte| *byte = 0),
        }
    }
    // Only what rdma_cm wrote is known: version, IP version, port, source, destination; IPv4 is in the last four
    // bytes.
    let private = MAD_HEADER + 140;
    let is_rdma_cm = claims.bytes(MAD_HEADER + 8) == Some([0, 0, 0, 0, 1]);
    let Some([0, version]) = claims.bytes(private).filter(|_| is_rdma_cm) else { return };
    if !matches!(version >> 4, 4 | 6) {
        return;
    }
    claims.keep(private, 4);
    for at in [private + 4, private + 20] {
        let Some(address) = claims.bytes::<16>(at) else { continue };
        let [.., a, b, c, d] = address;
        if version >> 4 == 4 {
            claims.put(at + 12, pseudonyms.v4([a, b, c, d]));
        } else {
            claims.put(at, pseudonyms.gid(address));
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
            _ => self.stop(at),
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
                // Of whatever the switch's maker wants.
                self.out.iter_mut().skip(behind + 12).take(optional).for_each(|byte| *byte = 0);
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
