//! Whatever the forward model sends is recognised; missing and broken messages are reported as
//! such.

use proptest::prelude::*;
use railscope_core::analysis::collective::Collective;
use railscope_core::analysis::collective::extract::collectives;
use railscope_core::link::job::{CommunicatorId, Job, LoggedCall};
use railscope_core::model::grade::Grade;
use railscope_core::model::nccl::{CollectiveKind, Protocol};
use railscope_core::model::time::Timestamp;
use railscope_core::model::witness::{LogId, Witness};

use super::job::{Cluster, Operation};

const RING_CAPACITY: u64 = 1 << 20;

fn operation(kind: CollectiveKind, protocol: Protocol, shares: &[u64]) -> Operation {
    Operation { kind, protocol, shares: shares.to_vec(), root: 0 }
}

fn bytes_of(operation: &Operation, nranks: u32) -> u64 {
    let shares: u64 = operation.shares.iter().sum();
    match operation.kind {
        CollectiveKind::AllGather | CollectiveKind::ReduceScatter => shares * u64::from(nranks),
        _ => shares,
    }
}

/// Sizes as in training: multiples of an element, some of them exactly full loops.
fn any_share() -> impl Strategy<Value = u64> {
    prop_oneof![
        (1_u64..5000).prop_map(|elements| elements * 16),
        (1_u64..200_000).prop_map(|elements| elements * 64),
        (1_u64..5).prop_map(|loops| loops << 21),
    ]
}

fn any_operation(nranks: u32, channels: usize) -> impl Strategy<Value = Operation> {
    let kind = prop_oneof![
        4 => Just(CollectiveKind::AllReduce),
        2 => Just(CollectiveKind::AllGather),
        2 => Just(CollectiveKind::ReduceScatter),
        1 => Just(CollectiveKind::Broadcast),
    ];
    let protocol = prop_oneof![3 => Just(Protocol::Simple), 1 => Just(Protocol::Ll)];
    (kind, protocol, any_share(), 0..nranks).prop_map(move |(kind, protocol, share, root)| {
        let share = if protocol == Protocol::Ll { share % 60_000 + 16 } else { share };
        let share = share.next_multiple_of(16);
        Operation { kind, protocol, shares: vec![share; channels], root }
    })
}

fn any_job() -> impl Strategy<Value = (u32, usize, Vec<Operation>)> {
    (2_u32..7, 1_usize..4).prop_flat_map(|(nranks, channels)| {
        let operations = prop::collection::vec(any_operation(nranks, channels), 1..12);
        (Just(nranks), Just(channels), operations)
    })
}

fn run(nranks: u32, channels: usize, operations: &[Operation]) -> Job {
    let mut cluster = Cluster::new(nranks, channels as u32, RING_CAPACITY);
    for operation in operations {
        cluster.run(operation);
    }
    cluster.finish()
}

/// Every transfer belongs to exactly one collective, in order.
fn assert_covered(job: &Job, found: &[Collective]) {
    let mut next = vec![0; job.connections.len()];
    for collective in found {
        for on in &collective.transfers {
            let place = &mut next[on.connection.0 as usize];
            assert_eq!(on.places.start, *place, "{collective:?}");
            *place = on.places.end;
        }
    }
    let all: Vec<usize> = job.connections.iter().map(|one| one.transfers.len()).collect();
    assert_eq!(next, all);
}

proptest! {
    #[test]
    fn what_was_sent_is_found((nranks, channels, operations) in any_job()) {
        let job = run(nranks, channels, &operations);
        let found = collectives(&job);
        prop_assert_eq!(found.len(), operations.len());
        assert_covered(&job, &found);
        for (found, operation) in found.iter().zip(&operations) {
            let is_kind = found.kind == operation.kind;
            prop_assert!(is_kind || found.alternatives.contains(&operation.kind), "{found:?}");
            prop_assert_eq!(found.protocol, operation.protocol);
            prop_assert_eq!(found.channels as usize, channels);
            let bytes = bytes_of(operation, nranks);
            if is_kind && operation.protocol == Protocol::Simple {
                prop_assert_eq!(found.bytes, Some(bytes));
                prop_assert!(!found.is_estimated);
            } else if is_kind {
                let slack = 8 * u64::from(nranks) * channels as u64;
                let estimate = found.bytes.unwrap_or(0);
                prop_assert!((bytes..=bytes + slack).contains(&estimate), "{bytes} {found:?}");
            }
        }
    }

    #[test]
    fn missing_messages_are_survived(
        (nranks, channels, operations) in any_job(),
        lost in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), 1_usize..20), 0..8),
        has_cts in any::<bool>(),
    ) {
        let mut job = run(nranks, channels, &operations);
        for (connection, at, count) in lost {
            let place = connection.index(job.connections.len());
            let transfers = &mut job.connections[place].transfers;
            if !transfers.is_empty() {
                let from = at.index(transfers.len());
                let to = (from + count).min(transfers.len());
                transfers.drain(from..to);
            }
        }
        if !has_cts {
            let transfers = job.connections.iter_mut().flat_map(|one| &mut one.transfers);
            transfers.for_each(|transfer| transfer.cts = None);
        }
        assert_covered(&job, &collectives(&job));
    }
}

#[test]
fn collectives_of_one_size_are_separated_by_clear_to_sends() {
    let gather = operation(CollectiveKind::AllGather, Protocol::Simple, &[131_072; 2]);
    let reduce = operation(CollectiveKind::AllReduce, Protocol::Simple, &[524_288; 2]);
    let job = run(4, 2, &[gather.clone(), gather, reduce]);
    let found = collectives(&job);
    let kinds: Vec<CollectiveKind> = found.iter().map(|one| one.kind).collect();
    let [gather, reduce] = [CollectiveKind::AllGather, CollectiveKind::AllReduce];
    assert_eq!(kinds, [gather, gather, reduce]);
    assert_eq!(found[2].transfers[0].boundaries, [12 + 6]);
    assert_eq!(found[2].parts.len(), 2);
}

#[test]
fn one_lost_message_leaves_the_others_in_place() {
    let reduce = operation(CollectiveKind::AllReduce, Protocol::Simple, &[524_288; 2]);
    let mut job = run(4, 2, &vec![reduce; 4]);
    job.connections[1].transfers.remove(17);
    let found = collectives(&job);
    let sizes: Vec<(Option<u64>, bool)> =
        found.iter().map(|one| (one.bytes, one.is_estimated)).collect();
    let [whole, partly] = [(Some(1_048_576), false), (Some(1_048_576), true)];
    assert_eq!(sizes, [whole, partly, whole, whole]);
    assert_eq!(found[1].transfers[1].boundaries, [17]);
}

#[test]
fn a_capture_that_begins_and_ends_amid_a_collective_says_so() {
    let reduce = operation(CollectiveKind::AllReduce, Protocol::Simple, &[524_288; 2]);
    let mut job = run(4, 2, &vec![reduce; 4]);
    for connection in &mut job.connections {
        connection.transfers.drain(..5);
        connection.transfers.truncate(12 * 3 - 2);
    }
    let found = collectives(&job);
    let bytes: Vec<Option<u64>> = found.iter().map(|one| one.bytes).collect();
    assert_eq!(bytes, [None, Some(1_048_576), Some(1_048_576), None]);
    assert!(found.iter().all(|one| !one.is_counted_from_init));
    assert_eq!(found[3].kind, CollectiveKind::Unknown);
}

/// Messages missing at the start of each connection, in turn.
const BEGINNINGS: [[usize; 4]; 3] = [[10, 9, 7, 6], [3, 2, 2, 1], [11, 11, 12, 12]];

#[test]
fn a_capture_that_begins_amid_many_alike_finds_where_each_begins() {
    // One loop of full chunks: by its bytes, a collective could as well have all loops.
    let reduce = operation(CollectiveKind::AllReduce, Protocol::Simple, &[8_388_608; 2]);
    for beginning in BEGINNINGS {
        let mut job = run(4, 2, &vec![reduce.clone(); 100]);
        for (connection, unseen) in job.connections.iter_mut().zip(beginning.into_iter().cycle()) {
            connection.transfers.drain(..unseen);
        }
        let found = collectives(&job);
        let (amid, whole) = found.split_first().unwrap();
        assert_eq!(amid.kind, CollectiveKind::Unknown, "{beginning:?}");
        assert_eq!(whole.len(), 99, "{beginning:?}");
        for one in whole {
            let facts = (one.kind, one.bytes);
            assert_eq!(facts, (CollectiveKind::AllReduce, Some(16_777_216)), "{beginning:?}");
        }
    }
}

#[test]
fn channels_without_names_are_distinguished_by_queue_pairs() {
    let reduce = operation(CollectiveKind::AllReduce, Protocol::Simple, &[8_388_608, 4_194_304]);
    let mut job = run(4, 2, &vec![reduce; 20]);
    for (place, connection) in job.connections.iter_mut().enumerate() {
        connection.channel = None;
        // Some ranks are ahead on the first channel, others on the second.
        connection.transfers.drain(..[3, 1, 2, 4, 1, 3, 4, 2][place]);
    }
    let found = collectives(&job);
    let sizes: Vec<_> = found.iter().skip(1).map(|one| (one.kind, one.bytes)).collect();
    assert_eq!(sizes, [(CollectiveKind::AllReduce, Some(12_582_912)); 19]);
}

#[test]
fn a_long_collective_is_one_though_receivers_are_late_now_and_then() {
    let reduce = operation(CollectiveKind::AllReduce, Protocol::Simple, &[64 * 8_388_608]);
    let mut job = run(4, 1, &[reduce.clone(), reduce]);
    for (place, connection) in (0_u64..).zip(&mut job.connections) {
        let mut ended = None;
        for (at, transfer) in (0_u64..).zip(&mut connection.transfers) {
            // One in ten.
            let is_late = scattered(at * 4 + place).is_multiple_of(10);
            if let Some((ended, cts)) = ended.zip(transfer.cts.as_mut()).filter(|_| is_late) {
                cts.posted = Some(Timestamp::plus_nanos(ended, 1));
            }
            ended = transfer.received.map(|span| span.last);
        }
    }
    // The clear-to-sends of one connection may never be captured.
    let mut partly = job.clone();
    partly.connections[1].transfers.iter_mut().for_each(|transfer| transfer.cts = None);
    for job in [job, partly] {
        let found = collectives(&job);
        let facts: Vec<_> = found.iter().map(|one| (one.kind, one.bytes)).collect();
        assert_eq!(facts, [(CollectiveKind::AllReduce, Some(64 * 8_388_608)); 2]);
    }
}

#[test]
fn one_connection_that_continues_keeps_two_halves_one_collective() {
    let reduce = operation(CollectiveKind::AllReduce, Protocol::Simple, &[524_288; 2]);
    let mut job = run(4, 2, &vec![reduce; 3]);
    // Half-way through the second collective, seven of eight receivers were late.
    for connection in &mut job.connections[1..] {
        let ended = connection.transfers[12 + 5].received.unwrap().last;
        connection.transfers[12 + 6].cts.as_mut().unwrap().posted = Some(ended.plus_nanos(1));
    }
    let found = collectives(&job);
    let facts: Vec<_> = found.iter().map(|one| (one.kind, one.bytes)).collect();
    assert_eq!(facts, [(CollectiveKind::AllReduce, Some(1_048_576)); 3]);
}

/// Numbers that look random.
const fn scattered(number: u64) -> u64 {
    number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32
}

#[test]
fn calls_in_logs_settle_what_sizes_leave_open() {
    let scatter = operation(CollectiveKind::ReduceScatter, Protocol::Simple, &[131_072; 2]);
    let mut job = run(4, 2, &vec![scatter; 3]);
    assert_eq!(collectives(&job)[0].grade, Grade::Inferred);
    job.calls = (0..3)
        .map(|number| LoggedCall {
            communicator: CommunicatorId(0),
            rank: 0,
            number,
            kind: CollectiveKind::ReduceScatter,
            bytes: 262_144,
            root: 0,
            witness: Witness::Line { log: LogId(0), number: number + 1 },
        })
        .collect();
    for found in collectives(&job) {
        let facts = (found.kind, found.bytes, found.alternatives.len(), found.grade);
        assert_eq!(facts, (CollectiveKind::ReduceScatter, Some(1_048_576), 0, Grade::Proven));
    }
}
