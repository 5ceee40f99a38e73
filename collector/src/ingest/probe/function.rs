//! The watched functions, and what is read of each call (NCCL `src/nccl.h.in`, releases 2.0 to 2.32;
//! rdma-core `libibverbs/verbs.h`).

use railscope_ebpf::call::{BaseAddress, Plan, Reading};

/// The library of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Library {
    /// NCCL, on its own or inside another library.
    Nccl,
    /// libibverbs.
    Verbs,
}

/// Functions, in the order of [`SIGNATURES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(super) enum Function {
    GetUniqueId,
    CommGetUniqueId,
    CommInitRank,
    CommInitRankConfig,
    CommInitRankScalable,
    CommInitAll,
    CommSplit,
    CommShrink,
    CommGrow,
    CommFinalize,
    CommDestroy,
    CommAbort,
    CommRevoke,
    CommUserRank,
    CommCount,
    AllReduce,
    ReduceScatter,
    AllGather,
    AllToAll,
    Broadcast,
    Bcast,
    Reduce,
    Gather,
    Scatter,
    Send,
    Recv,
    AllReduceConfig,
    ReduceScatterConfig,
    AllGatherConfig,
    AllToAllConfig,
    BroadcastConfig,
    ReduceConfig,
    GatherConfig,
    ScatterConfig,
    GroupStart,
    GroupEnd,
    CreateQp,
    ModifyQp,
    DestroyQp,
    RegMr,
    RegMrIova,
    RegMrIova2,
    RegDmabufMr,
    DeregMr,
}

/// How a function is watched.
#[derive(Debug)]
pub(super) struct Signature {
    pub(super) function: Function,
    pub(super) library: Library,
    pub(super) symbol: &'static str,
    copy: Reading,
    word: Reading,
    /// Whether its return is reported, too.
    pub(super) returns: bool,
}

/// Bytes of an `ncclUniqueId`.
const ID: u8 = 128;

const fn at(place: BaseAddress, offset: u8, len: u8) -> Reading {
    Reading { place, offset, len, is_result: false }
}

const fn result(place: BaseAddress, offset: u8, len: u8) -> Reading {
    Reading { place, offset, len, is_result: true }
}

const fn behind(argument: u8, offset: u8, len: u8) -> Reading {
    at(BaseAddress::Argument(argument), offset, len)
}

/// `ncclComm_t *` among the arguments.
const fn communicator(argument: u8) -> Reading {
    result(BaseAddress::Argument(argument), 0, 8)
}

const fn signature(
    library: Library,
    function: Function,
    symbol: &'static str,
    [copy, word]: [Reading; 2],
) -> Signature {
    let returns = copy.is_result || word.is_result;
    Signature { function, library, symbol, copy, word, returns }
}

const fn nccl(function: Function, symbol: &'static str, readings: [Reading; 2]) -> Signature {
    signature(Library::Nccl, function, symbol, readings)
}

const fn verbs(function: Function, symbol: &'static str, readings: [Reading; 2]) -> Signature {
    signature(Library::Verbs, function, symbol, readings)
}

const fn with_return(signature: Signature) -> Signature {
    Signature { returns: true, ..signature }
}

const NOTHING: Reading = Reading::NOTHING;
const ARGUMENTS_ONLY: [Reading; 2] = [NOTHING, NOTHING];

/// `ncclUniqueId` among the arguments, and `ncclComm_t *` as the first.
const BY_ID: [Reading; 2] = [at(BaseAddress::ByValue, 0, ID), communicator(0)];
/// `struct ibv_qp` is the first argument: `qp_num`.
const QP_NUM: Reading = behind(0, 52, 4);
/// `struct ibv_mr` is returned: `lkey` and `rkey`.
const NEW_KEYS: [Reading; 2] = [NOTHING, result(BaseAddress::Result, 36, 8)];

/// All functions.
pub(super) const SIGNATURES: [Signature; 44] = [
    nccl(
        Function::GetUniqueId,
        "ncclGetUniqueId",
        [result(BaseAddress::Argument(0), 0, ID), NOTHING],
    ),
    nccl(
        Function::CommGetUniqueId,
        "ncclCommGetUniqueId",
        [result(BaseAddress::Argument(1), 0, ID), NOTHING],
    ),
    nccl(Function::CommInitRank, "ncclCommInitRank", BY_ID),
    nccl(Function::CommInitRankConfig, "ncclCommInitRankConfig", BY_ID),
    nccl(
        Function::CommInitRankScalable,
        "ncclCommInitRankScalable",
        [behind(4, 0, ID), communicator(0)],
    ),
    nccl(Function::CommInitAll, "ncclCommInitAll", [NOTHING, communicator(0)]),
    nccl(Function::CommSplit, "ncclCommSplit", [NOTHING, communicator(3)]),
    nccl(Function::CommShrink, "ncclCommShrink", [NOTHING, communicator(3)]),
    nccl(Function::CommGrow, "ncclCommGrow", [behind(2, 0, ID), communicator(4)]),
    with_return(nccl(Function::CommFinalize, "ncclCommFinalize", ARGUMENTS_ONLY)),
    with_return(nccl(Function::CommDestroy, "ncclCommDestroy", ARGUMENTS_ONLY)),
    with_return(nccl(Function::CommAbort, "ncclCommAbort", ARGUMENTS_ONLY)),
    with_return(nccl(Function::CommRevoke, "ncclCommRevoke", ARGUMENTS_ONLY)),
    nccl(
        Function::CommUserRank,
        "ncclCommUserRank",
        [NOTHING, result(BaseAddress::Argument(1), 0, 4)],
    ),
    nccl(Function::CommCount, "ncclCommCount", [NOTHING, result(BaseAddress::Argument(1), 0, 4)]),
    nccl(Function::AllReduce, "ncclAllReduce", ARGUMENTS_ONLY),
    nccl(Function::ReduceScatter, "ncclReduceScatter", ARGUMENTS_ONLY),
    nccl(Function::AllGather, "ncclAllGather", ARGUMENTS_ONLY),
    nccl(Function::AllToAll, "ncclAlltoAll", ARGUMENTS_ONLY),
    nccl(Function::Broadcast, "ncclBroadcast", ARGUMENTS_ONLY),
    nccl(Function::Bcast, "ncclBcast", ARGUMENTS_ONLY),
    nccl(Function::Reduce, "ncclReduce", ARGUMENTS_ONLY),
    nccl(Function::Gather, "ncclGather", ARGUMENTS_ONLY),
    nccl(Function::Scatter, "ncclScatter", ARGUMENTS_ONLY),
    nccl(Function::Send, "ncclSend", ARGUMENTS_ONLY),
    nccl(Function::Recv, "ncclRecv", ARGUMENTS_ONLY),
    // With a per-call configuration as the last argument (2.31).
    nccl(Function::AllReduceConfig, "ncclAllReduceConfig", ARGUMENTS_ONLY),
    nccl(Function::ReduceScatterConfig, "ncclReduceScatterConfig", ARGUMENTS_ONLY),
    nccl(Function::AllGatherConfig, "ncclAllGatherConfig", ARGUMENTS_ONLY),
    nccl(Function::AllToAllConfig, "ncclAlltoAllConfig", ARGUMENTS_ONLY),
    nccl(Function::BroadcastConfig, "ncclBroadcastConfig", ARGUMENTS_ONLY),
    nccl(Function::ReduceConfig, "ncclReduceConfig", ARGUMENTS_ONLY),
    nccl(Function::GatherConfig, "ncclGatherConfig", ARGUMENTS_ONLY),
    nccl(Function::ScatterConfig, "ncclScatterConfig", ARGUMENTS_ONLY),
    nccl(Function::GroupStart, "ncclGroupStart", ARGUMENTS_ONLY),
    nccl(Function::GroupEnd, "ncclGroupEnd", ARGUMENTS_ONLY),
    // `struct ibv_qp_init_attr`: `qp_type` is at 52.
    verbs(
        Function::CreateQp,
        "ibv_create_qp",
        [behind(1, 0, 64), result(BaseAddress::Result, 52, 4)],
    ),
    // `struct ibv_qp_attr` up to `rnr_retry`.
    verbs(Function::ModifyQp, "ibv_modify_qp", [behind(1, 0, 136), QP_NUM]),
    verbs(Function::DestroyQp, "ibv_destroy_qp", [NOTHING, QP_NUM]),
    verbs(Function::RegMr, "ibv_reg_mr", NEW_KEYS),
    verbs(Function::RegMrIova, "ibv_reg_mr_iova", NEW_KEYS),
    verbs(Function::RegMrIova2, "ibv_reg_mr_iova2", NEW_KEYS),
    verbs(Function::RegDmabufMr, "ibv_reg_dmabuf_mr", NEW_KEYS),
    verbs(Function::DeregMr, "ibv_dereg_mr", [NOTHING, behind(0, 36, 8)]),
];

impl Signature {
    /// The signature of a function, by its number in [`Plan`].
    pub(super) fn by_number(number: u8) -> Option<&'static Self> {
        SIGNATURES.get(usize::from(number))
    }

    /// What the kernel program at this function needs to know, as its cookie.
    pub(super) const fn plan(&self, library: u16) -> Plan {
        Plan {
            function: self.function as u8,
            library: library % Plan::LIBRARIES,
            copy: self.copy,
            word: self.word,
            returns: self.returns,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_survives_the_cookie() {
        for (number, signature) in SIGNATURES.iter().enumerate() {
            assert_eq!(signature.function as usize, number, "{}", signature.symbol);
            for library in [0, 1, Plan::LIBRARIES - 1] {
                let plan = signature.plan(library);
                assert_eq!(Plan::from_bits(plan.to_bits()), plan, "{}", signature.symbol);
            }
        }
        assert!(Signature::by_number(44).is_none());
    }
}
