//! A capture of any length from a [`Template`]: queue pairs take turns, each running one lap.
//!
//! Nothing is lost, repeated or reordered in it: every pair's sequence numbers continue from lap to
//! lap, in both directions, and so do each host's IPv4 identifications and the time.

use std::io::{self, Write};

use super::pcap::{self, RECORD_HEADER_LEN};
use super::template::{Packet, Template};
use super::wire::{self, Fields, MASK_24};

/// Odd, hence a bijection of 24 bits: no two pairs begin at the same packet sequence number.
const PSN_SPREAD: u32 = 0x9e_3779;

/// The ports that RoCEv2 senders draw from, and an odd stride through them.
const PORTS: std::ops::Range<u32> = 0xc000..0x1_0000;
const PORT_SPREAD: u32 = 0x1eef;

/// Writes a pcap of `frames` frames of `queue_pairs` pairs; equal arguments give equal bytes, and
/// fewer frames a prefix.
pub(super) fn write(
    template: &Template,
    queue_pairs: u32,
    frames: u64,
    out: &mut impl Write,
) -> io::Result<()> {
    out.write_all(&template.file_header)?;
    let mut writer =
        Writer { out, now_ns: template.first_ns, identifications: [0; 2], scratch: Vec::new() };
    let mut left = frames;
    let mut laps = template.laps(queue_pairs).iter().cycle();
    for turn in 0.. {
        let mut pair = Pair::new(template, queue_pairs, turn % queue_pairs);
        let Some(lap) = laps.next().filter(|_| left > 0) else { break };
        let round = turn / queue_pairs;
        pair.first_psn = pair.first_psn.wrapping_add(round.wrapping_mul(lap.psns));
        pair.first_msn = round.wrapping_mul(lap.messages);
        for packet in &lap.packets[..lap.packets.len().min(left.try_into().unwrap_or(usize::MAX))] {
            writer.write(&pair, packet)?;
            left -= 1;
        }
    }
    writer.out.flush()
}

/// Bytes that `frames` frames take, to the nearest lap.
pub(super) fn frames_for(template: &Template, queue_pairs: u32, bytes: u64) -> u64 {
    let lap = &template.laps(queue_pairs)[0];
    let lap_bytes: u64 =
        lap.packets.iter().map(|packet| (RECORD_HEADER_LEN + packet.frame.len()) as u64).sum();
    bytes.div_ceil(lap_bytes) * lap.packets.len() as u64
}

/// Two queue pairs that talk to each other, at the beginning of a lap.
struct Pair {
    responder_qpn: u32,
    requester_qpn: u32,
    udp_source: u16,
    first_psn: u32,
    first_msn: u32,
}

impl Pair {
    fn new(template: &Template, queue_pairs: u32, index: u32) -> Self {
        let port = u32::from(template.udp_source).saturating_sub(PORTS.start);
        let port = (port + index.wrapping_mul(PORT_SPREAD)) % (PORTS.end - PORTS.start);
        Self {
            responder_qpn: (template.dest_qpn + index) & MASK_24,
            // The hosts number in opposite order: equal numbers must not be taken for a pair.
            requester_qpn: (template.dest_qpn + queue_pairs - 1 - index) & MASK_24,
            udp_source: (PORTS.start + port) as u16,
            first_psn: template.first_psn.wrapping_add(index.wrapping_mul(PSN_SPREAD)),
            first_msn: 0,
        }
    }
}

struct Writer<'a, W> {
    out: &'a mut W,
    now_ns: u64,
    /// The next one of the requesting and of the responding host.
    identifications: [u16; 2],
    scratch: Vec<u8>,
}

impl<W: Write> Writer<'_, W> {
    fn write(&mut self, pair: &Pair, packet: &Packet) -> io::Result<()> {
        let is_ack = packet.msn.is_some();
        let identification = &mut self.identifications[usize::from(is_ack)];
        let fields = Fields {
            identification: *identification,
            udp_source: pair.udp_source,
            dest_qpn: if is_ack { pair.requester_qpn } else { pair.responder_qpn },
            psn: pair.first_psn.wrapping_add(packet.psn) & MASK_24,
            msn: packet.msn.map(|msn| pair.first_msn.wrapping_add(msn) & MASK_24),
        };
        *identification = identification.wrapping_add(1);
        self.now_ns += packet.gap_ns;
        let header = pcap::record_header(self.now_ns, packet.frame.len(), packet.wire_len);
        self.scratch.clear();
        self.scratch.extend_from_slice(&header);
        self.scratch.extend_from_slice(&packet.frame);
        wire::rewrite(&mut self.scratch[header.len()..], packet.wire_len as usize, &fields);
        self.out.write_all(&self.scratch)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::super::template::{Template, tests::capture};
    use super::super::wire;
    use super::write;

    /// Every frame of a made capture, with its time.
    fn made(queue_pairs: u32, frames: u64) -> Vec<(u64, Vec<u8>)> {
        let template = Template::parse(&capture()).unwrap();
        let mut bytes = Vec::new();
        write(&template, queue_pairs, frames, &mut bytes).unwrap();
        let records = bytes[24..].chunks(16 + 62);
        let word = |r: &[u8], at: usize| u32::from_le_bytes(r[at..at + 4].try_into().unwrap());
        let time = |r: &[u8]| u64::from(word(r, 0)) * 1_000_000_000 + u64::from(word(r, 4));
        records.map(|record| (time(record), record[16..].to_vec())).collect()
    }

    #[test]
    fn every_pair_continues_and_time_moves_on() {
        for queue_pairs in [1, 5] {
            let frames = made(queue_pairs, 300);
            assert_eq!(frames.len(), 300);
            assert!(frames.windows(2).all(|pair| pair[0].0 < pair[1].0));
            let mut next_psn = HashMap::new();
            let mut next_msn = HashMap::new();
            for (_, frame) in &frames {
                if wire::opcode(frame) == wire::ACKNOWLEDGE {
                    let msn = next_msn.entry(wire::dest_qpn(frame)).or_insert(1);
                    assert_eq!(wire::msn(frame), *msn);
                    *msn += 1;
                } else {
                    let psn = next_psn.entry(wire::dest_qpn(frame)).or_insert(wire::psn(frame));
                    assert_eq!(wire::psn(frame), *psn);
                    *psn = (*psn + 1) & wire::MASK_24;
                }
            }
            assert_eq!(next_psn.len(), queue_pairs as usize);
            assert_eq!(next_msn.len(), queue_pairs as usize);
        }
    }

    #[test]
    fn fewer_frames_are_a_prefix() {
        assert_eq!(made(5, 100)[..], made(5, 300)[..100]);
    }
}
