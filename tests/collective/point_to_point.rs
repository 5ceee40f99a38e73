//! Groups of sends and receives are one collective each, whatever the release offers, and where a
//! capture begins or loses messages.

use std::fs;
use std::path::PathBuf;

use proptest::prelude::*;
use railscope_core::analysis::collective::Collective;
use railscope_core::analysis::collective::extract::collectives;
use railscope_core::model::nccl::{CollectiveKind, Release};
use serde_json::Value;

use super::sends::Senders;
use crate::support::railscope;
use crate::support::recording::Recording;

/// The first offers a chunk, the second always the largest one.
const RELEASES: [Release; 2] = [Release::new(2, 27, 5), Release::new(2, 30, 7)];

const COMPUTE_NS: u64 = 1_000_000;

fn facts(found: &[Collective]) -> Vec<(CollectiveKind, Option<u64>)> {
    found.iter().map(|one| (one.kind, one.bytes)).collect()
}

fn all_to_all(ranks: u32, bytes: u64) -> Vec<(u32, u32, u64)> {
    let pairs = (0..ranks).flat_map(|a| (0..ranks).map(move |b| (a, b)));
    pairs.filter(|(a, b)| a != b).map(|(a, b)| (a, b, bytes)).collect()
}

/// Each rank sends to the next one, the last to none.
fn pipeline(ranks: u32, bytes: u64) -> Vec<(u32, u32, u64)> {
    (1..ranks).map(|rank| (rank - 1, rank, bytes)).collect()
}

/// Sizes of one part and of several, of one chunk and of many, and exactly of full chunks.
fn any_bytes() -> impl Strategy<Value = u64> {
    prop_oneof![
        1_u64..200_000,
        (1_u64..40).prop_map(|chunks| chunks * 32_768),
        (1_u64..20).prop_map(|chunks| chunks * 131_072),
        200_000_u64..6_000_000,
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn each_group_is_one_collective(
        ranks in 3_u32..7,
        channels in 0_u32..3,
        sizes in prop::collection::vec(any_bytes(), 1..12),
        is_exchange in any::<bool>(),
        is_new in any::<bool>(),
        compute in prop_oneof![Just(0), Just(COMPUTE_NS)],
        late in prop::option::of(0_u32..3),
    ) {
        let release = RELEASES[usize::from(is_new)];
        // Where another size changes which slots a connection uses, a part of one full chunk may
        // look like the first half of a longer one.
        let sizes = if is_exchange { vec![sizes[0]; sizes.len()] } else { sizes };
        let mut senders = Senders::new(ranks, 1 << channels, release);
        for bytes in &sizes {
            senders.compute(compute, late.map(|rank| (rank, 300_000)));
            let shape = if is_exchange { all_to_all } else { pipeline };
            senders.group(&shape(ranks, *bytes));
        }
        let found = collectives(&senders.finish());
        let expected: Vec<_> = sizes
            .iter()
            .map(|bytes| match is_exchange {
                true => (CollectiveKind::AllToAll, Some(bytes * u64::from(ranks))),
                false => (CollectiveKind::SendRecv, Some(*bytes)),
            })
            .collect();
        prop_assert_eq!(facts(&found), expected);
    }
}

#[test]
fn groups_without_a_pause_are_not_merged() {
    for release in RELEASES {
        let mut senders = Senders::new(4, 2, release);
        for _ in 0..10 {
            senders.group(&pipeline(4, 65_536));
        }
        let found = collectives(&senders.finish());
        assert_eq!(facts(&found), [(CollectiveKind::SendRecv, Some(65_536)); 10], "{release}");
        assert!(found.iter().all(|one| one.transfers.len() == 3), "{release}");
    }
}

#[test]
fn groups_of_several_shapes_are_told_apart() {
    for release in RELEASES {
        let mut senders = Senders::new(4, 2, release);
        let mut expected = Vec::new();
        for _ in 0..5 {
            senders.compute(COMPUTE_NS, None);
            senders.group(&all_to_all(4, 40_000));
            senders.compute(COMPUTE_NS, None);
            senders.group(&pipeline(4, 1 << 20));
            senders.compute(COMPUTE_NS, None);
            senders.group(&[(0, 1, 100), (1, 0, 200_000)]);
            let shift = (CollectiveKind::SendRecv, Some(1 << 20));
            let uneven = (CollectiveKind::SendRecv, None);
            expected.extend([(CollectiveKind::AllToAll, Some(160_000)), shift, uneven]);
        }
        assert_eq!(facts(&collectives(&senders.finish())), expected, "{release}");
    }
}

#[test]
fn what_was_not_captured_is_not_guessed() {
    for release in RELEASES {
        let mut senders = Senders::new(4, 2, release);
        for _ in 0..6 {
            senders.compute(COMPUTE_NS, None);
            senders.group(&all_to_all(4, 300_000));
        }
        let mut job = senders.finish();
        for (connection, unseen) in
            job.connections.iter_mut().zip([1, 3, 2, 3, 1].into_iter().cycle())
        {
            connection.transfers.drain(..unseen);
        }
        // In the fourth, a message of two sends.
        job.connections[2].transfers.remove(8);
        job.connections[7].transfers.remove(7);
        let found = collectives(&job);
        let whole = (CollectiveKind::AllToAll, Some(1_200_000));
        let begun = found.len() - 5;
        assert!(begun <= 1, "{release}: {:?}", facts(&found));
        assert_eq!(facts(&found[begun..]), [whole; 5], "{release}");
        let estimated: Vec<bool> = found[begun..].iter().map(|one| one.is_estimated).collect();
        assert!(estimated.iter().filter(|one| **one).count() <= 2, "{release}: {estimated:?}");
        assert!(found[..begun].iter().all(|one| one.bytes.is_none() || one.is_estimated));
    }
}

/// Where a clear-to-send's payload begins in a frame, and its size of 64 bytes in the RETH.
const CTS_AT: usize = 70;
const RETH_LENGTH_AT: usize = 66;

/// The captures of a recorded job, each frame changed, or dropped where `change` says so.
fn changed(
    recording: &Recording,
    change: impl Fn(u64, &mut [u8]) -> bool,
) -> (tempfile::TempDir, Value) {
    let folder = tempfile::tempdir().unwrap();
    let mut files: Vec<PathBuf> = Vec::new();
    for name in recording.captures() {
        let bytes = fs::read(recording.folder().join(&name)).unwrap();
        let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
        let per_second = if word(0) == 0xa1b2_3c4d { 1 } else { 1000 };
        let mut kept = bytes[..24].to_vec();
        let mut at = 24;
        while at < bytes.len() {
            let end = at + 16 + word(at + 8) as usize;
            let time = u64::from(word(at)) * 1_000_000_000 + u64::from(word(at + 4)) * per_second;
            let mut frame = bytes[at + 16..end].to_vec();
            if change(time, &mut frame) {
                kept.extend(&bytes[at..at + 16]);
                kept.extend(frame);
            }
            at = end;
        }
        let path = folder.path().join(name);
        fs::write(&path, kept).unwrap();
        files.push(path);
    }
    let report = railscope::analyze(&files);
    (folder, report)
}

/// Offers the largest chunk in a clear-to-send, as NCCL does since 2.29.
fn offer_as_2_29(frame: &mut [u8]) {
    let is_roce = frame.len() > CTS_AT + 16 && frame[36..38] == 4791_u16.to_be_bytes();
    if is_roce && frame[42] == 0x0a && frame[RETH_LENGTH_AT..CTS_AT] == 64_u32.to_be_bytes() {
        frame[CTS_AT + 8..CTS_AT + 16].copy_from_slice(&131_072_u64.to_le_bytes());
    }
}

fn kinds(report: &Value) -> Vec<(&str, Option<u64>)> {
    let all = report["collectives"].as_array().unwrap().iter();
    all.map(|one| (one["kind"].as_str().unwrap(), one["bytes"].as_u64())).collect()
}

#[test]
fn a_recorded_all_to_all_is_found_with_the_offers_of_2_29() {
    let recording = Recording::unpack("alltoall-2.27.5");
    let (_folder, report) = changed(&recording, |_, frame| {
        offer_as_2_29(frame);
        true
    });
    let all_to_all = |bytes| ("all_to_all", Some(bytes));
    assert_eq!(kinds(&report), [all_to_all(800_000), all_to_all(16_384)].repeat(4));
    assert_eq!(report["verdicts"][0]["id"], "network_not_the_cause");
}

#[test]
fn a_recorded_all_to_all_is_found_from_the_middle_on() {
    let recording = Recording::unpack("alltoall-2.27.5");
    let truth = fs::read_to_string(recording.folder().join("truth.json")).unwrap();
    let truth: Value = serde_json::from_str(&truth).unwrap();
    let begun = truth["capture_start_ns"].as_u64().unwrap();
    for is_new in [false, true] {
        // Within the third AlltoAll.
        let (_folder, report) = changed(&recording, |time, frame| {
            if is_new {
                offer_as_2_29(frame);
            }
            time > begun + 3_260_000_000
        });
        let found = kinds(&report);
        let all_to_all = |bytes| ("all_to_all", Some(bytes));
        let whole: Vec<_> = [all_to_all(16_384), all_to_all(800_000)].repeat(3);
        assert!(found.len() <= 6, "{found:?}");
        assert_eq!(found[found.len() - 5..], whole[..5], "{found:?}");
    }
}
