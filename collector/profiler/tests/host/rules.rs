//! Rules of the interface, one a test, each with all versions that it concerns.

use std::time::Duration;

use railscope_core::decode::profiler::{
    Collective, Kernel, OperationEnd, OperationStart, Record, Transfer,
};

use super::descriptor::Descriptor;
use super::sys::{Nccl, Recorded, mask};

const ALL: std::ops::RangeInclusive<u8> = 1..=7;

/// A pause that stands out from the time that calls take.
const PAUSE: Duration = Duration::from_millis(20);

fn transfers(recorded: &Recorded) -> Vec<Transfer> {
    let of = |record: &Record| match record {
        Record::Transfer(transfer) => Some(*transfer),
        _ => None,
    };
    recorded.records.iter().filter_map(of).collect()
}

fn starts(recorded: &Recorded) -> Vec<OperationStart> {
    let of = |record: &Record| match record {
        Record::OperationStart(start) => Some(*start),
        _ => None,
    };
    recorded.records.iter().filter_map(of).collect()
}

fn ends(recorded: &Recorded) -> Vec<OperationEnd> {
    let of = |record: &Record| match record {
        Record::OperationEnd(end) => Some(*end),
        _ => None,
    };
    recorded.records.iter().filter_map(of).collect()
}

fn collectives(recorded: &Recorded) -> Vec<Collective> {
    let of = |record: &Record| match record {
        Record::Collective(one) => Some(*one),
        _ => None,
    };
    recorded.records.iter().filter_map(of).collect()
}

/// Whether the late wait has the pause, and the others have not: a machine that is busy may hold up any.
fn is_only(one: &Transfer, late: usize) -> bool {
    let pause = u64::try_from(PAUSE.as_nanos()).unwrap();
    let waits = one.waits_ns.map(|wait| wait.unwrap());
    assert!(waits[late] >= pause, "{one:?}");
    (0..3).all(|place| place == late || waits[place] < pause)
}

/// Tries of what a busy machine may spoil.
const TRIES: usize = 20;

#[test]
fn identity_and_names_of_all_versions() {
    for version in ALL {
        let nccl = Nccl::load(version, &[]);
        let ctx = nccl.init(0xabc, 1);
        assert_eq!(mask(&nccl), 30, "version {version}");
        let group = nccl.start(ctx, Descriptor::new(version, 1, 0, 0));
        assert_eq!(group, 0, "groups are not recorded");
        let coll = nccl.start(ctx, Descriptor::all_reduce(version, group, 1, 17));
        nccl.stop(coll);
        let send = nccl.start(ctx, Descriptor::send(version, group, 1, 3));
        nccl.stop(send);
        let op = nccl.start(ctx, Descriptor::operation(version, coll, 2, true));
        nccl.stop(op);
        nccl.finalize(ctx);
        let recorded = nccl.end();
        let comm = recorded.communicators.last().unwrap();
        assert_eq!((comm.hash, comm.rank, comm.is_over), (Some(0xabc), Some(1), true));
        let size = (version >= 4).then_some((4, 2));
        assert_eq!(comm.ranks.zip(comm.nodes), size, "version {version}");
        assert_eq!(comm.name, if version >= 4 { "world" } else { "" });
        let [one, two] = collectives(&recorded)[..] else { panic!("{recorded:?}") };
        assert_eq!(one.function.name(), Some("AllReduce"), "version {version}");
        assert_eq!((one.datatype, one.algorithm, one.protocol, one.channels), (8, 2, 3, 2));
        assert_eq!((one.sequence, one.count, one.root, one.rank), (17, 1024, 0, 1));
        assert_eq!(one.tag, if version == 7 { 4812 } else { 0 });
        assert_eq!(two.function.name(), Some("Send"));
        assert_eq!((two.is_p2p, two.count, two.root, two.datatype), (true, 77, 3, 1));
        let [start] = starts(&recorded)[..] else { panic!("{recorded:?}") };
        assert_eq!((start.collective, start.comm, start.sequence), (one.number, one.comm, 17));
        assert_eq!((start.channel, start.peer, start.transfers), (3, 2, 4));
        assert_eq!((start.chunk_size, start.is_send, start.is_foreign), (65_536, true, false));
        assert_eq!(recorded.lost(), [0; 8]);
    }
}

#[test]
fn waits_of_a_send() {
    for version in ALL {
        for late in 0..3 {
            assert!((0..TRIES).any(|_| is_only(&send(version, late), late)), "{version}, {late}");
        }
    }
}

/// A send that pauses in one of its waits.
fn send(version: u8, late: usize) -> Transfer {
    let nccl = Nccl::load(version, &[]);
    let ctx = nccl.init(1, 0);
    let coll = nccl.start(ctx, Descriptor::all_reduce(version, 0, 0, 0));
    let op = nccl.start(ctx, Descriptor::operation(version, coll, 1, true));
    let part = nccl.start(ctx, Descriptor::transfer(version, op, 0));
    nccl.state(part, 8, 0);
    let pause = |place| {
        if place == late {
            std::thread::sleep(PAUSE);
        }
    };
    pause(0);
    let peer_wait = || {
        if version <= 3 { nccl.state(op, 1, 0) } else { nccl.state(part, 20, 0) }
    };
    peer_wait();
    pause(1);
    // Given again at every poll.
    for _ in 0..3 {
        peer_wait();
    }
    nccl.state(part, 9, 65_536);
    pause(2);
    nccl.stop(part);
    nccl.stop(op);
    nccl.finalize(ctx);
    let recorded = nccl.end();
    let [one] = transfers(&recorded)[..] else { panic!("{recorded:?}") };
    let [end] = ends(&recorded)[..] else { panic!("{recorded:?}") };
    assert_eq!(end.polls, 3);
    assert_eq!(end.bytes, if version >= 4 { 65_536 } else { 0 });
    one
}

#[test]
fn waits_of_a_receive_that_starts_again_and_again() {
    for version in ALL {
        for late in 0..3 {
            assert!(
                (0..TRIES).any(|_| is_only(&receive(version, late), late)),
                "{version}, {late}"
            );
        }
    }
}

/// A receive that starts five times, and pauses in one of its waits.
fn receive(version: u8, late: usize) -> Transfer {
    let nccl = Nccl::load(version, &[]);
    let ctx = nccl.init(1, 0);
    let op = nccl.start(ctx, Descriptor::operation(version, 0, 1, false));
    let part = nccl.start(ctx, Descriptor::transfer(version, op, 9));
    for _ in 0..4 {
        std::thread::sleep(Duration::from_millis(5));
        assert_eq!(nccl.start(ctx, Descriptor::transfer(version, op, 9)), part);
    }
    for (place, state) in [10, 11, 12].into_iter().enumerate() {
        nccl.state(part, state, 1000);
        if place == late {
            std::thread::sleep(PAUSE);
        }
    }
    nccl.stop(part);
    nccl.stop(op);
    nccl.finalize(ctx);
    let recorded = nccl.end();
    let [one] = transfers(&recorded)[..] else { panic!("{recorded:?}") };
    assert_eq!((one.number, one.is_send), (9, false));
    // It begins when it is posted.
    assert!(one.begin_ns >= 20_000_000, "{one:?}");
    one
}

#[test]
fn children_stop_after_their_parents() {
    let nccl = Nccl::load(6, &[]);
    let ctx = nccl.init(1, 0);
    let coll = nccl.start(ctx, Descriptor::all_reduce(6, 0, 0, 5));
    nccl.stop(coll);
    let op = nccl.start(ctx, Descriptor::operation(6, coll, 1, true));
    let parts: Vec<usize> =
        (0..8).map(|number| nccl.start(ctx, Descriptor::transfer(6, op, number))).collect();
    nccl.stop(op);
    for part in &parts {
        nccl.state(*part, 20, 0);
        nccl.state(*part, 9, 1);
        nccl.stop(*part);
    }
    // All is over: what comes now names nothing.
    nccl.stop(op);
    nccl.stop(parts[0]);
    nccl.state(parts[0], 9, 1);
    assert_eq!(nccl.start(ctx, Descriptor::transfer(6, op, 8)), 0);
    nccl.finalize(ctx);
    let recorded = nccl.end();
    assert_eq!(transfers(&recorded).len(), 8);
    assert_eq!(recorded.lost(), [0, 0, 0, 0, 1, 3, 0, 0]);
}

#[test]
fn null_handles_and_unknown_events_are_taken() {
    for version in ALL {
        let nccl = Nccl::load(version, &[]);
        let ctx = nccl.init(1, 0);
        nccl.stop(0);
        nccl.bare_state(0, 21);
        // Names of collectives are left unwritten here: addresses of nothing.
        let kinds = (0..18).map(|bit| 1 << bit).filter(|kind| !matches!(kind, 2 | 4 | 8 | 16));
        for kind in kinds.filter(|kind| version >= 5 || *kind <= 128) {
            let handle = nccl.start(ctx, Descriptor::new(version, kind, 0, 0));
            assert_eq!(handle, 0, "version {version}, event {kind}");
        }
        nccl.finalize(ctx);
        nccl.end();
    }
}

#[test]
fn kernels_are_timed_if_they_are_asked_for() {
    for version in 3..=7 {
        let nccl = Nccl::load(version, &[("RAILSCOPE_PROFILER_MASK", "94")]);
        let ctx = nccl.init(0xabc, 1);
        assert_eq!(mask(&nccl), 94, "version {version}");
        let coll = nccl.start(ctx, Descriptor::all_reduce(version, 0, 1, 17));
        nccl.stop(coll);
        let channels = [0, 1].map(|channel| {
            let timer = 5_000 + u64::from(channel);
            nccl.start(ctx, Descriptor::kernel(version, coll, channel, timer))
        });
        for (handle, timer) in channels.into_iter().zip([9_000, 9_500]) {
            nccl.state(handle, 22, timer);
            nccl.stop(handle);
        }
        // It is over, and one without a collective is none.
        nccl.stop(channels[0]);
        assert_eq!(nccl.start(ctx, Descriptor::kernel(version, 0, 0, 1)), 0);
        nccl.finalize(ctx);
        let recorded = nccl.end();
        let kernels = recorded.records.iter().filter_map(|record| match record {
            Record::Kernel(kernel) => Some(*kernel),
            _ => None,
        });
        let kernels: Vec<_> = kernels.collect();
        let timers: Vec<_> =
            kernels.iter().map(|kernel| (kernel.channel, kernel.timer_ns)).collect();
        let timer = |begin, end| (version >= 4).then_some([begin, end]);
        assert_eq!(timers, [(0, timer(5_000, 9_000)), (1, timer(5_001, 9_500))]);
        let [of] = collectives(&recorded)[..] else { panic!("{recorded:?}") };
        let is_its = |kernel: &Kernel| (kernel.collective, kernel.comm) == (of.number, of.comm);
        assert!(kernels.iter().all(|kernel| is_its(kernel) && kernel.function.0 == 5));
        assert_eq!(recorded.lost(), [0, 0, 0, 0, 1, 1, 0, 0]);
    }
}

#[test]
fn transfers_without_an_operation_are_counted() {
    let nccl = Nccl::load(7, &[]);
    let ctx = nccl.init(1, 0);
    assert_eq!(nccl.start(ctx, Descriptor::transfer(7, 0, 0)), 0);
    nccl.finalize(ctx);
    assert_eq!(nccl.end().lost()[4], 1);
}

#[test]
fn addresses_of_another_process_are_numbers() {
    let nccl = Nccl::load(6, &[]);
    let own = nccl.init(1, 0);
    // A context and a parent of another process, where nothing is mapped here.
    let (ctx, parent) = (0x7f12_3456_7890, 0x7f98_7654_3210);
    let op = nccl.start(ctx, Descriptor::operation_of(6, parent, 5, true, 1));
    assert_ne!(op, 0);
    let part = nccl.start(ctx, Descriptor::transfer(6, op, 0));
    nccl.state(part, 20, 0);
    nccl.state(part, 9, 1);
    nccl.stop(part);
    nccl.stop(op);
    // Handles of the other process's library look like ours.
    let twin = nccl.start(own, Descriptor::all_reduce(6, 0, 0, 0));
    let op = nccl.start(own, Descriptor::operation_of(6, twin, 5, true, 1));
    nccl.stop(op);
    nccl.finalize(own);
    let recorded = nccl.end();
    let starts = starts(&recorded);
    assert!(
        starts.iter().all(|start| start.is_foreign && start.comm == 0 && start.collective == 0)
    );
    let foreign = recorded.records.iter().filter_map(|record| match record {
        Record::Foreign(foreign) => Some((foreign.pid, foreign.handle)),
        _ => None,
    });
    assert_eq!(foreign.collect::<Vec<_>>(), [(1, parent as u64), (1, twin as u64)]);
    assert_eq!(transfers(&recorded).len(), 1);
}

#[test]
fn a_transfer_that_never_stops_gives_way() {
    let nccl = Nccl::load(5, &[]);
    let ctx = nccl.init(1, 0);
    let op = nccl.start(ctx, Descriptor::operation(5, 0, 1, true));
    nccl.start(ctx, Descriptor::transfer(5, op, 3));
    let part = nccl.start(ctx, Descriptor::transfer(5, op, 11));
    nccl.stop(part);
    nccl.stop(op);
    nccl.finalize(ctx);
    let recorded = nccl.end();
    assert_eq!(transfers(&recorded)[0].number, 11);
    // States that were not given are no waits of 0.
    assert_eq!(transfers(&recorded)[0].waits_ns, [None, None, None]);
    assert_eq!(recorded.lost()[3], 1);
}

#[test]
fn a_hang_is_told_while_it_lasts() {
    let nccl = Nccl::load(6, &[]);
    let ctx = nccl.init(1, 0);
    let op = nccl.start(ctx, Descriptor::operation(6, 0, 1, true));
    let part = nccl.start(ctx, Descriptor::transfer(6, op, 2));
    nccl.state(part, 20, 0);
    std::thread::sleep(Duration::from_millis(2300));
    let recorded = nccl.read();
    let open = recorded.records.iter().find_map(|record| match record {
        Record::Open(open) => Some(*open),
        _ => None,
    });
    let open = open.expect("the transfer is reported");
    assert_eq!(open.wait(), Some(railscope_core::decode::profiler::Wait::Peer));
    assert!(open.since_ns >= 1_000_000_000 && open.number == 2, "{open:?}");
    nccl.finalize(ctx);
    nccl.end();
}
