//! The headers around RoCEv2 and TCP, as far as they identify a flow.

use railscope_ebpf::loss::Loss;
use railscope_ebpf::table::Address;

use super::log;
use super::maps::{self, LONGEST_HEADER};
use super::packet::Packet;

const VLAN: u16 = 0x8100;
const SERVICE_VLAN: u16 = 0x88a8;
/// IPv6 extension headers of this form: hop-by-hop options, routing, destination options.
const EXTENSIONS: [u8; 3] = [0, 43, 60];
/// How many of them are passed over.
const MOST_EXTENSIONS: usize = 2;
/// No transport header is that far into a packet: with the longest headers, and as long ones of a tunnel, it is
/// at 8,400.
const FARTHEST_TRANSPORT: usize = 0x3fff;
pub(super) const IPV4: u16 = 0x0800;
pub(super) const IPV6: u16 = 0x86dd;

/// TCP (RFC 9293).
pub(super) const TCP: u8 = 6;
/// UDP (RFC 768).
pub(super) const UDP: u8 = 17;

/// A header in its wire layout: fields in network byte order, without padding.
///
/// # Safety
///
/// Every pattern of bits is a value.
pub(super) unsafe trait Header: Copy {}

/// Ethernet (IEEE 802.3, clause 3).
#[repr(C)]
#[derive(Clone, Copy)]
struct Ethernet {
    addresses: [u16; 6],
    ether_type: u16,
}

/// A VLAN tag (IEEE 802.1Q, clause 9), behind the type that announces it.
#[repr(C)]
#[derive(Clone, Copy)]
struct Vlan {
    control: u16,
    ether_type: u16,
}

/// IPv4 (RFC 791, section 3.1).
#[repr(C)]
#[derive(Clone, Copy)]
struct Ipv4 {
    version_and_len: u8,
    traffic_class: u8,
    total_len: u16,
    identification: u16,
    fragment: u16,
    time_to_live: u8,
    protocol: u8,
    checksum: u16,
    source: u32,
    destination: u32,
}

/// IPv6 (RFC 8200, section 3).
#[repr(C)]
#[derive(Clone, Copy)]
struct Ipv6 {
    version_and_class: u16,
    flow_label: u16,
    payload_len: u16,
    next_header: u8,
    hop_limit: u8,
    source: [u32; 4],
    destination: [u32; 4],
}

/// The first bytes of an IPv6 extension header (RFC 8200, section 4).
#[repr(C)]
#[derive(Clone, Copy)]
struct Extension {
    next_header: u8,
    /// In units of 8 bytes, without the first.
    len: u8,
}

// SAFETY: integers only.
unsafe impl Header for Extension {}
// SAFETY: integers only.
unsafe impl Header for Ethernet {}
// SAFETY: integers only.
unsafe impl Header for Vlan {}
// SAFETY: integers only.
unsafe impl Header for Ipv4 {}
// SAFETY: integers only.
unsafe impl Header for Ipv6 {}

/// Facts from an IP header.
pub(super) struct Network {
    pub(super) source: Address,
    pub(super) destination: Address,
    pub(super) protocol: u8,
    /// Differentiated services and ECN.
    pub(super) traffic_class: u8,
    /// Where the header after it begins.
    pub(super) transport: usize,
}

/// An `EtherType`, and where the header after it begins.
pub(super) struct Link {
    pub(super) ether_type: u16,
    pub(super) network: usize,
}

/// Reads the Ethernet header at an offset, with its VLAN tags.
#[inline(always)]
pub(super) fn link(packet: &impl Packet, at: usize) -> Option<Link> {
    let mut ether_type = u16::from_be(load::<Ethernet>(packet, at)?.ether_type);
    let mut offset = at + size_of::<Ethernet>();
    // Two tags at most (IEEE 802.1ad); the outer one is often the NIC's to keep.
    for _ in 0..2 {
        if ether_type != VLAN && ether_type != SERVICE_VLAN {
            break;
        }
        ether_type = u16::from_be(load::<Vlan>(packet, offset)?.ether_type);
        offset += size_of::<Vlan>();
    }
    Some(Link { ether_type, network: offset })
}

/// The address that a frame is sent to, in the lower 48 bits.
#[inline(always)]
pub(super) fn destination(packet: &impl Packet) -> Option<u64> {
    let [high, middle, low, ..] = load::<Ethernet>(packet, 0)?.addresses.map(u16::from_be);
    Some(u64::from(high) << 32 | u64::from(middle) << 16 | u64::from(low))
}

/// Whether it is an address of many (IEEE 802.3, clause 3.2.3: the I/G bit).
#[inline(always)]
pub(super) const fn is_group(address: u64) -> bool {
    address & 1 << 40 != 0
}

/// Reads up to the transport header; `None` for what is not IP, and later fragments. Behind more IPv6
/// extension headers than a few, or fragment headers, there is no transport.
#[inline(always)]
pub(super) fn network(packet: &impl Packet, link: &Link) -> Option<Network> {
    let network = match link.ether_type {
        IPV4 => ipv4(packet, link.network),
        IPV6 => ipv6(packet, link.network),
        _ => None,
    }?;
    Some(network.forgotten())
}

impl Network {
    /// The same, but the verifier knows nothing of it any more. It has followed every combination of tags,
    /// versions and extension headers to here; the code after it, it need only check once.
    #[inline(always)]
    fn forgotten(self) -> Self {
        let nothing = maps::nothing();
        let forget = |address: Address| address.map(|word| word ^ nothing as u32);
        Self {
            source: forget(self.source),
            destination: forget(self.destination),
            protocol: self.protocol ^ nothing as u8,
            traffic_class: self.traffic_class ^ nothing as u8,
            transport: (self.transport ^ nothing as usize) & FARTHEST_TRANSPORT,
        }
    }
}

#[inline(always)]
fn ipv4(packet: &impl Packet, offset: usize) -> Option<Network> {
    let header: Ipv4 = load(packet, offset)?;
    let is_later_fragment = u16::from_be(header.fragment) & 0x1fff != 0;
    let header_len = usize::from(header.version_and_len & 0x0f) * 4;
    if is_later_fragment || header_len < size_of::<Ipv4>() {
        return None;
    }
    Some(Network {
        source: mapped(header.source),
        destination: mapped(header.destination),
        protocol: header.protocol,
        traffic_class: header.traffic_class,
        transport: offset + header_len,
    })
}

#[inline(always)]
fn ipv6(packet: &impl Packet, offset: usize) -> Option<Network> {
    let header: Ipv6 = load(packet, offset)?;
    let mut protocol = header.next_header;
    let mut transport = offset + size_of::<Ipv6>();
    for _ in 0..MOST_EXTENSIONS {
        if protocol != EXTENSIONS[0] && protocol != EXTENSIONS[1] && protocol != EXTENSIONS[2] {
            break;
        }
        let extension: Extension = load(packet, transport)?;
        protocol = extension.next_header;
        transport += (usize::from(extension.len) + 1) * 8;
    }
    Some(Network {
        source: header.source,
        destination: header.destination,
        protocol,
        traffic_class: (u16::from_be(header.version_and_class) >> 4) as u8,
        transport,
    })
}

/// An IPv4 address as an IPv4-mapped IPv6 address (RFC 4291, section 2.5.5.2).
#[inline(always)]
fn mapped(address: u32) -> Address {
    [0, 0, u32::to_be(0xffff), address]
}

/// A header of the packet; `None`, and counted, if the packet has it but it cannot be read. A header in
/// the packet's first piece, where headers nearly always are, takes no helper call.
#[inline(always)]
pub(super) fn load<T: Header>(packet: &impl Packet, offset: usize) -> Option<T> {
    let at = packet.data() + offset;
    if at + size_of::<T>() <= packet.data_end() {
        // SAFETY: the verifier sees the comparison above; every bit pattern is a value.
        return Some(unsafe { (at as *const T).read_unaligned() });
    }
    if offset + size_of::<T>() > packet.len() as usize {
        return None;
    }
    let header = gather(packet, offset);
    if header.is_none() {
        log::lost(Loss::Header);
    }
    header
}

/// A header that is elsewhere, perhaps in several pieces. It is assembled in a map: the compiler reads
/// unaligned fields, which the verifier refuses on the stack.
#[inline(always)]
fn gather<T: Header>(packet: &impl Packet, offset: usize) -> Option<T> {
    const { assert!(size_of::<T>() <= LONGEST_HEADER) };
    let room = maps::scratch()?;
    // SAFETY: the buffer is this CPU's own, and long enough; every bit pattern is a value.
    unsafe {
        let is_read = packet.read(offset as u32, room.cast(), size_of::<T>() as u32);
        is_read.then(|| room.cast::<T>().read_unaligned())
    }
}

/// Copies `len` bytes of the packet, from `offset`: from 1 to `ROOM`, which is a power of two, or none if
/// `len` is 0. Returns whether the packet has them.
///
/// `len` is in the record that is written: the verifier knows nothing of values read from there, so all
/// paths to here are one to it. Masking gives bounds without a comparison: the compiler merges two
/// comparisons into one, from which older verifiers (seen: Linux 6.1) derive no minimum.
///
/// # Safety
///
/// `len` and `room` can be read and written; at most `ROOM` bytes are written, whatever `len` is.
#[inline(always)]
pub(super) unsafe fn copy<const ROOM: usize>(
    packet: &impl Packet,
    offset: u32,
    len: *const (impl Copy + Into<u64>),
    room: *mut [u8; ROOM],
) -> bool {
    const { assert!(ROOM == 0 || ROOM.is_power_of_two()) };
    if ROOM == 0 {
        return true;
    }
    // SAFETY: by the caller; from 1 to `ROOM` bytes fit.
    unsafe {
        let before_last = len.read_volatile().into().wrapping_sub(1) & (ROOM as u64 - 1);
        let len = before_last as u32 + 1;
        packet.read(offset, room.cast(), len)
    }
}

/// Copies the first `len` bytes of the packet, 8 or more; returns whether its first piece has them. Where it
/// has, that is faster than [`copy`] with its helper call.
///
/// # Safety
///
/// As many bytes can be written to `room`.
#[inline(always)]
pub(super) unsafe fn copy_words(packet: &impl Packet, len: usize, room: *mut u8) -> bool {
    let (from, word) = (packet.data(), size_of::<u64>());
    if from + len > packet.data_end() {
        return false;
    }
    // SAFETY: by the caller, and by the comparison above, which the verifier sees.
    let copy = |at: usize| unsafe {
        let bytes = ((from + at) as *const u64).read_unaligned();
        room.add(at).cast::<u64>().write_unaligned(bytes);
    };
    // The compiler unrolls this: older verifiers refuse a loop that is entered in its middle.
    let mut at = 0;
    while at < len - word {
        copy(at);
        at += word;
    }
    // The last word overlaps the one before it.
    copy(len - word);
    true
}
