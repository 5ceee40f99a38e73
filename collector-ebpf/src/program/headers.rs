//! The headers around RoCEv2 and TCP, as far as they tell one flow from another.

use aya_ebpf::programs::TcContext;
use railscope_ebpf::loss::Loss;

use super::maps;

const ETHERNET_LEN: usize = 14;
const VLAN_LEN: usize = 4;
const IPV4_LEN: usize = 20;
const IPV6_LEN: usize = 40;

const VLAN: u16 = 0x8100;
const SERVICE_VLAN: u16 = 0x88a8;
const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;

/// TCP (RFC 9293).
pub(super) const TCP: u8 = 6;
/// UDP (RFC 768).
pub(super) const UDP: u8 = 17;

/// What an IP packet says of itself.
pub(super) struct Network {
    pub(super) source: [u8; 16],
    pub(super) destination: [u8; 16],
    pub(super) protocol: u8,
    /// Differentiated services and ECN.
    pub(super) traffic_class: u8,
    /// Where the header after it begins.
    pub(super) transport: usize,
}

/// Reads up to the transport header; `None` for what is neither RoCEv2 nor TCP: other protocols,
/// later fragments, IPv6 with extension headers.
#[inline(always)]
pub(super) fn network(context: &TcContext) -> Option<Network> {
    let ethernet: [u8; ETHERNET_LEN] = load(context, 0)?;
    let mut ether_type = u16::from_be_bytes([ethernet[12], ethernet[13]]);
    let mut offset = ETHERNET_LEN;
    // Two tags at most (IEEE 802.1ad); the outer one is often the NIC's to keep.
    for _ in 0..2 {
        if ether_type != VLAN && ether_type != SERVICE_VLAN {
            break;
        }
        let tag: [u8; VLAN_LEN] = load(context, offset)?;
        ether_type = u16::from_be_bytes([tag[2], tag[3]]);
        offset += VLAN_LEN;
    }
    match ether_type {
        IPV4 => ipv4(context, offset),
        IPV6 => ipv6(context, offset),
        _ => None,
    }
}

#[inline(always)]
fn ipv4(context: &TcContext, offset: usize) -> Option<Network> {
    let header: [u8; IPV4_LEN] = load(context, offset)?;
    let is_later_fragment = header[6] & 0x1f != 0 || header[7] != 0;
    let header_len = usize::from(header[0] & 0x0f) * 4;
    if is_later_fragment || header_len < IPV4_LEN {
        return None;
    }
    Some(Network {
        source: mapped([header[12], header[13], header[14], header[15]]),
        destination: mapped([header[16], header[17], header[18], header[19]]),
        protocol: header[9],
        traffic_class: header[1],
        transport: offset + header_len,
    })
}

#[inline(always)]
fn ipv6(context: &TcContext, offset: usize) -> Option<Network> {
    let header: [u8; IPV6_LEN] = load(context, offset)?;
    let mut source = [0; 16];
    let mut destination = [0; 16];
    source.copy_from_slice(&header[8..24]);
    destination.copy_from_slice(&header[24..40]);
    Some(Network {
        source,
        destination,
        protocol: header[6],
        traffic_class: header[0] << 4 | header[1] >> 4,
        transport: offset + IPV6_LEN,
    })
}

/// An IPv4 address as an IPv4-mapped IPv6 address (RFC 4291, section 2.5.5.2).
#[inline(always)]
fn mapped(address: [u8; 4]) -> [u8; 16] {
    let [a, b, c, d] = address;
    [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, a, b, c, d]
}

/// Bytes of the packet; `None`, and counted, where it has them but they cannot be read. Where they lie
/// in the packet's first piece, as headers nearly always do, that takes no call.
#[inline(always)]
pub(super) fn load<const N: usize>(context: &TcContext, offset: usize) -> Option<[u8; N]> {
    let at = context.data() + offset;
    if at + N <= context.data_end() {
        // SAFETY: the verifier sees the comparison above.
        return Some(unsafe { (at as *const [u8; N]).read_unaligned() });
    }
    let bytes = context.load(offset).ok();
    if bytes.is_none() && offset + N <= context.len() as usize {
        maps::count(Loss::Header);
    }
    bytes
}

/// The tag that the NIC took off: TCI and above it the tag's protocol; 0 for none.
#[inline(always)]
pub(super) fn vlan(context: &TcContext) -> u32 {
    let skb = context.skb.skb;
    // SAFETY: the kernel's, alive while the program runs.
    unsafe {
        if (*skb).vlan_present == 0 {
            return 0;
        }
        let protocol = u16::from_be((*skb).vlan_proto as u16);
        u32::from(protocol) << 16 | (*skb).vlan_tci & 0xffff
    }
}
