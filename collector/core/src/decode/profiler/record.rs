//! Records of lanes.

use super::{byte, high, low, word};

/// A record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Record {
    /// A collective, send or receive was enqueued.
    Collective(Collective),
    /// An operation of a proxy was appended.
    OperationStart(OperationStart),
    /// An operation ended.
    OperationEnd(OperationEnd),
    /// A transfer ended.
    Transfer(Transfer),
    /// An operation works for another process of the node (PXN).
    Foreign(Foreign),
    /// A transfer has been waiting for long.
    Open(OpenTransfer),
    /// The kernel of a collective ended on a channel.
    Kernel(Kernel),
}

/// A function of NCCL by its number in records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Function(pub u8);

impl Function {
    /// NCCL's name, `None` if the number stands for none.
    pub fn name(self) -> Option<&'static str> {
        const NAMES: [&str; 11] = [
            "Broadcast",
            "Reduce",
            "AllGather",
            "ReduceScatter",
            "AllReduce",
            "SendRecv",
            "Send",
            "Recv",
            "AlltoAll",
            "Gather",
            "Scatter",
        ];
        NAMES.get(usize::from(self.0).checked_sub(1)?).copied()
    }
}

/// A collective, or a send or receive of the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Collective {
    /// Whether it is a send or receive of the application.
    pub is_p2p: bool,
    /// What it does.
    pub function: Function,
    /// Place of the data type in NCCL's enumeration, plus one; 0 is unknown.
    pub datatype: u8,
    /// Place of the algorithm in NCCL's enumeration, plus one; 0 is unknown.
    pub algorithm: u8,
    /// Place of the protocol in NCCL's enumeration, plus one; 0 is unknown.
    pub protocol: u8,
    /// Channels it may use; 0 is unknown.
    pub channels: u8,
    /// Nanoseconds of the monotonic clock when it was enqueued.
    pub time_ns: u64,
    /// Number of the communicator within the process, 0 if unknown.
    pub comm: u32,
    /// Number of the collective within the process.
    pub number: u32,
    /// Number of the collective within function and communicator.
    pub sequence: u64,
    /// Elements.
    pub count: u64,
    /// What the application calls it, 0 if nothing.
    pub tag: u64,
    /// What operations under PXN name it by.
    pub handle: u64,
    /// Root of a collective, peer of a send or receive.
    pub root: i32,
    /// Rank of the process in the communicator.
    pub rank: i32,
}

/// An operation of a proxy begins: the transfers of a collective over one channel to or from a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OperationStart {
    /// Whether it sends.
    pub is_send: bool,
    /// Whether its collective is another process's.
    pub is_foreign: bool,
    /// Channel.
    pub channel: u8,
    /// Function of its collective.
    pub function: Function,
    /// Rank of the peer.
    pub peer: i32,
    /// Nanoseconds of the monotonic clock when it was appended.
    pub time_ns: u64,
    /// Number of the operation within the process.
    pub number: u32,
    /// Number of its collective, 0 if unknown.
    pub collective: u32,
    /// Number of its communicator, 0 if unknown.
    pub comm: u32,
    /// Transfers that it will have.
    pub transfers: u32,
    /// Sequence number of its collective, cut to 32 bits.
    pub sequence: u32,
    /// Bytes of a transfer at most.
    pub chunk_size: u32,
}

/// An operation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OperationEnd {
    /// Number of the operation.
    pub number: u32,
    /// Times that a grant was asked for in vain, at most 65,535.
    pub polls: u16,
    /// Nanoseconds since it was appended.
    pub lasted_ns: u64,
    /// Nanoseconds until the proxy began it; `None` if NCCL did not say.
    pub queued_ns: Option<u64>,
    /// Bytes of its transfers; 0 if NCCL did not say.
    pub bytes: u64,
}

/// What a transfer waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Wait {
    /// The GPU has the buffer of a send: its data is not there.
    SendGpu,
    /// The receiver has not granted room.
    Peer,
    /// The network has not said that the data is gone.
    Send,
    /// The data of a receive is not there.
    Recv,
    /// The data is not flushed to the GPU.
    Flush,
    /// The GPU has not taken the data of a receive.
    RecvGpu,
}

impl Wait {
    /// All of them, those of sends first.
    pub const ALL: [Self; 6] =
        [Self::SendGpu, Self::Peer, Self::Send, Self::Recv, Self::Flush, Self::RecvGpu];

    /// The waits of a send or of a receive, in order.
    pub const fn of(is_send: bool) -> [Self; 3] {
        if is_send {
            [Self::SendGpu, Self::Peer, Self::Send]
        } else {
            [Self::Recv, Self::Flush, Self::RecvGpu]
        }
    }
}

/// A transfer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// Number of the operation.
    pub operation: u32,
    /// Number within the operation, cut to 16 bits.
    pub number: u16,
    /// Whether it is one of a send.
    pub is_send: bool,
    /// Nanoseconds from the operation's start to its own.
    pub begin_ns: u64,
    /// Nanoseconds of each of [`Wait::of`]; `None` if NCCL did not give a state.
    pub waits_ns: [Option<u64>; 3],
}

/// An operation that works for another process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Foreign {
    /// Number of the operation.
    pub operation: u32,
    /// The process of the collective.
    pub pid: u32,
    /// The handle of the collective there.
    pub handle: u64,
}

/// A transfer that has been waiting for more than a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenTransfer {
    /// Number of the operation.
    pub operation: u32,
    /// Number within the operation, cut to 16 bits.
    pub number: u16,
    /// Whether it is one of a send.
    pub is_send: bool,
    /// Nanoseconds of the monotonic clock when this was written.
    pub time_ns: u64,
    /// States that it has passed since its start.
    pub state: u8,
    /// Nanoseconds in this state.
    pub since_ns: u64,
}

impl OpenTransfer {
    /// What it waits for; `None` if the receive is not posted yet.
    pub fn wait(&self) -> Option<Wait> {
        let place = usize::from(self.state);
        let place = if self.is_send { Some(place) } else { place.checked_sub(1) };
        Wait::of(self.is_send).get(place?).copied()
    }
}

/// The kernel of a collective on a channel, where NCCL was asked for `KernelCh`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// Channel.
    pub channel: u8,
    /// Function of its collective.
    pub function: Function,
    /// Number of its collective, 0 if unknown.
    pub collective: u32,
    /// Number of its communicator, 0 if unknown.
    pub comm: u32,
    /// Nanoseconds of the monotonic clock when NCCL saw its end.
    pub time_ns: u64,
    /// Nanoseconds from when NCCL saw it begin to when it saw it end.
    pub lasted_ns: u64,
    /// Its begin and end by the GPU's own timer, in nanoseconds; `None` if NCCL did not give both (up to
    /// 2.26 it has none).
    pub timer_ns: Option<[u64; 2]>,
}

/// Words of a record by its kind; `None` if there is no such kind.
pub(super) fn length(head: u64) -> Option<usize> {
    match byte(head, 0) {
        1 => Some(8),
        2 | 7 => Some(5),
        3..=6 => Some(3),
        _ => None,
    }
}

/// Nanoseconds of a span.
fn span(value: u32) -> u64 {
    const MICROSECONDS: u32 = 1 << 31;
    if value & MICROSECONDS == 0 {
        u64::from(value)
    } else {
        u64::from(value & !MICROSECONDS).saturating_mul(1000)
    }
}

impl Record {
    /// Reads a record of [`length`] words.
    pub(super) fn decode(words: &[u64]) -> Option<Self> {
        let head = word(words, 0);
        if words.len() < length(head)? {
            return None;
        }
        let flags = byte(head, 1);
        let is_send = flags & 1 != 0;
        let within = (low(head) >> 16) as u16;
        Some(match byte(head, 0) {
            1 => Self::Collective(collective(words)),
            2 => Self::OperationStart(OperationStart {
                is_send,
                is_foreign: flags & 2 != 0,
                channel: byte(head, 2),
                function: Function(byte(head, 3)),
                peer: high(head).cast_signed(),
                time_ns: word(words, 1),
                number: low(word(words, 2)),
                collective: high(word(words, 2)),
                comm: low(word(words, 3)),
                transfers: high(word(words, 3)),
                sequence: low(word(words, 4)),
                chunk_size: high(word(words, 4)),
            }),
            3 => Self::OperationEnd(OperationEnd {
                number: high(head),
                polls: within,
                lasted_ns: span(low(word(words, 1))),
                queued_ns: Some(high(word(words, 1))).filter(|span| *span != u32::MAX).map(span),
                bytes: word(words, 2),
            }),
            4 => {
                let spans = [high(word(words, 1)), low(word(words, 2)), high(word(words, 2))];
                let mut missing = [2, 4, 8].into_iter();
                Self::Transfer(Transfer {
                    operation: high(head),
                    number: within,
                    is_send,
                    begin_ns: span(low(word(words, 1))),
                    waits_ns: spans.map(|value| {
                        let is_missing = missing.next().is_some_and(|flag| flags & flag != 0);
                        (!is_missing).then(|| span(value))
                    }),
                })
            }
            5 => Self::Foreign(Foreign {
                operation: high(head),
                pid: low(word(words, 1)),
                handle: word(words, 2),
            }),
            6 => Self::Open(OpenTransfer {
                operation: high(head),
                number: within,
                is_send,
                time_ns: word(words, 1),
                state: byte(word(words, 2), 0),
                since_ns: word(words, 2) >> 8,
            }),
            7 => Self::Kernel(Kernel {
                channel: byte(head, 2),
                function: Function(byte(head, 3)),
                collective: high(head),
                comm: low(word(words, 2)),
                time_ns: word(words, 1),
                lasted_ns: span(high(word(words, 2))),
                timer_ns: (flags & 1 == 0).then(|| [word(words, 3), word(words, 4)]),
            }),
            _ => return None,
        })
    }
}

fn collective(words: &[u64]) -> Collective {
    let head = word(words, 0);
    Collective {
        is_p2p: byte(head, 1) & 1 != 0,
        function: Function(byte(head, 2)),
        datatype: byte(head, 3),
        algorithm: byte(head, 4),
        protocol: byte(head, 5),
        channels: byte(head, 6),
        time_ns: word(words, 1),
        comm: low(word(words, 2)),
        number: high(word(words, 2)),
        sequence: word(words, 3),
        count: word(words, 4),
        tag: word(words, 5),
        handle: word(words, 6),
        root: low(word(words, 7)).cast_signed(),
        rank: high(word(words, 7)).cast_signed(),
    }
}
