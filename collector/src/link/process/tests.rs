//! What calls tell of their processes.

use super::*;
use crate::link::job::{Communicator, CommunicatorId, Identity, Rank, Transport};
use crate::model::call::{Caller, Communication, DataType, Returned};
use crate::model::grade::Grade;
use crate::model::time::Timestamp;

const TIME: Timestamp = Timestamp::from_nanos(1);

fn call(pid: u32, action: Action, code: Option<i32>) -> Call {
    let returned =
        code.map(|code| Returned { time: TIME, is_success: code == 0, code: Some(code) });
    Call { caller: Caller { pid, tid: pid, cgroup: 0 }, time: TIME, returned, action }
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
        // Of what cannot be, the bytes are not known.
        (Function::AllReduce, Some(3), count(2, 200)),
    ];
    assert_eq!(counts, expected);
}

#[test]
fn a_call_names_the_process_of_a_rank() {
    let mut tracker = ProcessTracker::default();
    tracker.observe(&call(7, initialise(1, 4, 1), Some(0)));
    tracker.observe(&call(8, initialise(1, 4, 2), Some(0)));
    let known = Rank { pid: Some(99), ..Rank::new(2) };
    let communicator = Communicator {
        identity: Identity::Magic(4),
        log_hash: None,
        nranks: Some(4),
        release: None,
        releases: None,
        root: None,
        parent: None,
        ranks: vec![Rank::new(0), Rank::new(1), known],
        channels: Vec::new(),
        transport: Transport::Unknown,
        bootstrap: None,
        evidence: Vec::new(),
        grade: Grade::Proven,
    };
    let magics = [(4, CommunicatorId(0))].into();
    let mut job = Job { communicators: vec![communicator], magics, ..Job::default() };
    tracker.join(&mut job, &[]);
    let ranks = job.communicators[0].ranks.iter();
    let told: Vec<_> = ranks.map(|rank| (rank.pid, rank.evidence.len())).collect();
    // What was captured stands: in a container a process has another number.
    assert_eq!(told, [(None, 0), (Some(7), 1), (Some(99), 0)]);
}
