//! Turns records of the kernel program into calls.

use std::collections::HashMap;

use railscope_ebpf::call::{COPY_LEN, CallEvent, HAS_COPY, HAS_WORD, Plan};

use super::function::{Function, Library, Signature};
use crate::ingest::ebpf::clock::Clock;
use railscope_core::model::call::{
    Action, Call, Caller, Communication, CommunicatorEnd, CommunicatorHandle, DataType,
    Function as Communicating, QueuePairChange, QueuePairHandle, Returned,
};
use railscope_core::model::nccl::UniqueId;
use railscope_core::model::qpn::Qpn;
use railscope_core::model::queue_pair::{QueuePairKind, QueuePairState};

/// Threads and unfinished calls that are remembered. Beyond that the table is cleared: active threads
/// are added again, ended ones are not.
const MEMORY_LIMIT: usize = 1 << 15;

/// `ncclInProgress`.
const IN_PROGRESS: i32 = 7;
/// `NCCL_SPLIT_NOCOLOR`.
const NO_COLOR: i32 = -1;

/// Reads records in the order of the ring.
#[derive(Debug, Default)]
pub(super) struct Reader {
    /// The function that each thread entered last, and the number of the library that reported it.
    last: HashMap<u32, (u64, u8, u16)>,
    /// Copies made when functions were entered, for those whose return is reported too.
    begun: HashMap<(u32, u8), [u64; COPY_LEN / 8]>,
}

/// A record.
pub(super) enum Reading {
    Call(Box<Call>),
    /// A duplicate: a file seen in two places, such as a layer that containers share, has two programs.
    Again,
    /// Not a watched function.
    Unknown,
}

impl Reader {
    pub(super) fn read(&mut self, event: &CallEvent, clock: &Clock) -> Reading {
        let plan = Plan::from_bits(event.plan);
        let Some(signature) = Signature::by_number(plan.function) else { return Reading::Unknown };
        if event.returned == 0 && self.is_duplicate(event, plan) {
            return Reading::Again;
        }
        let fields = Fields { event, copy: self.copy(event, plan) };
        let action = match signature.library {
            Library::Nccl => fields.of_nccl(signature.function),
            Library::Verbs => fields.of_verbs(signature.function),
        };
        let Some(action) = action else { return Reading::Unknown };
        let returned = (event.returned != 0).then(|| {
            let is_pointer = signature.library == Library::Verbs;
            let code = event.result as i32;
            Returned {
                time: clock.timestamp(event.returned),
                is_success: match is_pointer {
                    true => event.result != 0,
                    false => matches!(code, 0 | IN_PROGRESS),
                },
                code: (!is_pointer).then_some(code),
            }
        });
        let caller =
            Caller { pid: event.pid, tid: event.tid, cgroup: event.cgroup, payer: event.cgroup };
        let time = clock.timestamp(event.beginning.entered);
        Reading::Call(Box::new(Call { caller, time, returned, action }))
    }

    /// Whether another program at the same function has reported the same call: the two run one after the
    /// other, and the caller does nothing in between.
    fn is_duplicate(&mut self, event: &CallEvent, plan: Plan) -> bool {
        let is_duplicate = self.last.get(&event.tid).is_some_and(|(address, function, library)| {
            (*address, *function) == (event.address, plan.function) && *library != plan.library
        });
        if !is_duplicate {
            if self.last.len() >= MEMORY_LIMIT {
                self.last.clear();
            }
            self.last.insert(event.tid, (event.address, plan.function, plan.library));
        }
        is_duplicate
    }

    /// The copy of the caller's memory, made now or when the function was entered.
    fn copy(&mut self, event: &CallEvent, plan: Plan) -> Option<[u64; COPY_LEN / 8]> {
        let key = (event.tid, plan.function);
        let copy = (event.read & HAS_COPY != 0).then_some(event.copy);
        if event.returned != 0 {
            return self.begun.remove(&key).or(copy);
        }
        if plan.returns
            && let Some(copy) = copy
        {
            if self.begun.len() >= MEMORY_LIMIT {
                self.begun.clear();
            }
            self.begun.insert(key, copy);
        }
        copy
    }
}

/// A record with its copy of the caller's memory.
struct Fields<'a> {
    event: &'a CallEvent,
    copy: Option<[u64; COPY_LEN / 8]>,
}

impl Fields<'_> {
    fn of_nccl(&self, function: Function) -> Option<Action> {
        let action = match function {
            Function::GetUniqueId | Function::CommGetUniqueId => {
                Action::MakeUniqueId { id: self.id() }
            }
            Function::CommInitRank | Function::CommInitRankConfig => Action::Initialise {
                nranks: self.short(1)?,
                rank: self.short(2)?,
                id: self.id(),
                ids: 1,
                communicator: self.new_communicator(),
            },
            Function::CommInitRankScalable => Action::Initialise {
                nranks: self.short(1)?,
                rank: self.short(2)?,
                id: self.id(),
                ids: self.short(3)?,
                communicator: self.new_communicator(),
            },
            Function::CommInitAll => {
                Action::InitialiseAll { devices: self.short(1)?, first: self.new_communicator() }
            }
            Function::CommSplit => {
                let color = self.signed(1)?;
                Action::Split {
                    parent: self.communicator(0)?,
                    color: (color != NO_COLOR).then_some(color.cast_unsigned()),
                    key: self.signed(2)?,
                    child: self.new_communicator(),
                }
            }
            Function::CommShrink => Action::Shrink {
                parent: self.communicator(0)?,
                excluded: self.short(2)?,
                child: self.new_communicator(),
            },
            Function::CommGrow => Action::Grow {
                parent: self.communicator(0).filter(|parent| parent.0 != 0),
                nranks: self.short(1)?,
                rank: u32::try_from(self.signed(3)?).ok(),
                id: self.id(),
                child: self.new_communicator(),
            },
            Function::CommFinalize => self.end(CommunicatorEnd::Finalize)?,
            Function::CommDestroy => self.end(CommunicatorEnd::Destroy)?,
            Function::CommAbort => self.end(CommunicatorEnd::Abort)?,
            Function::CommRevoke => self.end(CommunicatorEnd::Revoke)?,
            Function::CommUserRank => Action::AskRank {
                communicator: self.communicator(0)?,
                rank: self.word().map(|word| word as u32),
            },
            Function::CommCount => Action::AskCount {
                communicator: self.communicator(0)?,
                nranks: self.word().map(|word| word as u32),
            },
            Function::GroupStart => Action::GroupStart,
            Function::GroupEnd => Action::GroupEnd,
            _ => Action::Communicate(self.communication(function)?),
        };
        Some(action)
    }

    fn of_verbs(&self, function: Function) -> Option<Action> {
        Some(match function {
            Function::CreateQp => Action::CreateQueuePair {
                queue_pair: self.new_queue_pair(),
                number: self.number(),
                kind: self.bytes(52).map(u32::from_ne_bytes).map(queue_pair_kind),
            },
            Function::ModifyQp => Action::ModifyQueuePair {
                queue_pair: self.queue_pair()?,
                number: self.number(),
                change: self.short(2).and_then(|mask| self.change(mask)),
            },
            Function::DestroyQp => {
                let (queue_pair, number) = (self.queue_pair()?, self.number());
                Action::DestroyQueuePair { queue_pair, number }
            }
            Function::RegMr | Function::RegMrIova | Function::RegMrIova2 => self.region(false)?,
            Function::RegDmabufMr => self.region(true)?,
            Function::DeregMr => Action::DeregisterMemory { remote_key: self.remote_key() },
            _ => return None,
        })
    }

    fn communication(&self, function: Function) -> Option<Communication> {
        /// Positions of the arguments that differ between functions.
        struct Places {
            function: Communicating,
            operation: Option<usize>,
            root: Option<usize>,
            /// The stream follows it.
            communicator: usize,
        }
        let places = |function, operation, root, communicator| Places {
            function,
            operation,
            root,
            communicator,
        };
        // All start with one or two buffers, the count and the type.
        let (buffers, places) = match function {
            Function::AllReduce | Function::AllReduceConfig => {
                ([Some(0), Some(1)], places(Communicating::AllReduce, Some(4), None, 5))
            }
            Function::ReduceScatter | Function::ReduceScatterConfig => {
                ([Some(0), Some(1)], places(Communicating::ReduceScatter, Some(4), None, 5))
            }
            Function::AllGather | Function::AllGatherConfig => {
                ([Some(0), Some(1)], places(Communicating::AllGather, None, None, 4))
            }
            Function::AllToAll | Function::AllToAllConfig => {
                ([Some(0), Some(1)], places(Communicating::AllToAll, None, None, 4))
            }
            Function::Broadcast | Function::BroadcastConfig => {
                ([Some(0), Some(1)], places(Communicating::Broadcast, None, Some(4), 5))
            }
            Function::Gather | Function::GatherConfig => {
                ([Some(0), Some(1)], places(Communicating::Gather, None, Some(4), 5))
            }
            Function::Scatter | Function::ScatterConfig => {
                ([Some(0), Some(1)], places(Communicating::Scatter, None, Some(4), 5))
            }
            Function::Reduce | Function::ReduceConfig => {
                ([Some(0), Some(1)], places(Communicating::Reduce, Some(4), Some(5), 6))
            }
            Function::Bcast => {
                ([Some(0), None], places(Communicating::Broadcast, None, Some(3), 4))
            }
            Function::Send => ([Some(0), None], places(Communicating::Send, None, Some(3), 4)),
            Function::Recv => ([None, Some(0)], places(Communicating::Receive, None, Some(3), 4)),
            _ => return None,
        };
        let count = buffers.iter().flatten().count();
        let buffer = |place: Option<usize>| self.argument(place?).filter(|address| *address != 0);
        Some(Communication {
            function: places.function,
            communicator: self.communicator(places.communicator)?,
            elements: self.argument(count)?,
            data_type: DataType::from_number(self.short(count + 1)?),
            operation: places.operation.and_then(|place| self.short(place)),
            root_or_peer: places.root.and_then(|place| self.short(place)),
            send_buffer: buffer(buffers[0]),
            receive_buffer: buffer(buffers[1]),
            stream: buffer(Some(places.communicator + 1)),
        })
    }

    fn end(&self, how: CommunicatorEnd) -> Option<Action> {
        Some(Action::End { communicator: self.communicator(0)?, how })
    }

    /// `ibv_reg_*(pd, address, length, ...)`.
    fn region(&self, is_dma_buffer: bool) -> Option<Action> {
        let (address, length) = (self.argument(1)?, self.argument(2)?);
        Some(Action::RegisterMemory {
            address,
            length,
            remote_key: self.remote_key(),
            is_dma_buffer,
        })
    }

    /// The fields of `struct ibv_qp_attr` that the mask names (`enum ibv_qp_attr_mask`).
    fn change(&self, mask: u32) -> Option<QueuePairChange> {
        self.copy?;
        let long =
            |bit: u32, at| (mask & bit != 0).then(|| self.bytes(at))?.map(u32::from_ne_bytes);
        let short = |bit: u32, at| (mask & bit != 0).then(|| self.bytes(at))?.map(|[byte]| byte);
        let state = long(1, 0).and_then(|state| u8::try_from(state).ok());
        Some(QueuePairChange {
            state: state.and_then(QueuePairState::from_number),
            remote: long(1 << 20, 28).map(Qpn::new),
            remote_gid: (mask & 0x80 != 0).then(|| self.bytes(56)).flatten(),
            own_gid_index: short(0x80, 76),
            traffic_class: short(0x80, 78),
            service_level: short(0x80, 82),
            path_mtu: long(0x100, 8).filter(|code| (1..=5).contains(code)).map(|code| 128 << code),
            first_sent: long(1 << 16, 24),
            first_received: long(1 << 12, 20),
            timeout: short(0x200, 130),
            retries: short(0x400, 131),
        })
    }

    fn argument(&self, place: usize) -> Option<u64> {
        self.event.beginning.arguments.get(place).copied()
    }

    fn short(&self, place: usize) -> Option<u32> {
        // The upper half of the register is undefined.
        self.argument(place).map(|argument| argument as u32)
    }

    fn signed(&self, place: usize) -> Option<i32> {
        self.short(place).map(u32::cast_signed)
    }

    fn communicator(&self, place: usize) -> Option<CommunicatorHandle> {
        self.argument(place).map(CommunicatorHandle)
    }

    fn word(&self) -> Option<u64> {
        (self.event.read & HAS_WORD != 0).then_some(self.event.word)
    }

    fn new_communicator(&self) -> Option<CommunicatorHandle> {
        self.word().filter(|handle| *handle != 0).map(CommunicatorHandle)
    }

    fn queue_pair(&self) -> Option<QueuePairHandle> {
        self.argument(0).map(QueuePairHandle)
    }

    fn new_queue_pair(&self) -> Option<QueuePairHandle> {
        let is_there = self.event.returned != 0 && self.event.result != 0;
        is_there.then_some(QueuePairHandle(self.event.result))
    }

    /// Number of the queue pair.
    fn number(&self) -> Option<Qpn> {
        self.word().map(|word| Qpn::new(word as u32))
    }

    /// The second of two keys.
    fn remote_key(&self) -> Option<u32> {
        self.word().map(|keys| {
            let [.., a, b, c, d] = keys.to_ne_bytes();
            u32::from_ne_bytes([a, b, c, d])
        })
    }

    fn id(&self) -> Option<UniqueId> {
        self.bytes(0).map(UniqueId)
    }

    /// Bytes of the copy.
    fn bytes<const N: usize>(&self, at: usize) -> Option<[u8; N]> {
        let copy = self.copy.as_ref()?;
        bytemuck::cast_slice::<u64, u8>(copy).get(at..at + N)?.try_into().ok()
    }
}

/// `enum ibv_qp_type`, which differs from the kernel's numbers from reliable datagrams on.
const fn queue_pair_kind(number: u32) -> QueuePairKind {
    match number {
        2 => QueuePairKind::ReliableConnection,
        3 => QueuePairKind::UnreliableConnection,
        4 => QueuePairKind::UnreliableDatagram,
        0xff => QueuePairKind::Driver,
        other => QueuePairKind::Other(other as u8),
    }
}
