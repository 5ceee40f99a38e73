//! Frames built layer by layer, outermost first, by an encoder of our own. A built frame records
//! where each layer is, so a test can cut it anywhere and knows what must be left.

use super::ip::{FRAGMENT, Ipv4, Ipv6, internet_checksum};
use super::roce::{Roce, icrc, meaning};

/// Link-layer header types of tcpdump.org, by number.
pub const ETHERNET: u32 = 1;
pub const RAW_IP: u32 = 101;
pub const LOOPBACK_HOST_ORDER: u32 = 0;
pub const LOOPBACK_NETWORK_ORDER: u32 = 108;
pub const COOKED_V1: u32 = 113;
pub const COOKED_V2: u32 = 276;
pub const INFINIBAND: u32 = 247;
pub const ERF: u32 = 197;

/// The MAC addresses of every built Ethernet header.
pub const SOURCE_MAC: [u8; 6] = [0x02, 0, 0, 0, 0, 0x0a];
pub const DESTINATION_MAC: [u8; 6] = [0x02, 0, 0, 0, 0, 0x0b];

/// Where a layer is in a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayerPlace {
    /// The layer's name in stop reasons.
    pub layer: &'static str,
    pub offset: usize,
    /// The lengths that a reader must ask for, in order: the last one is the layer's length, the
    /// others are needed to know the next one.
    pub needs: Vec<usize>,
}

impl LayerPlace {
    /// One past the layer's last byte.
    pub fn end(&self) -> usize {
        self.offset + self.needs.last().unwrap()
    }
}

/// A finished frame.
#[derive(Clone, Debug)]
pub struct Built {
    pub link_type: u32,
    pub bytes: Vec<u8>,
    /// The headers, outermost first.
    pub places: Vec<LayerPlace>,
    /// Where the innermost IP packet starts; it ends with its ICRC.
    pub ip_offset: usize,
    /// Where the IP packet ends; Ethernet padding follows.
    pub ip_end: usize,
}

/// The header that a mirroring switch puts in front of the mirrored Ethernet frame.
#[derive(Clone, Copy, Debug)]
pub enum Erspan {
    I,
    Ii { session: u16, sequence: u32, truncated: bool },
    Iii { session: u16, sequence: u32, truncated: bool, egress: bool, has_sub_header: bool },
}

/// Destination of pause frames; bridges do not forward it (IEEE 802.3, annex 31B).
const PAUSE_MAC: [u8; 6] = [0x01, 0x80, 0xc2, 0, 0, 0x01];

/// A field, still zero, in which a layer names the next one.
#[derive(Clone, Copy)]
enum Next {
    Nothing,
    EtherType(usize),
    Protocol(usize),
    Family { at: usize, is_big_endian: bool },
}

/// A length field, filled in when the frame is complete.
#[derive(Clone, Copy)]
enum Length {
    Ipv4(usize),
    Ipv6(usize),
    Udp(usize),
}

/// A header of IPv6, or a global route header, still without its length.
fn ipv6_header(ip: &Ipv6, next_header: u8) -> Vec<u8> {
    let word = 6 << 28 | u32::from(ip.traffic_class) << 20 | ip.flow_label;
    let mut header = word.to_be_bytes().to_vec();
    header.extend([0, 0, next_header, ip.hop_limit]);
    header.extend(ip.source);
    header.extend(ip.destination);
    header
}

/// A frame under construction.
#[derive(Clone)]
pub struct FrameBuilder {
    link_type: u32,
    bytes: Vec<u8>,
    places: Vec<LayerPlace>,
    next: Next,
    lengths: Vec<Length>,
    ip_offset: usize,
    wants_icrc: bool,
    trailer_bytes: usize,
}

impl FrameBuilder {
    fn start(link_type: u32) -> Self {
        Self {
            link_type,
            bytes: Vec::new(),
            places: Vec::new(),
            next: Next::Nothing,
            lengths: Vec::new(),
            ip_offset: 0,
            wants_icrc: false,
            trailer_bytes: 0,
        }
    }

    /// A frame that starts with an Ethernet header.
    pub fn ethernet() -> Self {
        Self::start(ETHERNET).inner_ethernet()
    }

    /// A frame without link layer: it begins with the IP header, whose first byte gives the
    /// version.
    pub fn raw_ip() -> Self {
        let mut frame = Self::start(RAW_IP);
        frame.places.push(LayerPlace { layer: "link", offset: 0, needs: vec![1] });
        frame
    }

    /// A frame in Linux cooked form, version 1; `packet_type` 0 is received, 4 is sent.
    pub fn cooked_v1(packet_type: u8) -> Self {
        let mut header = vec![0, packet_type, 0, 1, 0, 6];
        header.extend(SOURCE_MAC);
        header.extend([0; 4]);
        let mut frame = Self::start(COOKED_V1);
        frame.layer("linux_cooked", 16, &header);
        frame.next = Next::EtherType(14);
        frame
    }

    /// Linux cooked form, version 2, captured on interface 7.
    pub fn cooked_v2(packet_type: u8) -> Self {
        let mut header = vec![0, 0, 0, 0, 0, 0, 0, 7, 0, 1, packet_type, 6];
        header.extend(SOURCE_MAC);
        header.extend([0; 2]);
        let mut frame = Self::start(COOKED_V2);
        frame.layer("linux_cooked", 20, &header);
        frame.next = Next::EtherType(0);
        frame
    }

    /// A frame of a loopback interface: an address family in this byte order.
    pub fn loopback(link_type: u32, is_big_endian: bool) -> Self {
        let mut frame = Self::start(link_type);
        frame.layer("loopback", 4, &[0; 4]);
        frame.next = Next::Family { at: 0, is_big_endian };
        frame
    }

    /// Appends a header whose length follows from its first `fixed` bytes.
    fn layer(&mut self, layer: &'static str, fixed: usize, header: &[u8]) {
        let needs = vec![fixed, header.len()];
        self.places.push(LayerPlace { layer, offset: self.bytes.len(), needs });
        self.bytes.extend(header);
    }

    /// Fills in the previous layer's field that names this one.
    fn named(&mut self, ether_type: u16, protocol: u8, family: u8) {
        match self.next {
            Next::Nothing => {}
            Next::EtherType(at) => {
                self.bytes[at..at + 2].copy_from_slice(&ether_type.to_be_bytes());
            }
            Next::Protocol(at) => self.bytes[at] = protocol,
            Next::Family { at, is_big_endian: true } => self.bytes[at + 3] = family,
            Next::Family { at, is_big_endian: false } => self.bytes[at] = family,
        }
        self.next = Next::Nothing;
    }

    /// An Ethernet header: the link layer's, or inside a tunnel.
    pub fn inner_ethernet(mut self) -> Self {
        self.named(0x6558, 0, 0);
        let header = [&DESTINATION_MAC[..], &SOURCE_MAC, &[0; 2]].concat();
        self.layer("ethernet", 14, &header);
        self.next = Next::EtherType(self.bytes.len() - 2);
        self
    }

    /// Sends the innermost Ethernet frame to another address.
    pub fn to(mut self, address: [u8; 6]) -> Self {
        let at = self.places.iter().rev().find(|place| place.layer == "ethernet").unwrap().offset;
        self.bytes[at..at + 6].copy_from_slice(&address);
        self
    }

    /// A VLAN tag with this tag protocol identifier.
    pub fn vlan(mut self, tag_protocol: u16, priority: u8, id: u16) -> Self {
        self.named(tag_protocol, 0, 0);
        let [high, low] = (u16::from(priority) << 13 | id).to_be_bytes();
        self.layer("vlan", 4, &[high, low, 0, 0]);
        self.next = Next::EtherType(self.bytes.len() - 2);
        self
    }

    /// An IPv4 header.
    pub fn ipv4(mut self, ip: &Ipv4) -> Self {
        self.named(0x0800, 4, 2);
        let at = self.bytes.len();
        let words = 5 + ip.options.len() / 4;
        let mut header = vec![0x40 | words as u8, ip.tos, 0, 0];
        header.extend(ip.identification.to_be_bytes());
        header.extend((u16::from(ip.more_fragments) << 13 | ip.fragment_offset).to_be_bytes());
        header.extend([ip.ttl, 0, 0, 0]);
        header.extend(ip.source);
        header.extend(ip.destination);
        header.extend(&ip.options);
        self.layer("ipv4", 20, &header);
        self.next = Next::Protocol(at + 9);
        self.lengths.push(Length::Ipv4(at));
        self.ip_offset = at;
        self
    }

    /// An IPv6 header with its extension headers.
    pub fn ipv6(mut self, ip: &Ipv6) -> Self {
        self.named(0x86dd, 41, 30);
        let at = self.bytes.len();
        self.layer("ipv6", 40, &ipv6_header(ip, 0));
        self.next = Next::Protocol(at + 6);
        for (number, body) in &ip.extensions {
            self.named(0, *number, 0);
            let at = self.bytes.len();
            let words = match *number {
                FRAGMENT => 0,
                _ => (body.len() + 2) / 8 - 1,
            };
            let header = [&[0, words as u8], body.as_slice()].concat();
            self.layer("ipv6_extension", 8, &header);
            self.next = Next::Protocol(at);
        }
        self.lengths.push(Length::Ipv6(at));
        self.ip_offset = at;
        self
    }

    /// A UDP header; its checksum is 0, as RoCEv2 senders leave it over IPv4.
    pub fn udp(mut self, source: u16, destination: u16) -> Self {
        self.named(0, 17, 0);
        let at = self.bytes.len();
        let header = [source.to_be_bytes(), destination.to_be_bytes(), [0; 2], [0; 2]].concat();
        self.layer("udp", 8, &header);
        self.lengths.push(Length::Udp(at));
        self
    }

    /// A VXLAN header after a UDP header; `inner_ethernet` follows.
    pub fn vxlan(mut self, network_identifier: u32) -> Self {
        let [_, a, b, c] = network_identifier.to_be_bytes();
        self.layer("vxlan", 8, &[0x08, 0, 0, 0, a, b, c, 0]);
        self
    }

    /// A VXLAN-GPE header after a UDP header; `protocol` is 1 for IPv4, 2 for IPv6, 3 for Ethernet.
    pub fn vxlan_gpe(mut self, network_identifier: u32, protocol: u8) -> Self {
        let [_, a, b, c] = network_identifier.to_be_bytes();
        self.layer("vxlan", 8, &[0x0c, 0, 0, protocol, a, b, c, 0]);
        self
    }

    /// A Geneve header with `words` of options after a UDP header; the next layer names itself in it.
    pub fn geneve(mut self, network_identifier: u32, words: u8) -> Self {
        let [_, a, b, c] = network_identifier.to_be_bytes();
        let at = self.bytes.len();
        let mut header = vec![words, 0, 0, 0, a, b, c, 0];
        for word in 0..words {
            // One option, of class 0x0103 and type 1.
            let first = [0x01, 0x03, 0x01, words - 1];
            header.extend(if word == 0 { first } else { [0xee; 4] });
        }
        self.layer("geneve", 8, &header);
        self.next = Next::EtherType(at + 2);
        self
    }

    /// Labels of MPLS; IP or, after a control word, Ethernet follows.
    pub fn mpls(mut self, labels: &[u32], has_control_word: bool) -> Self {
        self.named(0x8847, 0, 0);
        for (at, label) in labels.iter().enumerate() {
            let is_last = at + 1 == labels.len();
            let word = label << 12 | u32::from(is_last) << 8 | 64;
            self.layer("mpls", 4, &word.to_be_bytes());
        }
        if has_control_word {
            self.layer("mpls", 4, &[0; 4]);
        } else {
            let offset = self.bytes.len();
            self.places.push(LayerPlace { layer: "mpls", offset, needs: vec![4] });
        }
        self
    }

    /// GRE with SONiC's mirror header, of which only the length is known; `inner_ethernet` follows.
    pub fn sonic_mirror(self) -> Self {
        let mut frame = self.gre(0x8949, None, None);
        frame.layer("mirror", 22, &[0; 22]);
        frame
    }

    /// The global route header of RoCE v1 and InfiniBand.
    pub fn grh(mut self, grh: &Ipv6) -> Self {
        self.named(0x8915, 0, 0);
        let at = self.bytes.len();
        self.layer("grh", 40, &ipv6_header(grh, 0x1b));
        self.lengths.push(Length::Ipv6(at));
        self
    }

    /// A frame that begins with the local route header of InfiniBand; `next` is 2 for a BTH, 3 for a
    /// global route header. `finish_infiniband` ends it.
    pub fn infiniband(next: u8, source: u16, destination: u16) -> Self {
        let mut header = vec![0, next];
        header.extend(destination.to_be_bytes());
        header.extend([0, 0]);
        header.extend(source.to_be_bytes());
        let mut frame = Self::start(INFINIBAND);
        frame.layer("lrh", 8, &header);
        frame
    }

    /// Fills in the length of the local route header, and adds two bytes in place of the VCRC.
    pub fn finish_infiniband(self) -> Built {
        let mut built = self.finish();
        let words = (built.bytes.len() / 4) as u16;
        built.bytes[4..6].copy_from_slice(&words.to_be_bytes());
        built.bytes.extend([0; 2]);
        built
    }

    /// A GRE header with these optional fields; the next layer names itself in it.
    pub fn gre(mut self, protocol: u16, key: Option<u32>, sequence: Option<u32>) -> Self {
        self.named(0, 47, 0);
        let flags = u16::from(key.is_some()) << 13 | u16::from(sequence.is_some()) << 12;
        let mut header = [flags.to_be_bytes(), protocol.to_be_bytes()].concat();
        for field in [key, sequence].into_iter().flatten() {
            header.extend(field.to_be_bytes());
        }
        self.layer("gre", 4, &header);
        self
    }

    /// GRE with the header of a mirror session (draft-foschiano-erspan-03); `inner_ethernet`
    /// follows.
    pub fn erspan(self, erspan: Erspan) -> Self {
        match erspan {
            Erspan::I => self.gre(0x88be, None, None),
            Erspan::Ii { session, sequence, truncated } => {
                let mut frame = self.gre(0x88be, None, Some(sequence));
                // Version 1, VLAN 0x123; class of service 5, the T bit; index 0xabcde.
                let word = 1 << 28 | 0x123 << 16 | 5 << 13 | u32::from(truncated) << 10;
                let header =
                    [(word | u32::from(session)).to_be_bytes(), 0x000a_bcde_u32.to_be_bytes()];
                frame.layer("erspan", 4, &header.concat());
                frame
            }
            Erspan::Iii { session, sequence, truncated, egress, has_sub_header } => {
                let mut frame = self.gre(0x22eb, None, Some(sequence));
                let word = 2 << 28 | 0x123 << 16 | 5 << 13 | u32::from(truncated) << 10;
                // Security group 0x4567; Ethernet frame type, hardware 3, direction, O bit.
                let flags =
                    0x4567 << 16 | 3 << 4 | u32::from(egress) << 3 | u32::from(has_sub_header);
                let mut header = [
                    (word | u32::from(session)).to_be_bytes(),
                    0x89ab_cdef_u32.to_be_bytes(),
                    flags.to_be_bytes(),
                ]
                .concat();
                if has_sub_header {
                    header.extend([0x0c, 0, 0, 0, 0, 0, 0, 1]);
                }
                frame.layer("erspan", 12, &header);
                // The version is needed before anything else is known.
                frame.places.last_mut().unwrap().needs.insert(0, 4);
                frame
            }
        }
    }

    /// A RoCEv2 packet after a UDP header; `finish` adds its ICRC.
    pub fn roce(mut self, roce: &Roce) -> Self {
        self.layer("bth", 12, &roce.bth());
        for header in meaning(roce.opcode).headers {
            let (layer, len) = header.layer();
            self.layer(layer, len, &roce.extension(header));
        }
        self.bytes.extend(&roce.payload);
        self.bytes.extend(vec![0; usize::from(roce.pad_count())]);
        self.wants_icrc = true;
        self
    }

    /// PFC (802.1Qbb): bit p of `enabled` makes `quanta[p]` valid. Padded to 60 bytes.
    pub fn pfc(mut self, enabled: u8, quanta: [u16; 8]) -> Self {
        self.named(0x8808, 0, 0);
        self.bytes[..6].copy_from_slice(&PAUSE_MAC);
        let mut body = vec![0x01, 0x01, 0, enabled];
        body.extend(quanta.iter().flat_map(|quanta| quanta.to_be_bytes()));
        self.layer("mac_control", 2, &body);
        self.trailer(60 - 14 - 20)
    }

    /// 802.3x pause of the whole link. Padded to 60 bytes.
    pub fn link_pause(mut self, quanta: u16) -> Self {
        self.named(0x8808, 0, 0);
        self.bytes[..6].copy_from_slice(&PAUSE_MAC);
        let [high, low] = quanta.to_be_bytes();
        self.layer("mac_control", 2, &[0x00, 0x01, high, low]);
        self.trailer(60 - 14 - 4)
    }

    /// The frame, with another Ethernet header in place of its innermost one.
    pub fn finish_with(self, ethernet: &[u8]) -> Vec<u8> {
        let at = self.places.iter().rev().find(|place| place.layer == "ethernet").unwrap().offset;
        let mut bytes = self.finish().bytes;
        bytes[at..at + ethernet.len()].copy_from_slice(ethernet);
        bytes
    }

    /// The frame, with an IPv4 packet in place of the header that was built last.
    pub fn replace_last(mut self, packet: &[u8]) -> Vec<u8> {
        let at = self.ip_offset;
        self.bytes.truncate(at);
        self.lengths.pop();
        self.bytes(packet).finish().bytes
    }

    /// Any bytes, not one of our layers.
    pub fn bytes(mut self, bytes: &[u8]) -> Self {
        self.bytes.extend(bytes);
        self
    }

    /// Ethernet padding after the IP packet.
    pub fn trailer(mut self, bytes: usize) -> Self {
        self.trailer_bytes = bytes;
        self
    }

    /// Fills in lengths and checksums.
    pub fn finish(mut self) -> Built {
        let end = self.bytes.len() + if self.wants_icrc { 4 } else { 0 };
        for length in self.lengths.clone() {
            let (at, len) = match length {
                Length::Ipv4(ip) => (ip + 2, end - ip),
                Length::Ipv6(ip) => (ip + 4, end - ip - 40),
                Length::Udp(udp) => (udp + 4, end - udp),
            };
            self.bytes[at..at + 2].copy_from_slice(&(len as u16).to_be_bytes());
            if let Length::Ipv4(ip) = length {
                let header_bytes = usize::from(self.bytes[ip] & 0x0f) * 4;
                let sum = internet_checksum(&self.bytes[ip..ip + header_bytes]);
                self.bytes[ip + 10..ip + 12].copy_from_slice(&sum.to_be_bytes());
            }
        }
        if self.wants_icrc {
            // Without UDP it covers other headers; readers do not check it.
            let is_roce_v2 = self.lengths.iter().any(|length| matches!(length, Length::Udp(_)));
            let crc = if is_roce_v2 { icrc(&self.bytes[self.ip_offset..]) } else { [0; 4] };
            self.bytes.extend(crc);
        }
        self.bytes.extend(vec![0; self.trailer_bytes]);
        Built {
            link_type: self.link_type,
            bytes: self.bytes,
            places: self.places,
            ip_offset: self.ip_offset,
            ip_end: end,
        }
    }
}
