//! RDMA's headers from the BTH on, and what stands for their payload: management, NET/IB's FIFO, or data.

use super::claim::Claims;
use super::management;
use super::pseudonym::Pseudonyms;
use super::sums::put;
use railscope_core::decode::nccl::cts::{Cts, CtsLayout};
use railscope_core::decode::roce::bth::Bth;
use railscope_core::decode::roce::packet::RocePacket;
use railscope_core::model::nccl::RANK_LIMIT;
use railscope_core::model::opcode::Opcode;
use railscope_core::model::qpn::Qpn;

/// Bytes of a message that the analysis compares with those of others.
const HEAD_BYTES: usize = 32;

/// More than the memory of a host, more messages than a connection carries, and most receives of an element.
const CAPACITY: u64 = 1 << 40;
const NUMBERS: u64 = 1 << 40;
const REQUESTS: u32 = 8;

/// Whether a BTH may begin so: its opcode is known, and the version of the transport is 0.
pub(super) fn is_known(opcode: u8, flags: u8) -> bool {
    Opcode(opcode).name().is_some() && flags & 0x0f == 0
}

/// Writes the headers from the BTH on, and what stands for the payload.
pub(super) fn rewrite_roce(
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
    // Reserved bytes, and of others the bits that are none.
    let reserved = [
        (field(roce.rdeth.is_some(), 4), 0, 0),
        (field(roce.deth.is_some(), 8), 4, 0),
        (field(roce.xrceth.is_some(), 4), 0, 0),
    ];
    let flush =
        field(roce.feth.is_some(), 4).map(|at| [(at, 0), (at + 1, 0), (at + 2, 0), (at + 3, 0x3f)]);
    let reserved = reserved.into_iter().filter_map(|(at, more, kept)| Some((at? + more, kept)));
    let reserved: Vec<_> = reserved.chain(flush.into_iter().flatten()).collect();
    let reth = field(roce.reth.is_some(), 16);
    let atomic = field(roce.atomic.is_some(), 28);
    field(roce.aeth.is_some(), 4);
    let original = field(roce.atomic_ack.is_some(), 8);
    field(roce.immediate.is_some(), 4);
    let invalidated = field(roce.ieth.is_some(), 4);
    // A header that was cut may hold a part of an address: then nothing comes back.
    let Some((to, from)) = out.get_mut(bth..at).zip(before.get(bth..at)) else { return };
    to.copy_from_slice(from);
    // Of the bytes with FECN, BECN and the acknowledgement request, the other bits are reserved.
    let of_bth = [(bth + 4, Bth::MARKS), (bth + 8, 0x80)];
    for (at, kept) in of_bth.into_iter().chain(reserved) {
        to.get_mut(at - bth).into_iter().for_each(|byte| *byte &= kept);
    }
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
        return management::rewrite(before, pseudonyms, out);
    }
    if let Some(reth) = &roce.reth
        && rewrite_clear_to_send((before, reth.dma_len), pseudonyms, out)
    {
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

/// Elements of NET/IB's FIFO. `false`, and nothing written, if the first is none.
fn rewrite_clear_to_send(
    (before, write_len): (&[u8], u32),
    pseudonyms: &Pseudonyms,
    out: &mut [u8],
) -> bool {
    let recognised = Cts::recognise(before, write_len);
    let Some((first, layout)) = recognised.filter(|(cts, _)| is_plausible(cts)) else {
        return false;
    };
    for (before, out) in before.chunks(layout.len).zip(out.chunks_mut(layout.len)) {
        // All elements of a message have the same number, so another one is something else.
        let is_element = |cts: &Cts| is_plausible(cts) && cts.number == first.number;
        if Cts::decode(before, layout).is_some_and(|cts| is_element(&cts)) {
            rewrite_element(before, layout, pseudonyms, out);
        }
    }
    true
}

/// Whether an element can be NET/IB's: another application's WRITE may look like one, and hold text.
fn is_plausible(cts: &Cts) -> bool {
    Pseudonyms::is_place(cts.address)
        && cts.capacity < CAPACITY
        && !is_text(cts.capacity)
        && cts.requests.is_none_or(|requests| (1..=REQUESTS).contains(&requests))
        && cts.tag.is_none_or(|tag| tag < RANK_LIMIT)
        && cts.number.is_none_or(|number| (1..NUMBERS).contains(&number) && !is_text(number))
}

/// At least four letters and nothing else: sizes and counts are rounder.
fn is_text(value: u64) -> bool {
    let bytes = value.to_le_bytes();
    let letters = bytes.iter().filter(|byte| matches!(byte, b' '..=b'~')).count();
    letters >= 4 && bytes.iter().all(|byte| *byte == 0 || matches!(byte, b' '..=b'~'))
}

fn rewrite_element(before: &[u8], layout: &CtsLayout, pseudonyms: &Pseudonyms, out: &mut [u8]) {
    let mut claims = Claims::new(before);
    if let Some(address) = claims.long(0) {
        claims.put(0, pseudonyms.virtual_address(address).to_le_bytes());
    }
    claims.keep(8, if layout.has_wide_size { 8 } else { 4 });
    for at in (layout.remote_key..layout.requests.unwrap_or(layout.remote_key + 4)).step_by(4) {
        if let Some(key) = claims.word(at) {
            claims.put(at, pseudonyms.remote_key(key).to_le_bytes());
        }
    }
    match layout.requests {
        Some(at) => {
            // One by one, as the frame may be cut.
            [at, at + 4].into_iter().for_each(|at| claims.keep(at, 4));
            claims.keep(layout.number, 8);
        }
        None => claims.keep(layout.number, 4),
    }
    out.copy_from_slice(&claims.out);
}

fn word64(out: &mut [u8], at: usize, change: impl FnOnce(u64) -> u64) {
    let Some(bytes) = out.get(at..at + 8).and_then(|it| it.try_into().ok()) else { return };
    put(out, at, change(u64::from_be_bytes(bytes)).to_be_bytes());
}

fn word32(out: &mut [u8], at: usize, change: impl FnOnce(u32) -> u32) {
    let Some(bytes) = out.get(at..at + 4).and_then(|it| it.try_into().ok()) else { return };
    put(out, at, change(u32::from_be_bytes(bytes)).to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scrub::frame::rewrite;
    use crate::scrub::key::Key;
    use crate::scrub::stream::Streams;
    use railscope_core::model::frame::Frame;
    use railscope_core::model::tap::{LinkType, TapId};
    use railscope_core::model::time::Timestamp;

    /// What a datagram to a port becomes: its bytes behind the UDP header. `fragment` are IPv4's flags.
    fn datagram(port: u16, fragment: u8, payload: &[u8]) -> Vec<u8> {
        let udp = (payload.len() + 8) as u16;
        let [high, low] = (udp + 20).to_be_bytes();
        let ip = [0x45, 0, high, low, 0, 1, fragment, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
        let [p0, p1] = port.to_be_bytes();
        let [u0, u1] = udp.to_be_bytes();
        let bytes = [&ip[..], &[0xc0, 0, p0, p1, u0, u1, 0, 0], payload].concat();
        let frame = Frame {
            tap: TapId(0),
            number: 1,
            time: Timestamp::EPOCH,
            wire_len: bytes.len() as u32,
            bytes: &bytes,
            link_type: LinkType::RawIp,
            direction: None,
        };
        let (mut pseudonyms, mut out) = (Pseudonyms::new(Key::new([4; 32])), Vec::new());
        rewrite(&frame, &mut pseudonyms, &mut Streams::default(), &mut out);
        out.split_off(28)
    }

    #[test]
    fn what_only_uses_a_port_of_ours_is_zero() {
        let text = b"acme's own protocol, with names in its first bytes".as_slice();
        for port in [4791, 4789, 8472, 6081] {
            assert!(datagram(port, 0, text).iter().all(|byte| *byte == 0), "{port}");
        }
        // The first bytes of each are right, and what follows them is not.
        let secret = b"secretsecretsecretsecretsecret".as_slice();
        for (port, first) in [
            (4791, &[0x04, 0x41][..]),
            (4791, &[0xff, 0x40][..]),
            (4789, &[0x08, b's', 0, 0, 0, 0, 1, 0][..]),
            (8472, &[0x88, 0, 0, 0, 0, 0, 1, b's'][..]),
            (6081, &[0x40, 0, 0x65, 0x58, 0, 0, 1, 0][..]),
            (6081, &[0, 0, 0x12, 0x34, 0, 0, 1, 0][..]),
        ] {
            let after = datagram(port, 0, &[first, secret].concat());
            assert!(after.iter().all(|byte| *byte == 0), "{port}: {after:02x?}");
        }
    }

    #[test]
    fn the_first_fragment_is_zero_too() {
        let send = [&[0x04_u8, 0x40, 0xff, 0xff, 0, 0, 0, 9, 0, 0, 0, 1][..], &[7; 40]].concat();
        assert_eq!(datagram(4791, 0, &send)[..12], send[..12]);
        assert!(datagram(4791, 0x20, &send).iter().all(|byte| *byte == 0));
    }

    /// A WRITE of these elements.
    fn write(elements: &[u8]) -> Vec<u8> {
        let bth = [0x0a_u8, 0x40, 0xff, 0xff, 0, 0, 0, 9, 0x80, 0, 0, 1];
        let len = (elements.len() as u32).to_be_bytes();
        let reth = [&0x7f00_0000_0000_u64.to_be_bytes()[..], &[0, 1, 2, 3], &len].concat();
        let after = datagram(4791, 0, &[&bth[..], &reth, elements, &[0; 4]].concat());
        after[28..28 + elements.len()].to_vec()
    }

    /// An element of 2.24 to 2.29.
    fn element(address: u64, size: u64, requests: u32, number: u64) -> Vec<u8> {
        let mut bytes = [&address.to_le_bytes()[..], &size.to_le_bytes(), &[1; 16]].concat();
        bytes.extend([&requests.to_le_bytes()[..], &3_u32.to_le_bytes()].concat());
        bytes.extend(number.to_le_bytes());
        bytes.resize(64, b'x');
        bytes
    }

    #[test]
    fn of_the_fifo_only_elements_stay() {
        let real = element(0x7f12_3456_7000, 1 << 17, 2, 5);
        let after = write(&[real.clone(), real.clone()].concat());
        for (after, before) in after.chunks(64).zip([&real, &real]) {
            assert_eq!((&after[8..16], &after[32..48]), (&before[8..16], &before[32..48]));
            assert!(after[..8] != before[..8] && after[48..] == [0; 16], "{after:02x?}");
        }
        let text = u64::from_le_bytes(*b"acme\0\0\0\0");
        for other in [
            element(u64::from_le_bytes(*b"acmeacme"), 1 << 17, 2, 5),
            element(0x7f12_3456_7000, text, 2, 5),
            element(0x7f12_3456_7000, 1 << 17, 2, text),
            b"acme".repeat(16),
        ] {
            let after = write(&[&real[..], &other].concat());
            assert_eq!(after[32..48], real[32..48]);
            assert_eq!(after[64..], [0; 64], "{after:02x?}");
        }
    }
}
