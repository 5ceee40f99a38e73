//! A stream cut into segments, which are lost, repeated, overlapped, truncated and reordered.

use proptest::prelude::*;

use railscope_core::flow::tcp_stream::sink::Ending;
use railscope_core::flow::tcp_stream::streams::TcpConfig;

use crate::support::random::Random;
use crate::support::streams::{Feed, Recorded, Sent, Stretch};

const CLIENT: &str = "192.0.2.1:40000";
const SERVER: &str = "192.0.2.2:29500";
const SYN: u8 = 2;
const FIN: u8 = 1;

/// What happens to a stream on its way to the tap.
#[derive(Clone, Debug)]
struct Wire {
    bytes: usize,
    /// Sequence number of the SYN.
    first: u32,
    longest_segment: usize,
    /// Positions that a segment may move by.
    disorder: u64,
    lost_per_mille: u64,
    repeated_per_mille: u64,
    /// The tap also sees the receiver's ACKs.
    has_acks: bool,
    seed: u64,
}

impl Wire {
    fn content(&self) -> Vec<u8> {
        let mut random = Random::new(self.seed ^ 0xc0);
        (0..self.bytes).map(|_| random.next() as u8).collect()
    }

    /// Feeds the stream; returns the delivered data, and which bytes the tap saw.
    fn run(&self) -> (Recorded, Vec<bool>) {
        let content = self.content();
        let mut random = Random::new(self.seed);
        let mut segments = Vec::new();
        let mut from = 0;
        while from < content.len() {
            let len = 1 + random.below(self.longest_segment as u64) as usize;
            let to = (from + len).min(content.len());
            segments.push((from, to));
            if random.happens(self.repeated_per_mille) {
                let back = from.saturating_sub(random.below(50) as usize);
                let ahead = (to + random.below(50) as usize).min(content.len());
                segments.push((back, ahead));
            }
            from = to;
        }
        let mut order: Vec<(u64, (usize, usize))> = (0..)
            .zip(&segments)
            .map(|(at, segment)| (at + random.below(self.disorder + 1), *segment))
            .collect();
        order.sort_by_key(|(at, _)| *at);
        let [client, server] = [CLIENT, SERVER].map(|end| end.parse().unwrap());
        let blank = Sent {
            source: client,
            destination: server,
            sequence: self.first,
            acknowledgment: None,
            flags: 0,
            payload: Vec::new(),
            cut: 0,
        };
        let answer = Sent { source: server, destination: client, sequence: 7, ..blank.clone() };
        let sequence_of = |at: usize| self.first.wrapping_add(1).wrapping_add(at as u32);
        let mut feed = Feed::new(TcpConfig::default());
        feed.send(&Sent { flags: SYN, ..blank.clone() });
        let mut is_seen = vec![false; content.len()];
        let mut received = vec![false; content.len()];
        for (_, (from, to)) in order {
            received[from..to].fill(true);
            if !random.happens(self.lost_per_mille) {
                is_seen[from..to].fill(true);
                let payload = content[from..to].to_vec();
                feed.send(&Sent { sequence: sequence_of(from), payload, ..blank.clone() });
            }
            if self.has_acks && random.happens(300) {
                // The receiver has data that the tap may have missed.
                let all = received.iter().position(|is| !is).unwrap_or(content.len());
                let acknowledgment = Some(sequence_of(all));
                feed.send(&Sent { acknowledgment, ..answer.clone() });
            }
        }
        feed.send(&Sent { flags: FIN, sequence: sequence_of(content.len()), ..blank });
        let acknowledgment = Some(sequence_of(content.len()).wrapping_add(1));
        feed.send(&Sent { flags: FIN, acknowledgment, ..answer });
        let mut recorded = feed.finish();
        assert_eq!(recorded.len(), 1);
        (recorded.remove(0), is_seen)
    }
}

/// The ranges of `content` that the tap saw, and those that it missed.
fn expected(content: &[u8], is_seen: &[bool]) -> Vec<Stretch> {
    let mut rest = content;
    let stretches = is_seen.chunk_by(|one, other| one == other).map(|same| {
        let (bytes, after) = rest.split_at(same.len());
        rest = after;
        if same[0] { Stretch::Bytes(bytes.to_vec()) } else { Stretch::Gap(bytes.len() as u64) }
    });
    stretches.collect()
}

prop_compose! {
    fn wires()(
        bytes in 1_usize..20_000,
        first in prop_oneof![any::<u32>(), (u32::MAX - 5_000)..=u32::MAX],
        longest_segment in 1_usize..3_000,
        disorder in 0_u64..6,
        lost_per_mille in prop_oneof![Just(0), 1_u64..400],
        repeated_per_mille in 0_u64..300,
        has_acks: bool,
        seed: u64,
    ) -> Wire {
        Wire {
            bytes, first, longest_segment, disorder, lost_per_mille, repeated_per_mille, has_acks,
            seed,
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn delivered_data_equals_sent_data_with_gaps_for_losses(wire in wires()) {
        // An ACK shows that the tap lost bytes. They are given up: a later copy would be ignored.
        let wire = if wire.lost_per_mille > 0 { Wire { repeated_per_mille: 0, ..wire } } else { wire };
        let content = wire.content();
        let (recorded, is_seen) = wire.run();
        prop_assert!(recorded.client == expected(&content, &is_seen));
        prop_assert!(recorded.server.is_empty());
        prop_assert_eq!(recorded.ending, Some(Ending::Finished));
        let totals = recorded.totals.unwrap().client;
        prop_assert_eq!(totals.bytes, content.len() as u64);
        let missing = is_seen.iter().filter(|is| !**is).count() as u64;
        prop_assert_eq!(totals.missing_bytes, missing);
        let gaps = recorded.client.iter().filter(|one| matches!(one, Stretch::Gap(_))).count();
        prop_assert_eq!(totals.gaps, gaps as u64);
    }

    #[test]
    fn without_acks_a_copy_fills_a_gap_however_late(wire in wires()) {
        let wire = Wire { has_acks: false, ..wire };
        let (recorded, is_seen) = wire.run();
        prop_assert!(recorded.client == expected(&wire.content(), &is_seen));
    }
}
