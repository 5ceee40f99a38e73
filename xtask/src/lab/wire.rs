//! A capture as tshark sees it: the reference for railscope's counts.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

/// In the order of `Packet::parse`. Without the option tshark decodes connection managers' messages as RPC.
const FIELDS: &[&str] = &[
    "ip.src",
    "ipv6.src",
    "ip.dst",
    "ipv6.dst",
    "infiniband.bth.opcode",
    "infiniband.bth.destqp",
    "infiniband.bth.psn",
    "infiniband.aeth.syndrome.opcode",
    "infiniband.aeth.syndrome.error_code",
    "ip.dsfield.ecn",
    "ipv6.tclass.ecn",
];

/// Opcodes without their transport, named as in Linux's `rdma/ib_pack.h`.
const OPCODES: &[&str] = &[
    "SEND_FIRST",
    "SEND_MIDDLE",
    "SEND_LAST",
    "SEND_LAST_WITH_IMMEDIATE",
    "SEND_ONLY",
    "SEND_ONLY_WITH_IMMEDIATE",
    "RDMA_WRITE_FIRST",
    "RDMA_WRITE_MIDDLE",
    "RDMA_WRITE_LAST",
    "RDMA_WRITE_LAST_WITH_IMMEDIATE",
    "RDMA_WRITE_ONLY",
    "RDMA_WRITE_ONLY_WITH_IMMEDIATE",
    "RDMA_READ_REQUEST",
    "RDMA_READ_RESPONSE_FIRST",
    "RDMA_READ_RESPONSE_MIDDLE",
    "RDMA_READ_RESPONSE_LAST",
    "RDMA_READ_RESPONSE_ONLY",
    "ACKNOWLEDGE",
    "ATOMIC_ACKNOWLEDGE",
    "COMPARE_SWAP",
    "FETCH_ADD",
];
const READ_REQUEST: u8 = 12;
const RESPONSES: std::ops::RangeInclusive<u8> = 13..=18;
const CE: u8 = 3;

/// Source, destination, destination QPN.
pub(super) type FlowName = (String, String, u32);

/// Counts of a flow, by tshark here and by railscope in its report.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) opcodes: BTreeMap<String, u64>,
    pub(super) sequence_naks: u64,
    pub(super) access_naks: u64,
    /// All other codes together.
    pub(super) other_naks: u64,
    pub(super) rnr_naks: u64,
    pub(super) ce: u64,
}

/// One RoCE packet.
pub(super) struct Packet {
    flow: FlowName,
    transport: u8,
    /// Without transport.
    opcode: u8,
    psn: u32,
    /// Kind and code of its AETH.
    syndrome: Option<(u8, u8)>,
    ecn: u8,
}

/// A capture.
pub(super) struct Wire {
    packets: Vec<Packet>,
}

impl Wire {
    pub(super) fn read(capture: &Path) -> Result<Self> {
        let mut tshark = Command::new("tshark");
        tshark.arg("-n").arg("-r").arg(capture).args(["--disable-protocol", "rpcordma"]);
        tshark.args(["-T", "fields"]).args(FIELDS.iter().flat_map(|field| ["-e", field]));
        let output = tshark.stdin(Stdio::null()).output();
        let output = output.context("start tshark (on Debian: apt-get install tshark)")?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "tshark {}: {}", capture.display(), said.trim());
        Self::parse(&String::from_utf8_lossy(&output.stdout))
    }

    fn parse(lines: &str) -> Result<Self> {
        let parse = |line| Packet::parse(line).with_context(|| format!("not RoCE: {line}"));
        Ok(Self { packets: lines.lines().map(parse).collect::<Result<_>>()? })
    }

    pub(super) fn frames(&self) -> u64 {
        self.packets.len() as u64
    }

    /// Packets that `address` sent.
    pub(super) fn from(&self, addresses: &[String]) -> u64 {
        self.packets.iter().filter(|packet| addresses.contains(&packet.flow.0)).count() as u64
    }

    /// Counts per flow.
    pub(super) fn tallies(&self) -> BTreeMap<FlowName, Tally> {
        let mut tallies: BTreeMap<_, Tally> = BTreeMap::new();
        for packet in &self.packets {
            let tally = tallies.entry(packet.flow.clone()).or_default();
            let name = OPCODES.get(usize::from(packet.opcode)).copied().unwrap_or("?");
            *tally.opcodes.entry(name.to_owned()).or_default() += 1;
            match packet.syndrome {
                Some((1, _)) => tally.rnr_naks += 1,
                Some((3, 0)) => tally.sequence_naks += 1,
                Some((3, 2)) => tally.access_naks += 1,
                Some((3, _)) => tally.other_naks += 1,
                _ => {}
            }
            tally.ce += u64::from(packet.ecn == CE);
        }
        tallies
    }

    /// For each connected flow: requests whose PSN was seen before, and PSNs skipped at first sight. The
    /// latter are unknown with READs, whose responses take numbers that no request shows.
    pub(super) fn sequences(&self) -> BTreeMap<FlowName, Sequence> {
        let mut sequences: BTreeMap<_, Sequence> = BTreeMap::new();
        let is_request =
            |packet: &&Packet| packet.transport != UD && !RESPONSES.contains(&packet.opcode);
        for packet in self.packets.iter().filter(is_request) {
            let sequence = sequences.entry(packet.flow.clone()).or_default();
            sequence.request(packet.psn, packet.opcode == READ_REQUEST);
        }
        sequences
    }
}

const UD: u8 = 3;

/// The requests of one flow in one direction, in the order of the capture.
#[derive(Default)]
pub(super) struct Sequence {
    seen: BTreeSet<u32>,
    highest: Option<u32>,
    has_reads: bool,
    skipped: u64,
    /// Seen before.
    pub(super) repeated: u64,
    /// Seen for the first time, after a higher one.
    pub(super) late: u64,
}

impl Sequence {
    fn request(&mut self, psn: u32, is_read: bool) {
        const MODULUS: u32 = 1 << 24;
        self.has_reads |= is_read;
        let is_new = self.seen.insert(psn);
        let ahead = self.highest.map_or(1, |highest| psn.wrapping_sub(highest) % MODULUS);
        if !is_new {
            self.repeated += 1;
        } else if ahead < MODULUS / 2 {
            self.skipped += u64::from(ahead.saturating_sub(1));
            self.highest = Some(psn);
        } else {
            self.late += 1;
        }
    }

    pub(super) fn skipped(&self) -> Option<u64> {
        (!self.has_reads).then_some(self.skipped)
    }
}

impl Packet {
    fn parse(line: &str) -> Option<Self> {
        let fields: Vec<_> = line.split('\t').collect();
        // The IP version decides which of two fields is filled in.
        let text = |at: usize| fields.get(at).copied().filter(|text| !text.is_empty());
        let number = |at| {
            let text: &str = text(at)?;
            match text.strip_prefix("0x") {
                Some(digits) => u32::from_str_radix(digits, 16).ok(),
                None => text.parse().ok(),
            }
        };
        let byte = |at| number(at).and_then(|value| u8::try_from(value).ok());
        let source = text(0).or(text(1))?.to_owned();
        let destination = text(2).or(text(3))?.to_owned();
        let opcode = byte(4)?;
        Some(Self {
            flow: (source, destination, number(5)?),
            transport: opcode >> 5,
            opcode: opcode & 0x1f,
            psn: number(6)?,
            syndrome: byte(7).map(|kind| (kind, byte(8).unwrap_or(0))),
            ecn: byte(9).or(byte(10)).unwrap_or(0),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Wire;

    const LINES: &str = "10.0.0.1\t\t10.0.0.2\t\t6\t0x000016\t100\t\t\t2\t\n\
        10.0.0.1\t\t10.0.0.2\t\t8\t0x000016\t102\t\t\t3\t\n\
        10.0.0.1\t\t10.0.0.2\t\t7\t0x000016\t101\t\t\t2\t\n\
        10.0.0.1\t\t10.0.0.2\t\t8\t0x000016\t102\t\t\t2\t\n\
        10.0.0.2\t\t10.0.0.1\t\t17\t0x000011\t102\t3\t2\t2\t\n\
        \tfd00::2\t\tfd00::1\t17\t0x000011\t102\t0\t\t\t0\n";

    #[test]
    fn packets_are_counted_by_flow() {
        let wire = Wire::parse(LINES).unwrap();
        assert_eq!((wire.frames(), wire.from(&["10.0.0.1".into()])), (6, 4));
        let tallies = wire.tallies();
        assert_eq!(tallies.len(), 3);
        let requests = &tallies[&("10.0.0.1".into(), "10.0.0.2".into(), 0x16)];
        assert_eq!((requests.opcodes["RDMA_WRITE_LAST"], requests.ce), (2, 1));
        let answers = &tallies[&("10.0.0.2".into(), "10.0.0.1".into(), 0x11)];
        assert_eq!((answers.access_naks, answers.sequence_naks), (1, 0));
    }

    #[test]
    fn sequence_numbers_are_skipped_late_or_repeated() {
        let wire = Wire::parse(LINES).unwrap();
        let sequences = wire.sequences();
        assert_eq!(sequences.len(), 1);
        let requests = &sequences[&("10.0.0.1".into(), "10.0.0.2".into(), 0x16)];
        assert_eq!((requests.skipped(), requests.late, requests.repeated), (Some(1), 1, 1));
    }

    #[test]
    fn what_is_not_roce_is_an_error() {
        assert!(Wire::parse("10.0.0.1\t\t10.0.0.2\t\t\t\t\t\t\t0\t\n").is_err());
    }
}
