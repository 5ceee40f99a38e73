//! Processes, from their calls.

use super::*;
use crate::link::job::RankQueuePair;
use crate::model::call::{
    Caller, Communication, DataType, QueuePairChange, QueuePairHandle, Returned,
};
use crate::model::qpn::Qpn;
use crate::model::queue_pair::{QueuePairKind, QueuePairOwner, QueuePairState};

const TIME: Timestamp = Timestamp::from_nanos(1);

fn call(pid: u32, action: Action, code: Option<i32>) -> Call {
    let returned =
        code.map(|code| Returned { time: TIME, is_success: code == 0, code: Some(code) });
    Call { caller: Caller { pid, tid: pid, cgroup: 0, payer: 0 }, time: TIME, returned, action }
}

fn initialise(handle: u64, nranks: u32, rank: u32) -> Action {
    let id = unique_id::from_magic(u64::from(nranks), "192.0.2.1:9".parse().unwrap());
    let communicator = Some(CommunicatorHandle(handle));
    Action::Initialise { nranks, rank, id: Some(id), ids: 1, communicator }
}

fn all_reduce(elements: u64) -> Action {
    Action::Communicate(Communication {
        function: Function::AllReduce,
        communicator: CommunicatorHandle(1),
        elements,
        data_type: Some(DataType::Float16),
        operation: Some(0),
        root_or_peer: None,
        send_buffer: None,
        receive_buffer: None,
        stream: None,
    })
}

#[test]
fn a_process_has_the_rank_of_its_greatest_communicator() {
    let mut tracker = ProcessTracker::default();
    tracker.observe(&call(7, initialise(1, 4, 3), None));
    assert_eq!(tracker.rank(7), None, "it has only begun");
    tracker.observe(&call(7, initialise(1, 4, 3), Some(0)));
    tracker.observe(&call(7, initialise(2, 2, 1), Some(0)));
    tracker.observe(&call(7, initialise(3, 64, 9), Some(1)));
    tracker.observe(&call(7, initialise(4, 8, 8), Some(0)));
    tracker.observe(&call(8, initialise(1, 4, 0), Some(0)));
    assert_eq!([7, 8, 9].map(|pid| tracker.rank(pid)), [Some(3), Some(0), None]);
    let communicator = CommunicatorHandle(5);
    let parent = CommunicatorHandle(1);
    let split = Action::Split { parent, color: Some(0), key: 0, child: Some(communicator) };
    for action in [
        split,
        Action::AskRank { communicator, rank: Some(5) },
        Action::AskCount { communicator, nranks: Some(16) },
    ] {
        tracker.observe(&call(7, action, Some(0)));
    }
    assert_eq!(tracker.rank(7), Some(5));
    let end = Action::End { communicator, how: CommunicatorEnd::Destroy };
    tracker.observe(&call(7, end, Some(0)));
    assert_eq!(tracker.rank(7), Some(3));
    tracker.retain(|pid| pid == 8);
    assert_eq!([7, 8].map(|pid| tracker.rank(pid)), [None, Some(0)]);
}

#[test]
fn calls_are_counted_with_the_rank_that_the_process_had_then() {
    let mut tracker = ProcessTracker::default();
    tracker.observe(&call(7, all_reduce(10), None));
    tracker.observe(&call(7, initialise(1, 4, 3), Some(0)));
    tracker.observe(&call(7, all_reduce(100), None));
    tracker.observe(&call(7, all_reduce(u64::MAX), None));
    tracker.retain(|_| false);
    let counts: Vec<_> = tracker.counts().collect();
    let count = |calls, bytes| CallCount { calls, bytes };
    let expected = [
        (Function::AllReduce, None, count(1, 20)),
        // A size that overflows is impossible: its call is counted without bytes.
        (Function::AllReduce, Some(3), count(2, 200)),
    ];
    assert_eq!(counts, expected);
}

#[test]
fn a_call_names_the_process_of_a_rank() {
    let mut tracker = ProcessTracker::default();
    tracker.observe(&call(7, initialise(1, 4, 1), Some(0)));
    tracker.observe(&call(8, initialise(1, 4, 2), Some(0)));
    tracker.observe(&between([30, 40], 8, create(0x10, 0x98)));
    let known = Rank { pid: Some(99), ..Rank::new(2) };
    let captured = Communicator {
        ranks: vec![Rank::new(0), Rank::new(1), known],
        ..communicator(4, "192.0.2.1:9".parse().unwrap())
    };
    let magics = [(4, CommunicatorId(0))].into();
    let mut job = Job { communicators: vec![captured], magics, ..Job::default() };
    tracker.join(&mut job, &[]);
    let ranks = job.communicators[0].ranks.iter();
    let found: Vec<_> =
        ranks.map(|rank| (rank.pid, rank.evidence.len(), rank.queue_pairs.len())).collect();
    // The captured process id stays: in a container the process has another one.
    assert_eq!(found, [(None, 0, 0), (Some(7), 1, 0), (Some(99), 0, 1)]);
}

/// A call between two times.
fn between(times: [u64; 2], pid: u32, action: Action) -> Call {
    let [time, returned] = times.map(Timestamp::from_nanos);
    let returned = Some(Returned { time: returned, is_success: true, code: None });
    Call { caller: Caller { pid, tid: pid, cgroup: 0, payer: 0 }, time, returned, action }
}

fn create(handle: u64, number: u32) -> Action {
    let kind = Some(QueuePairKind::ReliableConnection);
    let (queue_pair, number) = (Some(QueuePairHandle(handle)), Some(Qpn::new(number)));
    Action::CreateQueuePair { queue_pair, number, kind }
}

fn listed(pid: u32, device: &str, number: u32, remote: u32) -> HostQueuePair {
    HostQueuePair {
        device: device.to_owned(),
        port: Some(1),
        local: Qpn::new(number),
        remote: Some(Qpn::new(remote)),
        kind: QueuePairKind::ReliableConnection,
        state: QueuePairState::ReadyToSend,
        owner: QueuePairOwner::Process(pid),
    }
}

/// Communicators from the tracker alone: identity and rank, and the rank's queue pairs.
fn alone(tracker: &ProcessTracker) -> Vec<(Identity, u32, Vec<RankQueuePair>)> {
    let mut job = Job::default();
    tracker.join(&mut job, &[]);
    let known = job.communicators.iter().flat_map(|one| {
        one.ranks.iter().map(|rank| (one.identity, rank.rank, rank.queue_pairs.clone()))
    });
    known.collect()
}

#[test]
fn uncaptured_communicators_are_known_from_calls() {
    let mut tracker = ProcessTracker::default();
    tracker.set_host("gpu-node-3");
    tracker.observe(&between([10, 20], 7, initialise(1, 4, 1)));
    tracker.observe(&between([30, 40], 7, create(0x10, 0x99)));
    let change = QueuePairChange {
        state: Some(QueuePairState::ReadyToReceive),
        remote: Some(Qpn::new(0x77)),
        remote_gid: Some("::ffff:192.0.2.9".parse::<std::net::Ipv6Addr>().unwrap().octets()),
        ..QueuePairChange::default()
    };
    let queue_pair = QueuePairHandle(0x10);
    let modify = Action::ModifyQueuePair { queue_pair, number: None, change: Some(change) };
    tracker.observe(&call(7, modify, None));
    // A queue pair of a process that is not a rank.
    tracker.observe(&between([30, 40], 8, create(0x10, 0x98)));
    let mut pair = RankQueuePair {
        device: None,
        number: Qpn::new(0x99),
        kind: Some(QueuePairKind::ReliableConnection),
        state: Some(QueuePairState::ReadyToReceive),
        remote: Some(Qpn::new(0x77)),
        remote_address: Some("192.0.2.9".parse().unwrap()),
        grade: Grade::Inferred,
    };
    assert_eq!(alone(&tracker), [(Identity::Magic(4), 1, vec![pair.clone()])]);

    // The kernel also lists its device, and an older queue pair with the same number on another
    // device.
    let second = listed(7, "mlx5_1", 0x99, 0x55);
    tracker.observe_queue_pairs([listed(7, "mlx5_0", 0x99, 0x77), second.clone()]);
    let state = Some(QueuePairState::ReadyToSend);
    pair = RankQueuePair { device: Some("mlx5_0".to_owned()), state, ..pair };
    let older = RankQueuePair {
        device: Some("mlx5_1".to_owned()),
        remote: Some(Qpn::new(0x55)),
        remote_address: None,
        ..pair.clone()
    };
    assert_eq!(alone(&tracker), [(Identity::Magic(4), 1, vec![pair, older.clone()])]);
    tracker.observe(&call(7, Action::DestroyQueuePair { queue_pair, number: None }, None));
    tracker.observe_queue_pairs([second]);
    assert_eq!(alone(&tracker), [(Identity::Magic(4), 1, vec![older])]);

    let mut job = Job::default();
    tracker.observe(&call(7, all_reduce(1), None));
    tracker.join(&mut job, &[]);
    let (one, rank) = (&job.communicators[0], &job.communicators[0].ranks[0]);
    assert_eq!((one.nranks, one.grade), (Some(4), Grade::Proven));
    // The queue pair could belong to another library in the process.
    assert_eq!(one.transport, Transport::Unknown);
    assert_eq!(one.root, Some("192.0.2.1:9".parse().unwrap()));
    assert_eq!((rank.pid, rank.host.as_deref()), (Some(7), Some("gpu-node-3")));
    assert_eq!(rank.communicated, Some(Span { first: TIME, last: TIME }));
    tracker.retain(|pid| pid != 7);
    assert_eq!(alone(&tracker), []);
}

#[test]
fn the_communicator_that_was_being_made_has_the_queue_pair() {
    let mut tracker = ProcessTracker::default();
    tracker.observe(&between([12, 14], 7, create(0x10, 1)));
    tracker.observe(&between([10, 20], 7, initialise(1, 4, 1)));
    tracker.observe(&between([32, 34], 7, create(0x20, 2)));
    tracker.observe(&between([30, 40], 7, initialise(2, 8, 5)));
    tracker.observe(&between([52, 54], 7, create(0x30, 3)));
    let known = alone(&tracker);
    let known: Vec<_> = known
        .iter()
        .map(|(identity, rank, pairs)| {
            let pairs: Vec<_> = pairs.iter().map(|one| (one.number.value(), one.grade)).collect();
            (*identity, *rank, pairs)
        })
        .collect();
    let expected = [
        (Identity::Magic(4), 1, vec![(1, Grade::Inferred)]),
        (Identity::Magic(8), 5, vec![(2, Grade::Inferred), (3, Grade::Unknown)]),
    ];
    assert_eq!(known, expected);

    let mut job = Job::default();
    tracker.join(&mut job, &[]);
    assert!(job.communicators.iter().all(|one| one.transport == Transport::Ib));

    // A child communicator may have made the queue pair, and no unique id identifies it.
    let mut tracker = ProcessTracker::default();
    tracker.observe(&between([10, 20], 7, initialise(1, 4, 1)));
    let (parent, child) = (CommunicatorHandle(1), Some(CommunicatorHandle(2)));
    let split = Action::Split { parent, color: Some(0), key: 0, child };
    tracker.observe(&between([32, 34], 7, create(0x20, 2)));
    tracker.observe(&between([30, 40], 7, split));
    assert_eq!(alone(&tracker)[0].2[0].grade, Grade::Unknown);
}

/// Since 2.22, NCCL creates queue pairs at the first use of a communicator.
#[test]
fn the_communicator_that_was_just_used_has_the_queue_pair() {
    let mut tracker = ProcessTracker::default();
    let second = 1_000_000_000;
    let at = |seconds: u64| [seconds * second, seconds * second + 5];
    tracker.observe(&between(at(1), 7, initialise(1, 4, 1)));
    tracker.observe(&between(at(2), 7, initialise(2, 8, 5)));
    tracker.observe(&between(at(3), 7, all_reduce(1)));
    tracker.observe(&between(at(4), 7, create(0x10, 1)));
    tracker.observe(&between(at(30), 7, all_reduce(1)));
    tracker.observe(&between(at(31), 7, create(0x20, 2)));
    let mut job = Job::default();
    tracker.join(&mut job, &[]);
    let known = job.communicators.iter().map(|one| {
        let pairs = one.ranks.iter().flat_map(|rank| &rank.queue_pairs);
        let pairs: Vec<_> = pairs.map(|pair| (pair.number.value(), pair.grade)).collect();
        (one.transport, pairs)
    });
    let expected = [
        (Transport::Ib, vec![(1, Grade::Inferred)]),
        // Its first use was long before.
        (Transport::Unknown, vec![(2, Grade::Unknown)]),
    ];
    assert_eq!(known.collect::<Vec<_>>(), expected);

    // The other communicator was used just before, too; or a third was being made.
    let with = |action: Action, time: [u64; 2]| {
        let mut tracker = ProcessTracker::default();
        tracker.observe(&between(at(1), 7, initialise(1, 4, 1)));
        tracker.observe(&between(at(2), 7, initialise(2, 8, 5)));
        tracker.observe(&between(at(3), 7, all_reduce(1)));
        tracker.observe(&between(time, 7, action));
        tracker.observe(&between(at(5), 7, create(0x10, 1)));
        let known = alone(&tracker);
        known.iter().flat_map(|(.., pairs)| pairs).map(|pair| pair.grade).collect::<Vec<_>>()
    };
    let Action::Communicate(call) = all_reduce(1) else { panic!() };
    let other = Action::Communicate(Communication { communicator: CommunicatorHandle(2), ..call });
    assert_eq!(with(other, at(4)), [Grade::Unknown]);
    let (parent, child) = (CommunicatorHandle(1), Some(CommunicatorHandle(3)));
    let split = Action::Split { parent, color: Some(0), key: 0, child };
    assert_eq!(with(split, [4 * second, 6 * second]), [Grade::Unknown]);
}

#[test]
fn an_id_shared_by_communicators_identifies_none() {
    let mut tracker = ProcessTracker::default();
    let id = unique_id::from_magic(SHARED_MAGIC, "192.0.2.1:9".parse().unwrap());
    let communicator = Some(CommunicatorHandle(1));
    let action = Action::Initialise { nranks: 4, rank: 1, id: Some(id), ids: 1, communicator };
    tracker.observe(&call(7, action, Some(0)));
    assert_eq!(tracker.rank(7), Some(1));
    assert_eq!(alone(&tracker), []);
}
