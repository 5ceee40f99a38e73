//! Results of collectives for any number of ranks, channels and elements.

use std::collections::BTreeMap;
use std::time::Duration;

use proptest::prelude::*;
use railscope_drive::collective::buffers::Buffers;
use railscope_drive::collective::fill::Inputs;
use railscope_drive::collective::observer::Observer;
use railscope_drive::collective::ring::Ring;
use railscope_drive::collective::run::{Runner, Task};
use railscope_drive::collective::{DataType, Kind, Operation, Operator};
use railscope_drive::net::Net;
use railscope_drive::release::Release;
use railscope_drive::truth::{LinkRole, RingStep};
use railscope_drive::{DriveError, Result};

use super::memory_net::{Fabric, Key, MemoryNet};

const PATIENCE: Duration = Duration::from_secs(20);

#[derive(Default)]
pub struct Notes(pub Vec<RingStep>);

impl Observer for Notes {
    fn ring_step(&mut self, ring_step: RingStep) {
        self.0.push(ring_step);
    }

    fn pulse(&mut self) -> Result<()> {
        Ok(())
    }
}

/// Runs one collective on one rank and counts wrong elements.
pub fn run_one(
    runner: &mut Runner,
    net: &mut dyn Net,
    (rank, ranks): (u32, u32),
    task: Task,
    in_place: bool,
    notes: &mut Notes,
) -> u64 {
    let operation = task.operation;
    let inputs = Inputs { operation, ranks, sequence: task.sequence };
    let mut input = vec![0; operation.input_bytes(ranks)];
    inputs.fill(rank, &mut input);
    runner.enqueue(net, task).unwrap();
    let part = operation.part_bytes();
    let own = part * rank as usize;
    if in_place {
        let mut both = vec![0; operation.total_bytes(ranks)];
        match operation.kind {
            Kind::AllGather => both[own..own + part].copy_from_slice(&input),
            _ => both.copy_from_slice(&input),
        }
        runner.run(net, Buffers::InPlace(&mut both), notes).unwrap();
        match operation.kind {
            Kind::ReduceScatter => inputs.wrong(rank, &both[own..own + part]),
            _ => inputs.wrong(rank, &both),
        }
    } else {
        let mut output = vec![0xee; operation.output_bytes(ranks)];
        let buffers = Buffers::OutOfPlace { input: &input, output: &mut output };
        runner.run(net, buffers, notes).unwrap();
        inputs.wrong(rank, &output)
    }
}

/// Runs collectives on all ranks at once; returns each rank's records and the messages on the
/// links.
fn run_all(
    release: Release,
    ranks: u32,
    channels: u32,
    operations: &[(Operation, bool)],
) -> (Vec<Vec<RingStep>>, Fabric) {
    let fabric = Fabric::default();
    let records = std::thread::scope(|scope| {
        let threads = (0..ranks).map(|rank| {
            let fabric = &fabric;
            scope.spawn(move || {
                let mut net = MemoryNet::new(fabric, u64::from(rank));
                let links = if ranks == 1 { vec![] } else { net.ring(rank, ranks, channels) };
                let ring = Ring::ascending(ranks);
                let mut runner = Runner::new(release, rank, ring, &links, PATIENCE);
                let mut notes = Notes::default();
                for (sequence, &(operation, in_place)) in (0..).zip(operations) {
                    let task = Task {
                        sequence,
                        operation,
                        offer_delay: Duration::ZERO,
                        gpu_delay: Duration::ZERO,
                        tag: 0,
                    };
                    let place = (rank, ranks);
                    let wrong = run_one(&mut runner, &mut net, place, task, in_place, &mut notes);
                    assert_eq!(wrong, 0, "rank {rank} of {ranks}: {operation:?}");
                }
                notes.0
            })
        });
        let threads: Vec<_> = threads.collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    (records, fabric)
}

fn operations() -> impl Strategy<Value = (Operation, bool)> {
    let kind = prop::sample::select(vec![
        Kind::AllReduce,
        Kind::AllGather,
        Kind::ReduceScatter,
        Kind::Broadcast,
    ]);
    let data_type =
        prop::sample::select(vec![DataType::Int32, DataType::Float32, DataType::Float64]);
    let operator =
        prop::sample::select(vec![Operator::Sum, Operator::Prod, Operator::Min, Operator::Max]);
    let count = prop_oneof![0_usize..64, 0_usize..20_000, 0_usize..700_000];
    (kind, data_type, operator, 0_u32..8, count, any::<bool>()).prop_map(
        |(kind, data_type, operator, root, count, in_place)| {
            (Operation { kind, data_type, operator, root, count }, in_place)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn every_element_is_right(
        release in prop::sample::select(Release::ALL.to_vec()),
        ranks in 1_u32..=8,
        channels in 1_u32..=4,
        mut operations in prop::collection::vec(operations(), 1..4),
    ) {
        for (operation, _) in &mut operations {
            operation.root %= ranks;
            if matches!(operation.kind, Kind::AllGather | Kind::ReduceScatter) {
                operation.count /= ranks as usize;
            }
        }
        let (records, fabric) = run_all(release, ranks, channels, &operations);
        records_match_messages(&records, &fabric);
    }
}

/// Both ends of a link record the messages that it carried, in order and with their sizes.
fn records_match_messages(records: &[Vec<RingStep>], fabric: &Fabric) {
    let ranks = records.len() as u32;
    let mut ends: BTreeMap<Key, [Vec<usize>; 2]> = BTreeMap::new();
    for ring_step in records.iter().flatten() {
        let RingStep { rank, channel, role, .. } = *ring_step;
        let (key, end) = match role {
            LinkRole::Sender => ((channel, rank, (rank + 1) % ranks), 0),
            LinkRole::Receiver => ((channel, (rank + ranks - 1) % ranks, rank), 1),
        };
        assert_eq!(ring_step.cts_posted_ns.is_some(), role == LinkRole::Receiver);
        let messages = ring_step.messages.iter().map(|&bytes| bytes as usize);
        ends.entry(key).or_default()[end].extend(messages);
    }
    for (link, messages) in fabric.messages() {
        let went: Vec<usize> = messages.iter().map(|sent| sent.bytes).collect();
        let [sent, received] = ends.remove(&link).unwrap_or_default();
        assert_eq!(sent, went, "{link:?}");
        assert_eq!(received, went, "{link:?}");
    }
    assert!(ends.is_empty());
}

#[test]
fn slots_continue_across_collectives_and_are_used_in_order() {
    let all_reduce = Operation {
        kind: Kind::AllReduce,
        data_type: DataType::Float32,
        operator: Operator::Sum,
        root: 0,
        count: 3000,
    };
    // Five messages of one slot each, then messages of two slots, aligned to four slots.
    let broadcast = Operation { kind: Kind::Broadcast, count: 5 * (512 << 10) / 4, ..all_reduce };
    let operations = [(all_reduce, true), (broadcast, true), (all_reduce, false)];
    let (_, fabric) = run_all(Release::V2_27_7, 2, 1, &operations);
    let slot = 512 << 10;
    let offsets = |link| -> Vec<usize> {
        fabric.messages()[&link].iter().map(|sent| sent.offset / slot).collect()
    };
    assert_eq!(offsets((0, 0, 1)), [0, 2, 4, 6, 0, 1, 2, 3, 4, 0, 2, 4, 6]);
    assert_eq!(offsets((0, 1, 0)), [0, 2, 4, 6, 0, 2, 4, 6]);
}

#[test]
fn a_rank_that_offers_no_room_is_named() {
    let operation = Operation {
        kind: Kind::AllReduce,
        data_type: DataType::Float32,
        operator: Operator::Sum,
        root: 0,
        count: 1000,
    };
    let fabric = Fabric::default();
    let mut net = MemoryNet::new(&fabric, 1);
    let links = net.ring(1, 4, 1);
    let patience = Duration::from_millis(20);
    let mut runner = Runner::new(Release::V2_27_7, 1, Ring::ascending(4), &links, patience);
    let task = Task {
        sequence: 0,
        operation,
        offer_delay: Duration::ZERO,
        gpu_delay: Duration::ZERO,
        tag: 0,
    };
    runner.enqueue(&mut net, task).unwrap();
    let mut both = vec![0; 4000];
    let error = runner.run(&mut net, Buffers::InPlace(&mut both), &mut Notes::default());
    let error = error.unwrap_err();
    assert!(matches!(error, DriveError::Late { .. }));
    let text = "room from rank 2 for rank 1 on channel 0 did not come within 20ms";
    assert_eq!(error.to_string(), text);
}
