//! Records as tests need them.

use super::{
    Collective, Communicator, Function, Header, Item, OperationEnd, OperationStart, Record,
    Transfer,
};

/// Communicator `number` of rank `rank`, of four on as many nodes.
pub(crate) fn communicator(number: u32, hash: u64, rank: u32) -> Communicator {
    Communicator {
        number,
        hash: Some(hash),
        rank: Some(rank),
        ranks: Some(4),
        nodes: Some(4),
        version: 5,
        is_over: false,
        since_ns: 1,
        name: String::new(),
    }
}

/// The header of a file.
pub(crate) fn header(host: &str, monotonic_ns: u64, realtime_ns: u64) -> Header {
    Header {
        pid: 1,
        monotonic_ns,
        realtime_ns,
        host: host.to_owned(),
        lanes: 0,
        lane_words: 0,
        words: 16,
        entries: 0,
        entry_words: 0,
    }
}

/// The call of an `AllReduce` over a ring.
pub(crate) fn call(comm: u32, number: u32, time_ns: u64) -> Collective {
    Collective {
        is_p2p: false,
        function: Function(5),
        datatype: 8,
        algorithm: 2,
        protocol: 3,
        channels: 1,
        time_ns,
        comm,
        number,
        sequence: u64::from(number),
        count: 100,
        tag: 0,
        handle: 0,
        root: 0,
        rank: 3,
    }
}

/// An operation of that collective that sends to rank 0, with the same number.
pub(crate) fn send(comm: u32, number: u32, time_ns: u64) -> OperationStart {
    OperationStart {
        is_send: true,
        is_foreign: false,
        channel: 0,
        function: Function(5),
        peer: 0,
        time_ns,
        number,
        collective: number,
        comm,
        transfers: 1,
        sequence: number,
        chunk_size: 1,
    }
}

/// A collective with one operation that sends once: called, its operation 10 ns later, its data there after
/// `gpu_ns`, over after `lasted_ns`.
pub(crate) fn collective(
    comm: u32,
    number: u32,
    time_ns: u64,
    (gpu_ns, lasted_ns): (u64, u64),
) -> [Item; 4] {
    let waits_ns = [Some(gpu_ns), Some(6), Some(7)];
    let transfer = Transfer { operation: number, number: 0, is_send: true, begin_ns: 0, waits_ns };
    let end = OperationEnd { number, polls: 0, lasted_ns, queued_ns: None, bytes: 4 };
    [
        Record::Collective(call(comm, number, time_ns)),
        Record::OperationStart(send(comm, number, time_ns.saturating_add(10))),
        Record::Transfer(transfer),
        Record::OperationEnd(end),
    ]
    .map(Item::Record)
}
