//! The frames of a mirrored port: 64 queue pairs that write messages of 512 KiB, which are acknowledged, each
//! packet cut to 128 bytes.

use super::super::wire::{self, Fields};

/// Bytes of each frame on the wire.
pub(super) const LEN: usize = 128;

const QUEUE_PAIRS: u32 = 64;

/// Packets of a message: NCCL's 512 KiB at an MTU of 4096. Its ACK comes after them.
const PACKETS: u32 = 128;
const PAYLOAD: usize = 4096;

/// Ethernet, IPv4 and UDP before the BTH.
const BTH: i16 = 42;

/// Ethernet, IPv4, GRE with a sequence number, ERSPAN II.
const ERSPAN: usize = ETHERNET + 20 + 8 + 8;
/// Where that sequence number is.
const SEQUENCE: i16 = ETHERNET as i16 + 20 + 4;

const ETHERNET: usize = 14;
/// The protocol of IP.
const GRE: u8 = 47;

/// Frames of a turn: one of each queue pair.
pub(super) const TURN: u64 = QUEUE_PAIRS as u64;

/// A lap of frames that is repeated with sequence numbers that go on.
pub(super) struct Frames {
    /// All frames, of [`LEN`] bytes each.
    pub(super) bytes: Vec<u8>,
    /// Offset of the BTH.
    pub(super) bth: i16,
    /// Packet sequence numbers of a queue pair in a lap; each has one message in it.
    pub(super) psns: i32,
    /// Offset of the sequence number of the mirror session.
    pub(super) sequence: Option<i16>,
}

impl Frames {
    /// As a mirror port sends them; `session`: in ERSPAN II.
    pub(super) fn new(session: bool) -> Self {
        let mut bytes = Vec::new();
        for turn in 0..=PACKETS {
            for pair in 0..QUEUE_PAIRS {
                // Messages of different pairs do not begin at once.
                let at = bytes.len();
                if session {
                    bytes.extend(erspan());
                }
                bytes.extend(frame(pair, turn + 2 * pair));
                bytes.resize(at + LEN, 0);
            }
        }
        let shift = if session { ERSPAN as i16 } else { 0 };
        let sequence = session.then_some(SEQUENCE);
        Self { bytes, bth: BTH + shift, psns: PACKETS.cast_signed(), sequence }
    }

    pub(super) fn count(&self) -> usize {
        self.bytes.len() / LEN
    }
}

/// The frame of a queue pair at this place in its messages.
fn frame(pair: u32, place: u32) -> Vec<u8> {
    let (message, packet) = (place / (PACKETS + 1), place % (PACKETS + 1));
    let (requester, responder) = (0x100 + pair, 0x200 + pair);
    let mut fields = Fields {
        identification: 0,
        udp_source: 0xc000 + pair as u16,
        dest_qpn: responder,
        psn: message * PACKETS + packet,
        msn: None,
    };
    let (opcode, header) = match packet {
        0 => (wire::WRITE_FIRST, reth()),
        PACKETS => (wire::ACKNOWLEDGE, vec![0x1f, 0, 0, 0]),
        packet if packet == PACKETS - 1 => (wire::WRITE_LAST_WITH_IMMEDIATE, vec![0; 4]),
        _ => (wire::WRITE_MIDDLE, Vec::new()),
    };
    let mut rest = header;
    if opcode == wire::ACKNOWLEDGE {
        fields =
            Fields { dest_qpn: requester, psn: fields.psn - 1, msn: Some(message + 1), ..fields };
    } else {
        rest.resize(rest.len() + PAYLOAD, 0);
    }
    let mut frame = wire::frame(opcode, &rest, fields.dest_qpn);
    if opcode == wire::ACKNOWLEDGE {
        wire::turn_round(&mut frame);
    }
    let wire_len = frame.len();
    wire::rewrite(&mut frame, wire_len, &fields);
    frame.truncate(LEN);
    frame
}

/// The headers of a mirror session that has cut its frames.
fn erspan() -> Vec<u8> {
    let ip_len = (LEN - ETHERNET) as u16;
    let mut headers = vec![2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 8, 0x08, 0x00, 0x45, 0];
    headers.extend(ip_len.to_be_bytes());
    headers.extend([0, 0, 0x40, 0, 64, GRE, 0, 0, 10, 9, 0, 1, 10, 9, 0, 2]);
    let checksum = wire::ipv4_checksum(&headers[ETHERNET..]);
    headers[ETHERNET + 10..ETHERNET + 12].copy_from_slice(&checksum.to_be_bytes());
    // With a sequence number, which the sender fills in; version 1, cut, session 5.
    headers.extend([0x10, 0, 0x88, 0xbe, 0, 0, 0, 0, 0x10, 0, 0x04, 5, 0, 0, 0, 0]);
    headers
}

/// Address, key and length of a WRITE.
fn reth() -> Vec<u8> {
    let length = PACKETS * PAYLOAD as u32;
    [&[0; 12], &length.to_be_bytes()[..]].concat()
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    /// Packets of each queue pair follow each other, and go on in the next lap.
    #[test]
    fn sequence_numbers_go_on() {
        let [plain, session] = [false, true].map(Frames::new);
        let mut next = HashMap::new();
        let mut requests = 0_u32;
        for (frame, mirrored) in plain.bytes.chunks(LEN).zip(session.bytes.chunks(LEN)) {
            assert!(wire::is_roce(frame));
            assert_eq!(mirrored[ERSPAN..], frame[..LEN - ERSPAN]);
            assert_eq!(wire::ipv4_checksum(&mirrored[ETHERNET..ETHERNET + 20]), 0);
            if wire::opcode(frame) == wire::ACKNOWLEDGE {
                let expected: u32 = next[&(wire::dest_qpn(frame) + 0x100)];
                assert_eq!(
                    (wire::psn(frame) + 1, wire::msn(frame)),
                    (expected, expected / PACKETS)
                );
                continue;
            }
            requests += 1;
            let next = next.entry(wire::dest_qpn(frame)).or_insert(wire::psn(frame));
            assert_eq!(wire::psn(frame), *next);
            *next += 1;
        }
        assert_eq!(next.len(), QUEUE_PAIRS as usize);
        assert_eq!(requests, QUEUE_PAIRS * plain.psns.cast_unsigned());
        let lap = (QUEUE_PAIRS * (PACKETS + 1)) as usize;
        assert_eq!((plain.count(), session.count()), (lap, lap));
    }
}
