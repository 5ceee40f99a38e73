//! RoCEv2 packets written field by field, with an opcode table of our own: IBTA volume 1 table 38
//! and annexes A14 (XRC), A17 (CNP), A19 (FLUSH, ATOMIC WRITE), entered a second time: only the
//! same error in both tables could go unnoticed.

use super::crc::crc32;

/// An extension header that may follow the BTH.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Header {
    Rdeth,
    Deth,
    Xrceth,
    Feth,
    Reth,
    AtomicEth,
    Aeth,
    AtomicAckEth,
    ImmDt,
    Ieth,
}

use Header::{Aeth, AtomicAckEth, AtomicEth, Deth, Feth, Ieth, ImmDt, Rdeth, Reth, Xrceth};

impl Header {
    /// The layer's name in stop reasons, and the header's length in bytes.
    pub fn layer(self) -> (&'static str, usize) {
        match self {
            Rdeth => ("rdeth", 4),
            Deth => ("deth", 8),
            Xrceth => ("xrceth", 4),
            Feth => ("feth", 4),
            Reth => ("reth", 16),
            AtomicEth => ("atomic_eth", 28),
            Aeth => ("aeth", 4),
            AtomicAckEth => ("atomic_ack_eth", 8),
            ImmDt => ("immdt", 4),
            Ieth => ("ieth", 4),
        }
    }
}

/// Low five bits, Linux's name, headers, whether it is a request or an answer, whether it has
/// payload.
type Operation = (u8, &'static str, &'static [Header], bool, bool);

const ASKS: bool = true;
const ANSWERS: bool = false;
const BYTES: bool = true;
const EMPTY: bool = false;

const OPERATIONS: [Operation; 26] = [
    (0b00000, "SEND_FIRST", &[], ASKS, BYTES),
    (0b00001, "SEND_MIDDLE", &[], ASKS, BYTES),
    (0b00010, "SEND_LAST", &[], ASKS, BYTES),
    (0b00011, "SEND_LAST_WITH_IMMEDIATE", &[ImmDt], ASKS, BYTES),
    (0b00100, "SEND_ONLY", &[], ASKS, BYTES),
    (0b00101, "SEND_ONLY_WITH_IMMEDIATE", &[ImmDt], ASKS, BYTES),
    (0b00110, "RDMA_WRITE_FIRST", &[Reth], ASKS, BYTES),
    (0b00111, "RDMA_WRITE_MIDDLE", &[], ASKS, BYTES),
    (0b01000, "RDMA_WRITE_LAST", &[], ASKS, BYTES),
    (0b01001, "RDMA_WRITE_LAST_WITH_IMMEDIATE", &[ImmDt], ASKS, BYTES),
    (0b01010, "RDMA_WRITE_ONLY", &[Reth], ASKS, BYTES),
    (0b01011, "RDMA_WRITE_ONLY_WITH_IMMEDIATE", &[Reth, ImmDt], ASKS, BYTES),
    (0b01100, "RDMA_READ_REQUEST", &[Reth], ASKS, EMPTY),
    (0b01101, "RDMA_READ_RESPONSE_FIRST", &[Aeth], ANSWERS, BYTES),
    (0b01110, "RDMA_READ_RESPONSE_MIDDLE", &[], ANSWERS, BYTES),
    (0b01111, "RDMA_READ_RESPONSE_LAST", &[Aeth], ANSWERS, BYTES),
    (0b10000, "RDMA_READ_RESPONSE_ONLY", &[Aeth], ANSWERS, BYTES),
    (0b10001, "ACKNOWLEDGE", &[Aeth], ANSWERS, EMPTY),
    (0b10010, "ATOMIC_ACKNOWLEDGE", &[Aeth, AtomicAckEth], ANSWERS, EMPTY),
    (0b10011, "COMPARE_SWAP", &[AtomicEth], ASKS, EMPTY),
    (0b10100, "FETCH_ADD", &[AtomicEth], ASKS, EMPTY),
    (0b10101, "RESYNC", &[], ASKS, EMPTY),
    (0b10110, "SEND_LAST_WITH_INVALIDATE", &[Ieth], ASKS, BYTES),
    (0b10111, "SEND_ONLY_WITH_INVALIDATE", &[Ieth], ASKS, BYTES),
    (0b11100, "FLUSH", &[Feth, Reth], ASKS, EMPTY),
    (0b11101, "ATOMIC_WRITE", &[Reth], ASKS, BYTES),
];

/// An opcode's meaning by the tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Meaning {
    pub transport: &'static str,
    /// Linux's name without `IB_OPCODE_<transport>_`; `None` if no table has the opcode.
    pub name: Option<&'static str>,
    /// The headers after the BTH, in order.
    pub headers: Vec<Header>,
    pub is_request: bool,
    pub is_response: bool,
    pub has_payload: bool,
}

pub fn meaning(opcode: u8) -> Meaning {
    let (transport, on_request, on_response): (_, &[Header], &[Header]) = match opcode {
        0x00..=0x1f => ("RC", &[], &[]),
        0x20..=0x3f => ("UC", &[], &[]),
        0x40..=0x5f => ("RD", &[Rdeth, Deth], &[Rdeth]),
        0x60..=0x7f => ("UD", &[Deth], &[]),
        0x81 => ("CNP", &[], &[]),
        0xa0..=0xbf => ("XRC", &[Xrceth], &[]),
        _ => ("OTHER", &[], &[]),
    };
    let defined: &[u8] = match transport {
        "RC" | "XRC" => &[
            0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 22, 23, 28,
            29,
        ],
        "UC" => &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11],
        "RD" => &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 28],
        "UD" => &[4, 5],
        _ => &[],
    };
    let low = opcode % 32;
    let operation = OPERATIONS.iter().find(|row| row.0 == low && defined.contains(&low));
    let none = Meaning {
        transport,
        name: (transport == "CNP").then_some("CNP"),
        headers: Vec::new(),
        is_request: false,
        is_response: false,
        has_payload: false,
    };
    operation.map_or(none, |&(_, name, headers, asks, has_payload)| Meaning {
        transport,
        name: Some(name),
        headers: [if asks { on_request } else { on_response }, headers].concat(),
        is_request: asks,
        is_response: !asks,
        has_payload,
    })
}

/// Every field of a RoCEv2 packet. Fields of headers that the opcode does not have are unused.
#[derive(Clone, Debug)]
pub struct Roce {
    pub opcode: u8,
    pub solicited_event: bool,
    pub migration_request: bool,
    pub transport_version: u8,
    pub partition_key: u16,
    pub fecn: bool,
    pub becn: bool,
    pub dest_qpn: u32,
    pub ack_request: bool,
    pub psn: u32,
    pub ee_context: u32,
    pub queue_key: u32,
    pub source_qpn: u32,
    pub xrc_srq: u32,
    pub placement_type: u8,
    pub selectivity_level: u8,
    pub virtual_address: u64,
    pub remote_key: u32,
    pub dma_len: u32,
    pub swap_or_add: u64,
    pub compare: u64,
    pub syndrome: u8,
    pub msn: u32,
    pub original_value: u64,
    pub immediate: u32,
    pub invalidated_key: u32,
    pub payload: Vec<u8>,
}

impl Roce {
    /// A packet of `opcode` with distinct values in all fields, so that a swap of two shows, and
    /// with `payload_bytes` of payload if the opcode has any.
    pub fn new(opcode: u8, payload_bytes: usize) -> Self {
        let has_payload = meaning(opcode).has_payload;
        let payload_bytes = match opcode {
            0x81 => 16,
            _ if has_payload => payload_bytes,
            _ => 0,
        };
        Self {
            opcode,
            solicited_event: opcode % 2 == 1,
            migration_request: opcode % 3 == 1,
            transport_version: 0,
            partition_key: 0x8765,
            fecn: false,
            becn: opcode == 0x81,
            dest_qpn: 0x01_0203,
            ack_request: opcode % 5 == 1,
            psn: 0xf1_f2f3,
            ee_context: 0x0a_0b0c,
            queue_key: 0x8001_0007,
            source_qpn: 0x21_2223,
            xrc_srq: 0x31_3233,
            placement_type: 0b0010,
            selectivity_level: 0b01,
            virtual_address: 0x4142_4344_4546_4748,
            remote_key: 0x5152_5354,
            dma_len: 0x0061_6263,
            swap_or_add: 0x7172_7374_7576_7778,
            compare: 0x9192_9394_9596_9798,
            syndrome: 0x1f,
            msn: 0xa1_a2a3,
            original_value: 0xb1b2_b3b4_b5b6_b7b8,
            immediate: 0xc1c2_c3c4,
            invalidated_key: 0xd1d2_d3d4,
            // A CNP's 16 bytes are reserved and sent as 0.
            payload: match opcode {
                0x81 => vec![0; 16],
                _ => (0..payload_bytes).map(|at| (at * 7 + 1) as u8).collect(),
            },
        }
    }

    /// Bytes that pad the payload to a multiple of four.
    pub fn pad_count(&self) -> u8 {
        (self.payload.len().wrapping_neg() & 3) as u8
    }

    /// BTH: 12 bytes.
    pub fn bth(&self) -> Vec<u8> {
        let flags = u8::from(self.solicited_event) << 7
            | u8::from(self.migration_request) << 6
            | self.pad_count() << 4
            | self.transport_version;
        let congestion = u8::from(self.fecn) << 7 | u8::from(self.becn) << 6;
        let mut bytes = vec![self.opcode, flags];
        bytes.extend(self.partition_key.to_be_bytes());
        bytes.push(congestion);
        bytes.extend(u24(self.dest_qpn));
        bytes.push(u8::from(self.ack_request) << 7);
        bytes.extend(u24(self.psn));
        bytes
    }

    /// One extension header.
    pub fn extension(&self, header: Header) -> Vec<u8> {
        let mut bytes = Vec::new();
        match header {
            Rdeth => bytes.extend(self.ee_context.to_be_bytes()),
            Deth => {
                bytes.extend(self.queue_key.to_be_bytes());
                bytes.extend(self.source_qpn.to_be_bytes());
            }
            Xrceth => bytes.extend(self.xrc_srq.to_be_bytes()),
            Feth => bytes.extend([0, 0, 0, self.selectivity_level << 4 | self.placement_type]),
            Reth => {
                bytes.extend(self.virtual_address.to_be_bytes());
                bytes.extend(self.remote_key.to_be_bytes());
                bytes.extend(self.dma_len.to_be_bytes());
            }
            AtomicEth => {
                bytes.extend(self.virtual_address.to_be_bytes());
                bytes.extend(self.remote_key.to_be_bytes());
                bytes.extend(self.swap_or_add.to_be_bytes());
                bytes.extend(self.compare.to_be_bytes());
            }
            Aeth => {
                bytes.push(self.syndrome);
                bytes.extend(u24(self.msn));
            }
            AtomicAckEth => bytes.extend(self.original_value.to_be_bytes()),
            ImmDt => bytes.extend(self.immediate.to_be_bytes()),
            Ieth => bytes.extend(self.invalidated_key.to_be_bytes()),
        }
        bytes
    }
}

/// The low 24 bits, in network byte order.
fn u24(value: u32) -> [u8; 3] {
    let [_, a, b, c] = value.to_be_bytes();
    [a, b, c]
}

/// The invariant CRC (annex A17.3.3) of `packet`, which begins with its IP header and lacks only
/// the CRC. Eight bytes of ones replace the InfiniBand header that RoCE does not have; every field
/// that a router may change is set to ones. In transmission order.
pub fn icrc(packet: &[u8]) -> [u8; 4] {
    let mut masked = packet.to_vec();
    let udp = if packet[0] >> 4 == 4 {
        masked[1] = 0xff; // type of service
        masked[8] = 0xff; // time to live
        masked[10..12].fill(0xff); // header checksum
        20
    } else {
        masked[0] |= 0x0f; // traffic class and flow label
        masked[1..4].fill(0xff);
        masked[7] = 0xff; // hop limit
        40
    };
    masked[udp + 6..udp + 8].fill(0xff); // UDP checksum
    masked[udp + 8 + 4] = 0xff; // the BTH's F, B and reserved bits
    crc32(&[&[0xff; 8], masked.as_slice()].concat()).to_le_bytes()
}
