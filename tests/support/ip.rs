//! The fields of built IP headers.

/// An IPv4 header; its other fields follow from the frame.
#[derive(Clone, Debug)]
pub struct Ipv4 {
    pub source: [u8; 4],
    pub destination: [u8; 4],
    pub tos: u8,
    pub identification: u16,
    pub ttl: u8,
    /// In units of eight bytes.
    pub fragment_offset: u16,
    pub more_fragments: bool,
    /// Length: a multiple of four bytes.
    pub options: Vec<u8>,
}

impl Default for Ipv4 {
    fn default() -> Self {
        Self {
            source: [10, 1, 2, 3],
            destination: [10, 4, 5, 6],
            tos: 26 << 2 | 0b10,
            identification: 0x1234,
            ttl: 63,
            fragment_offset: 0,
            more_fragments: false,
            options: Vec::new(),
        }
    }
}

/// An IPv6 header and its extension headers.
#[derive(Clone, Debug)]
pub struct Ipv6 {
    pub source: [u8; 16],
    pub destination: [u8; 16],
    pub traffic_class: u8,
    pub flow_label: u32,
    pub hop_limit: u8,
    /// Next-header number, and the bytes after next header and length.
    pub extensions: Vec<(u8, Vec<u8>)>,
}

/// IPv6 next-header numbers (RFC 8200).
pub const HOP_BY_HOP: u8 = 0;
pub const ROUTING: u8 = 43;
pub const FRAGMENT: u8 = 44;
pub const DESTINATION_OPTIONS: u8 = 60;

impl Default for Ipv6 {
    fn default() -> Self {
        Self {
            source: [0xfd, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x0a],
            destination: [0xfd, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x0b],
            traffic_class: 26 << 2 | 0b01,
            flow_label: 0xb_cdef,
            hop_limit: 64,
            extensions: Vec::new(),
        }
    }
}

/// The Internet checksum (RFC 1071) of a header whose own checksum field is 0.
pub fn internet_checksum(header: &[u8]) -> u16 {
    let sum: u32 = header.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1])).sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    !((folded & 0xffff) + (folded >> 16)) as u16
}
