//! One queue pair's traffic taken from a real capture, in laps that can be run again and again.

use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use super::pcap::{self, FILE_HEADER_LEN, Record};
use super::wire;

/// Time between two packets: the capture's own, but neither backwards nor idle.
const GAP_NS: std::ops::RangeInclusive<i64> = 1..=50_000;

/// The traffic that is repeated: RDMA WRITEs of one queue pair and their ACKs.
pub(super) struct Template {
    pub(super) file_header: [u8; FILE_HEADER_LEN],
    pub(super) first_ns: u64,
    pub(super) dest_qpn: u32,
    pub(super) udp_source: u16,
    pub(super) first_psn: u32,
    messages: Vec<Lap>,
    whole: Lap,
}

/// Packets after which the queue pair is as before: all messages complete and acknowledged.
#[derive(Clone, Default)]
pub(super) struct Lap {
    pub(super) packets: Vec<Packet>,
    /// Packet sequence numbers that the requester used.
    pub(super) psns: u32,
    pub(super) messages: u32,
}

/// A frame with its sequence numbers counted from the lap's beginning.
#[derive(Clone)]
pub(super) struct Packet {
    pub(super) frame: Vec<u8>,
    pub(super) wire_len: u32,
    /// Since the packet before.
    pub(super) gap_ns: u64,
    pub(super) psn: u32,
    /// `Some` for an ACK, which goes the other way.
    pub(super) msn: Option<u32>,
}

impl Template {
    /// Reads the queue pair that the capture at `path` begins with.
    pub(super) fn read(path: &Path) -> Result<Self> {
        let at = || format!("read capture {}", path.display());
        let mut bytes = Vec::new();
        let file = std::fs::File::open(path).with_context(at)?;
        if path.extension().is_some_and(|extension| extension == "gz") {
            flate2::read::GzDecoder::new(file).read_to_end(&mut bytes).with_context(at)?;
        } else {
            { file }.read_to_end(&mut bytes).with_context(at)?;
        }
        Self::parse(&bytes).with_context(at)
    }

    pub(super) fn parse(capture: &[u8]) -> Result<Self> {
        let (file_header, records) = pcap::parse(capture)?;
        let (first_ns, whole) = pair(&records)?;
        let first = &whole.packets[0];
        Ok(Self {
            file_header: *file_header,
            first_ns,
            dest_qpn: wire::dest_qpn(&first.frame),
            udp_source: wire::udp_source(&first.frame),
            first_psn: wire::psn(&first.frame),
            messages: messages(&whole)?,
            whole,
        })
    }

    /// The laps for `queue_pairs` that take turns: one keeps the capture's own order of ACKs, many
    /// send one message each.
    pub(super) fn laps(&self, queue_pairs: u32) -> &[Lap] {
        if queue_pairs == 1 { std::slice::from_ref(&self.whole) } else { &self.messages }
    }
}

/// The packets of the pair that `records` begin with, and the time of the first.
fn pair(records: &[Record<'_>]) -> Result<(u64, Lap)> {
    let mut lap = Lap::default();
    let mut times = Vec::new();
    for record in records {
        // The Linux driver sends both directions of a queue pair from one UDP port.
        let is_ours =
            |first: &Packet| wire::udp_source(record.frame) == wire::udp_source(&first.frame);
        if !wire::is_roce(record.frame) || !lap.packets.first().is_none_or(is_ours) {
            continue;
        }
        times.push(record.time_ns);
        lap.push(record.frame, record.wire_len)?;
    }
    let first_ns = *times.first().context("no RoCEv2 over plain IPv4 in it")?;
    for (packet, pair) in lap.packets[1..].iter_mut().zip(times.windows(2)) {
        let gap_ns = pair[1].cast_signed() - pair[0].cast_signed();
        packet.gap_ns = gap_ns.clamp(*GAP_NS.start(), *GAP_NS.end()).cast_unsigned();
    }
    Ok((first_ns, lap))
}

impl Lap {
    /// Takes the pair's next frame; refuses traffic that could not be repeated as it is.
    fn push(&mut self, frame: &[u8], wire_len: u32) -> Result<()> {
        let first = self.packets.first().map_or(frame, |packet| &packet.frame);
        let psn = wire::psn(frame).wrapping_sub(wire::psn(first)) & wire::MASK_24;
        let mut msn = None;
        match wire::opcode(frame) {
            wire::WRITE_FIRST | wire::WRITE_MIDDLE | wire::WRITE_LAST => {
                ensure!(psn == self.psns, "requests are missing, repeated or out of order");
                ensure!(
                    wire::source_address(frame) == wire::source_address(first),
                    "two requesters"
                );
                self.psns += 1;
            }
            wire::ACKNOWLEDGE => {
                self.messages += 1;
                ensure!(wire::msn(frame) == self.messages, "an ACK is missing or covers several");
                msn = Some(self.messages);
            }
            other => anyhow::bail!("opcode {other:#04x}: only RDMA WRITEs can be repeated"),
        }
        let gap_ns = GAP_NS.start().cast_unsigned();
        self.packets.push(Packet { frame: frame.to_vec(), wire_len, gap_ns, psn, msn });
        Ok(())
    }
}

/// `whole` as one lap a message: its packets, then its ACK.
fn messages(whole: &Lap) -> Result<Vec<Lap>> {
    let mut acks = whole.packets.iter().filter(|packet| packet.msn.is_some());
    let mut laps = Vec::new();
    let mut lap = Lap::default();
    let mut first_psn = 0;
    for packet in whole.packets.iter().filter(|packet| packet.msn.is_none()) {
        lap.packets.push(Packet { psn: packet.psn - first_psn, ..packet.clone() });
        lap.psns += 1;
        if wire::opcode(&packet.frame) == wire::WRITE_LAST {
            let ack = acks.next().context("a message has no ACK")?;
            ensure!(ack.psn == packet.psn, "an ACK does not end a message");
            lap.packets.push(Packet { psn: ack.psn - first_psn, msn: Some(1), ..ack.clone() });
            lap.messages = 1;
            first_psn += lap.psns;
            laps.push(std::mem::take(&mut lap));
        }
    }
    ensure!(lap.packets.is_empty() && acks.next().is_none(), "the capture ends inside a message");
    let equal = laps.iter().all(|lap| lap.psns == laps[0].psns);
    ensure!(equal, "messages differ in length");
    Ok(laps)
}

#[cfg(test)]
pub(super) mod tests {
    use super::Template;
    use crate::bench::pcap::MAGIC;
    use crate::bench::wire::{self, Fields, tests::ACK};

    /// Two messages of two packets; both ACKs come at the end.
    const PACKETS: [(u8, u32, u32); 6] = [
        (wire::WRITE_FIRST, 10, 0),
        (wire::WRITE_LAST, 11, 0),
        (wire::WRITE_FIRST, 12, 0),
        (wire::WRITE_LAST, 13, 0),
        (wire::ACKNOWLEDGE, 11, 1),
        (wire::ACKNOWLEDGE, 13, 2),
    ];

    pub(in crate::bench) fn capture() -> Vec<u8> {
        let mut capture = MAGIC.to_vec();
        capture.extend([2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 128, 0, 0, 0, 1, 0, 0, 0]);
        for (at, (opcode, psn, msn)) in (0_u32..).zip(PACKETS) {
            let mut frame = ACK;
            frame[42] = opcode;
            let is_ack = opcode == wire::ACKNOWLEDGE;
            // The requester's address differs from the responder's in its last byte.
            frame[29] = if is_ack { 2 } else { 1 };
            let fields = Fields {
                identification: at as u16,
                udp_source: 50_000,
                dest_qpn: 0x14,
                psn,
                msn: is_ack.then_some(msn),
            };
            wire::rewrite(&mut frame, ACK.len(), &fields);
            for word in [100, 1000 * at, 62, 62] {
                capture.extend(word.to_le_bytes());
            }
            capture.extend(frame);
        }
        capture
    }

    #[test]
    fn one_pair_keeps_its_order_and_many_send_messages() {
        let template = Template::parse(&capture()).unwrap();
        let shape = |queue_pairs| -> Vec<Vec<(u32, Option<u32>)>> {
            let laps = template.laps(queue_pairs).iter();
            laps.map(|lap| lap.packets.iter().map(|p| (p.psn, p.msn)).collect()).collect()
        };
        let acks = [(1, Some(1)), (3, Some(2))];
        assert_eq!(
            shape(1),
            [[[(0, None), (1, None), (2, None), (3, None)].as_slice(), &acks].concat()]
        );
        assert_eq!(shape(2), vec![vec![(0, None), (1, None), (1, Some(1))]; 2]);
        assert_eq!(template.laps(1)[0].packets[1].gap_ns, 1000);
    }

    #[test]
    fn traffic_with_a_gap_is_refused() {
        let mut capture = capture();
        let second = 24 + 78;
        capture.drain(second..second + 78);
        assert!(Template::parse(&capture).is_err());
    }
}
