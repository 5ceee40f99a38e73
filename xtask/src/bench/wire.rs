//! The few fields of a RoCEv2 frame that the bench rewrites, written from the standards and not with
//! railscope's decoder, which would then be tested against itself.
//!
//! Only Ethernet, IPv4 without options and UDP, so that every field has a fixed offset:
//!
//! ```text
//! byte 0         14     18     20   24       34       36        42     47        51   54        57
//!      Ethernet  IPv4   id ..  ..   checksum  UDP src  dst ..   BTH    dest QPN  PSN  syndrome  ..
//! ```

const ETHERTYPE: usize = 12;
const IPV4: usize = 14;
const IDENTIFICATION: usize = IPV4 + 4;
const IPV4_CHECKSUM: usize = IPV4 + 10;
const SOURCE_ADDRESS: usize = IPV4 + 12;
const DESTINATION_ADDRESS: usize = IPV4 + 16;
const UDP: usize = IPV4 + 20;
const UDP_CHECKSUM: usize = UDP + 6;
const BTH: usize = UDP + 8;
const DEST_QPN: usize = BTH + 5;
const PSN: usize = BTH + 9;
const RETH: usize = BTH + 12;
/// After the virtual address and the remote key of the RETH.
const DMA_LENGTH: usize = RETH + 12;
const PAYLOAD_OF_WRITE: usize = RETH + 16;
/// After the syndrome of the AETH, which follows the BTH of an ACK.
const MSN: usize = BTH + 13;
/// The fields above, to the end of an ACK before its ICRC.
const LEN: usize = BTH + 16;
const ICRC_LEN: usize = 4;

const ROCE_PORT: u16 = 4791;

/// Values of 24 bits: queue pair, packet and message sequence numbers.
pub(super) const MASK_24: u32 = 0xff_ffff;

/// RC opcodes that an RDMA WRITE of several packets is made of.
pub(super) const WRITE_FIRST: u8 = 0x06;
pub(super) const WRITE_MIDDLE: u8 = 0x07;
pub(super) const WRITE_LAST: u8 = 0x08;
pub(super) const WRITE_LAST_WITH_IMMEDIATE: u8 = 0x09;
pub(super) const WRITE_ONLY: u8 = 0x0a;
pub(super) const WRITE_ONLY_WITH_IMMEDIATE: u8 = 0x0b;
pub(super) const ACKNOWLEDGE: u8 = 0x11;

/// Whether `frame` has the layout whose offsets are above.
pub(super) fn is_roce(frame: &[u8]) -> bool {
    frame.len() >= LEN
        && frame[ETHERTYPE..IPV4] == [0x08, 0x00]
        && frame[IPV4] == 0x45
        && frame[IPV4 + 9] == 17
        && read_16(frame, UDP + 2) == ROCE_PORT
}

pub(super) fn source_address(frame: &[u8]) -> &[u8] {
    &frame[SOURCE_ADDRESS..SOURCE_ADDRESS + 4]
}

pub(super) fn destination_address(frame: &[u8]) -> &[u8] {
    &frame[DESTINATION_ADDRESS..DESTINATION_ADDRESS + 4]
}

pub(super) fn identification(frame: &[u8]) -> u16 {
    read_16(frame, IDENTIFICATION)
}

pub(super) fn udp_source(frame: &[u8]) -> u16 {
    read_16(frame, UDP)
}

pub(super) fn opcode(frame: &[u8]) -> u8 {
    frame[BTH]
}

pub(super) fn dest_qpn(frame: &[u8]) -> u32 {
    read_24(frame, DEST_QPN)
}

pub(super) fn psn(frame: &[u8]) -> u32 {
    read_24(frame, PSN)
}

/// Message sequence number of an ACK.
pub(super) fn msn(frame: &[u8]) -> u32 {
    read_24(frame, MSN)
}

/// NCCL's clear-to-send, of the releases 2.24 to 2.29 (`ncclIbSendFifo` in `net_ib.cc`): 64 bytes,
/// of which the number of the message is 8 at 40; a queue of 256 slots, 8 of 64 bytes each.
pub(super) mod clear_to_send {
    use super::{DMA_LENGTH, PAYLOAD_OF_WRITE, RETH, WRITE_ONLY, opcode, read_64, write};

    const LEN: usize = 64;
    const NUMBER: usize = PAYLOAD_OF_WRITE + 40;
    const SLOTS: u64 = 256;
    const SLOT_LEN: u64 = 8 * 64;

    pub(in crate::bench) fn is(frame: &[u8]) -> bool {
        frame.len() >= PAYLOAD_OF_WRITE + LEN
            && opcode(frame) == WRITE_ONLY
            && frame[DMA_LENGTH..PAYLOAD_OF_WRITE] == (LEN as u32).to_be_bytes()
    }

    /// Numbers the clear-to-send `by` more, and moves it into the slot of that number. Checksums
    /// are left as they are.
    pub(in crate::bench) fn advance(frame: &mut [u8], by: u64) {
        let number = u64::from_le_bytes(read_64(frame, NUMBER));
        let slot = |number: u64| number.wrapping_sub(1) % SLOTS * SLOT_LEN;
        let first_slot = u64::from_be_bytes(read_64(frame, RETH)).wrapping_sub(slot(number));
        let number = number.wrapping_add(by);
        write(frame, RETH, &first_slot.wrapping_add(slot(number)).to_be_bytes());
        write(frame, NUMBER, &number.to_le_bytes());
    }
}

/// The new fields of a frame.
pub(super) struct Fields {
    pub(super) identification: u16,
    pub(super) udp_source: u16,
    pub(super) dest_qpn: u32,
    pub(super) psn: u32,
    /// `Some` for an ACK.
    pub(super) msn: Option<u32>,
}

/// Writes `fields` into `frame`, which `is_roce`, and updates its checksums.
pub(super) fn rewrite(frame: &mut [u8], wire_len: usize, fields: &Fields) {
    write(frame, IDENTIFICATION, &fields.identification.to_be_bytes());
    write(frame, UDP, &fields.udp_source.to_be_bytes());
    write(frame, DEST_QPN, &fields.dest_qpn.to_be_bytes()[1..]);
    write(frame, PSN, &fields.psn.to_be_bytes()[1..]);
    if let Some(msn) = fields.msn {
        write(frame, MSN, &msn.to_be_bytes()[1..]);
    }
    write(frame, IPV4_CHECKSUM, &[0, 0]);
    let checksum = ipv4_checksum(&frame[IPV4..UDP]);
    write(frame, IPV4_CHECKSUM, &checksum.to_be_bytes());
    // A cut frame has lost its ICRC.
    if frame.len() == wire_len {
        let at = wire_len - ICRC_LEN;
        let icrc = icrc(&frame[..at]);
        write(frame, at, &icrc.to_le_bytes());
    }
}

/// A frame from 10.0.0.1 to 10.0.0.2 of `opcode`, with `rest` after its BTH.
pub(super) fn frame(opcode: u8, rest: &[u8], dest_qpn: u32) -> Vec<u8> {
    let ip_len = BTH - IPV4 + 12 + rest.len() + ICRC_LEN;
    let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x08, 0x00, 0x45, 0];
    frame.extend((ip_len as u16).to_be_bytes());
    // Not to be fragmented, 64 hops, UDP; identification and checksum come last.
    frame.extend([0, 0, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0, 0]);
    frame.extend(ROCE_PORT.to_be_bytes());
    frame.extend(((ip_len - 20) as u16).to_be_bytes());
    // No checksum, as RoCEv2 allows; then the BTH with the default partition key.
    frame.extend([0, 0, opcode, 0, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0]);
    frame.extend(rest);
    frame.extend([0; ICRC_LEN]);
    let fields = Fields { identification: 0, udp_source: 49_152, dest_qpn, psn: 0, msn: None };
    let wire_len = frame.len();
    rewrite(&mut frame, wire_len, &fields);
    frame
}

/// Swaps sender and receiver, which changes no checksum of IP.
pub(super) fn turn_round(frame: &mut [u8]) {
    let mut swap = |one: usize, other: usize, bytes: usize| {
        (0..bytes).for_each(|at| frame.swap(one + at, other + at));
    };
    swap(0, ETHERTYPE / 2, ETHERTYPE / 2);
    swap(SOURCE_ADDRESS, DESTINATION_ADDRESS, 4);
}

/// RFC 1071, over a header whose checksum field is zero.
pub(super) fn ipv4_checksum(header: &[u8]) -> u16 {
    let sum: u32 = (0..header.len()).step_by(2).map(|at| u32::from(read_16(header, at))).sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    !((folded + (folded >> 16)) as u16)
}

/// The ICRC of RoCEv2, over a frame without it. Fields that routers and switches may change count as
/// ones, and so does the missing header of InfiniBand's link layer.
fn icrc(frame: &[u8]) -> u32 {
    const TRAFFIC_CLASS: usize = IPV4 + 1;
    const TIME_TO_LIVE: usize = IPV4 + 8;
    const BTH_RESERVED: usize = BTH + 4;
    let mut headers = [0xff; 8 + BTH + 12 - IPV4];
    headers[8..].copy_from_slice(&frame[IPV4..BTH + 12]);
    let variant = [
        TRAFFIC_CLASS,
        TIME_TO_LIVE,
        IPV4_CHECKSUM,
        IPV4_CHECKSUM + 1,
        UDP_CHECKSUM,
        UDP_CHECKSUM + 1,
        BTH_RESERVED,
    ];
    for at in variant {
        headers[8 + at - IPV4] = 0xff;
    }
    let mut crc = crc32fast::Hasher::new();
    crc.update(&headers);
    crc.update(&frame[BTH + 12..]);
    crc.finalize()
}

fn read_16(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

fn read_24(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([0, bytes[at], bytes[at + 1], bytes[at + 2]])
}

fn read_64(bytes: &[u8], at: usize) -> [u8; 8] {
    std::array::from_fn(|index| bytes[at + index])
}

fn write(bytes: &mut [u8], at: usize, value: &[u8]) {
    bytes[at..at + value.len()].copy_from_slice(value);
}

#[cfg(test)]
pub(super) mod tests {
    use super::{
        Fields, IDENTIFICATION, dest_qpn, is_roce, msn, psn, read_16, rewrite, udp_source,
    };

    /// An ACK as the Linux driver `rdma_rxe` sent it; its ICRC is the last four bytes.
    pub(in crate::bench) const ACK: [u8; 62] = [
        0x02, 0x00, 0x00, 0x00, 0x00, 0x01, 0x02, 0x00, 0x00, 0x00, 0x00, 0x02, 0x08, 0x00, 0x45,
        0x00, 0x00, 0x30, 0xe9, 0x0f, 0x40, 0x00, 0x40, 0x11, 0x3d, 0xab, 0x0a, 0x00, 0x00, 0x02,
        0x0a, 0x00, 0x00, 0x01, 0xc1, 0x90, 0x12, 0xb7, 0x00, 0x1c, 0x00, 0x00, 0x11, 0x00, 0xff,
        0xff, 0x00, 0x00, 0x00, 0x14, 0x00, 0x96, 0xb3, 0xf2, 0x1f, 0x00, 0x00, 0x01, 0x12, 0x10,
        0x42, 0x20,
    ];

    fn fields(frame: &[u8]) -> Fields {
        Fields {
            identification: read_16(frame, IDENTIFICATION),
            udp_source: udp_source(frame),
            dest_qpn: dest_qpn(frame),
            psn: psn(frame),
            msn: Some(msn(frame)),
        }
    }

    #[test]
    fn checksums_agree_with_a_real_sender() {
        assert!(is_roce(&ACK));
        let mut frame = ACK;
        rewrite(&mut frame, ACK.len(), &Fields { psn: 1, identification: 2, ..fields(&ACK) });
        assert_eq!((psn(&frame), read_16(&frame, IDENTIFICATION)), (1, 2));
        assert_ne!(frame[58..], ACK[58..]);
        rewrite(&mut frame, ACK.len(), &fields(&ACK));
        assert_eq!(frame, ACK);
    }
}
