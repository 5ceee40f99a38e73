//! Every argument of every function is reported unchanged.

use railscope_core::model::call::{
    Action, Call, Communication, CommunicatorEnd, CommunicatorHandle, DataType, Function,
    QueuePairChange, QueuePairHandle,
};
use railscope_core::model::nccl::UniqueId;
use railscope_core::model::qpn::Qpn;
use railscope_core::model::queue_pair::{QueuePairKind, QueuePairState};

use super::stage::{Stage, start, watch};

const fn communicator(number: u64) -> CommunicatorHandle {
    CommunicatorHandle(0xc000_0000_0000 + number)
}

fn id(first: u8) -> Option<UniqueId> {
    Some(UniqueId(std::array::from_fn(|place| first.wrapping_add(place as u8))))
}

/// A call that is reported on entry and on return; `after` has what only the return knows.
fn twice(
    expected: &mut Vec<(Action, Option<Option<i32>>)>,
    code: i32,
    before: Action,
    after: Action,
) {
    expected.push((before, None));
    expected.push((after, Some(Some(code))));
}

fn initialise(nranks: u32, rank: u32, first: u8, ids: u32) -> impl Fn(Option<u64>) -> Action {
    move |number| Action::Initialise {
        nranks,
        rank,
        id: id(first),
        ids,
        communicator: number.map(communicator),
    }
}

/// The calls of caller.c before the group: action and return value.
fn control() -> Vec<(Action, Option<Option<i32>>)> {
    let mut all = Vec::new();
    let made = |id| Action::MakeUniqueId { id };
    twice(&mut all, 0, made(None), made(id(1)));
    twice(&mut all, 0, made(None), made(id(2)));
    for (action, number, code) in [
        (initialise(1101, 102, 10, 1), 1, 0),
        (initialise(1103, 104, 20, 1), 2, 7),
        (initialise(1105, 106, 30, 2), 3, 0),
    ] {
        twice(&mut all, code, action(None), action(Some(number)));
    }
    let every = |first| Action::InitialiseAll { devices: 107, first };
    twice(&mut all, 0, every(None), every(Some(communicator(4))));
    let split = |color, key, child| Action::Split { parent: communicator(21), color, key, child };
    twice(&mut all, 0, split(Some(108), -109, None), split(Some(108), -109, Some(communicator(5))));
    twice(&mut all, 0, split(None, 110, None), split(None, 110, None));
    let shrink = |child| Action::Shrink { parent: communicator(22), excluded: 111, child };
    twice(&mut all, 0, shrink(None), shrink(Some(communicator(6))));
    let stays = |child| Action::Grow {
        parent: Some(communicator(23)),
        nranks: 112,
        rank: None,
        id: None,
        child,
    };
    twice(&mut all, 0, stays(None), stays(Some(communicator(7))));
    let comes =
        |child| Action::Grow { parent: None, nranks: 1113, rank: Some(114), id: id(50), child };
    twice(&mut all, 0, comes(None), comes(Some(communicator(7))));
    for (number, how, code) in [
        (8, CommunicatorEnd::Finalize, 0),
        (9, CommunicatorEnd::Destroy, 4),
        (10, CommunicatorEnd::Abort, 0),
        (11, CommunicatorEnd::Revoke, 0),
    ] {
        let end = || Action::End { communicator: communicator(number), how };
        twice(&mut all, code, end(), end());
    }
    let rank = |rank| Action::AskRank { communicator: communicator(12), rank };
    twice(&mut all, 0, rank(None), rank(Some(11)));
    let count = |nranks| Action::AskCount { communicator: communicator(13), nranks };
    twice(&mut all, 0, count(None), count(Some(12)));
    all
}

/// Function, elements, type, operation, root, communicator and buffers.
type Row = (Function, u64, Option<DataType>, Option<u32>, Option<u32>, u64, [Option<u64>; 2]);

/// The calls inside caller.c's group.
fn communications() -> Vec<Action> {
    use Function as F;
    let both = |send: u64| [Some(send), Some(send + 1)];
    let rows: [Row; 12] = [
        (F::AllReduce, 201, Some(DataType::Float32), Some(0), None, 31, both(1)),
        (F::ReduceScatter, 202, Some(DataType::Bfloat16), Some(4), None, 32, both(3)),
        (F::AllGather, 203, Some(DataType::Int8), None, None, 33, both(5)),
        (F::AllToAll, 204, Some(DataType::Int64), None, None, 34, both(7)),
        (F::Broadcast, 205, Some(DataType::Float16), None, Some(301), 35, both(9)),
        (F::Broadcast, 206, Some(DataType::Float64), None, Some(302), 36, [Some(11), None]),
        (F::Reduce, 207, Some(DataType::Int32), Some(2), Some(303), 37, both(12)),
        (F::Gather, 208, Some(DataType::Float8E4m3), None, Some(304), 38, both(14)),
        (F::Scatter, 209, Some(DataType::Float8E5m2), None, Some(305), 39, both(16)),
        (F::Send, 210, Some(DataType::Uint8), None, Some(306), 40, [Some(18), None]),
        (F::Receive, 1 << 40, Some(DataType::Uint64), None, Some(307), 41, [None, Some(19)]),
        (F::Send, 211, None, None, Some(308), 42, [Some(20), None]),
    ];
    let buffer = |number: u64| 0xa000_0000_0000 + number;
    let streams = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 0, 11];
    let communication = |(row, stream): (Row, u64)| {
        let (function, elements, data_type, operation, root_or_peer, number, [send, receive]) = row;
        Action::Communicate(Communication {
            function,
            communicator: communicator(number),
            elements,
            data_type,
            operation,
            root_or_peer,
            send_buffer: send.map(buffer),
            receive_buffer: receive.map(buffer),
            stream: (stream > 0).then_some(0x5000_0000_0000 + stream),
        })
    };
    let calls = rows.into_iter().zip(streams).flat_map(|(row, stream)| {
        // If NCCL has a variant with a configuration, that one too.
        let has_one = matches!(row.0, F::Send | F::Receive) || row.6[1].is_none();
        std::iter::repeat_n((row, stream), if has_one { 1 } else { 2 })
    });
    calls.map(communication).collect()
}

/// What caller.c does with the queue pair at `queue_pair` and with memory, and whether the call
/// succeeded.
fn verbs(queue_pair: QueuePairHandle) -> Vec<(Action, Option<bool>)> {
    let number = Some(Qpn::new(0x1234));
    let kind = Some(QueuePairKind::ReliableConnection);
    let receive = QueuePairChange {
        state: Some(QueuePairState::ReadyToReceive),
        remote: Some(Qpn::new(0x5678)),
        remote_gid: Some(std::array::from_fn(|place| 0xf0 + place as u8)),
        own_gid_index: Some(5),
        traffic_class: Some(106),
        service_level: Some(3),
        path_mtu: Some(4096),
        first_received: Some(0xabc),
        ..QueuePairChange::default()
    };
    let send = QueuePairChange {
        state: Some(QueuePairState::ReadyToSend),
        first_sent: Some(0xdef),
        timeout: Some(20),
        retries: Some(7),
        ..QueuePairChange::default()
    };
    let change = |change| Action::ModifyQueuePair { queue_pair, number, change: Some(change) };
    let memory = |address, length, is_dma_buffer, remote_key| Action::RegisterMemory {
        address,
        length,
        remote_key,
        is_dma_buffer,
    };
    let (first, second) = (0xa000_0000_0000 + 30, 0xa000_0000_0000 + 31);
    vec![
        (Action::CreateQueuePair { queue_pair: None, number: None, kind }, None),
        (Action::CreateQueuePair { queue_pair: Some(queue_pair), number, kind }, Some(true)),
        (change(receive), None),
        (change(send), None),
        (memory(first, 401, false, None), None),
        (memory(first, 401, false, Some(0x88)), Some(true)),
        (memory(second, 402, false, None), None),
        (memory(second, 402, false, None), Some(false)),
        (memory(403, 404, true, None), None),
        (memory(403, 404, true, Some(0x88)), Some(true)),
        (Action::DeregisterMemory { remote_key: Some(0x88) }, None),
        (Action::DestroyQueuePair { queue_pair, number }, None),
    ]
}

#[test]
fn every_argument() {
    let Some(stage) = Stage::set("every_argument") else { return };
    let child = start(&mut stage.caller());
    let mut watcher = watch();
    watcher.until_said(stage.library().to_str().unwrap());
    let calls = watcher.watch(child);
    let code = |call: &Call| call.returned.map(|returned| returned.code);
    let reported: Vec<_> = calls.iter().map(|call| (call.action.clone(), code(call))).collect();
    let control = control();
    let (first, rest) = reported.split_at(control.len());
    assert_eq!(first, control);
    let mut communications = communications();
    communications.insert(0, Action::GroupStart);
    communications.push(Action::GroupEnd);
    let (group, _) = rest.split_at(communications.len());
    assert!(group.iter().map(|(action, _)| action).eq(&communications), "{group:#?}");
    let verbs_reported = &calls[control.len() + communications.len()..];
    let is_success = |call: &Call| call.returned.map(|returned| returned.is_success);
    let verbs_reported: Vec<_> =
        verbs_reported.iter().map(|call| (call.action.clone(), is_success(call))).collect();
    let made = verbs_reported.iter().find_map(|(action, _)| match action {
        Action::CreateQueuePair { queue_pair, .. } => *queue_pair,
        _ => None,
    });
    assert_eq!(verbs_reported, verbs(made.unwrap()));

    assert_eq!(Function::AllReduce.kind().name(), "all_reduce");
    let bytes = communications.iter().filter_map(|action| match action {
        Action::Communicate(communication) => Some(communication.bytes()),
        _ => None,
    });
    let mut bytes: Vec<_> = bytes.collect();
    // Both variants of a collective ask for the same.
    bytes.dedup();
    let expected = [804, 404, 203, 1632, 410, 1648, 828, 208, 209, 210, 8 << 40].map(Some);
    assert_eq!(bytes, [expected.as_slice(), &[None]].concat());
    for call in &calls {
        assert_eq!(call.caller.tid, call.caller.pid);
        assert!(call.returned.is_none_or(|returned| returned.time >= call.time));
    }
    assert!(calls.is_sorted_by_key(|call| call.returned.map_or(call.time, |one| one.time)));
}
