//! Events of all versions in one form, and the numbers that stand for NCCL's names in records.

/// What starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// A collective, or a send or receive of the application.
    Collective(Collective),
    /// An operation of a proxy.
    Operation(Operation),
    /// One transfer of an operation.
    Transfer {
        /// Handle of the operation.
        parent: u64,
        /// Number of the transfer within the operation.
        number: u32,
    },
    /// The kernel of a collective on one channel.
    Kernel(Kernel),
    /// Anything else: nothing is recorded.
    Other,
}

/// A collective as it is enqueued.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Collective {
    /// One of [`FUNCTIONS`], counted from 1; 0 for others.
    pub(crate) function: u8,
    /// One of [`DATATYPES`], counted from 1; 0 for others.
    pub(crate) datatype: u8,
    /// One of [`ALGORITHMS`], counted from 1; 0 for others.
    pub(crate) algorithm: u8,
    /// One of [`PROTOCOLS`], counted from 1; 0 for others.
    pub(crate) protocol: u8,
    /// Channels it may use, 0 if NCCL does not say.
    pub(crate) channels: u8,
    /// Whether it is a send or receive of the application.
    pub(crate) is_p2p: bool,
    /// Number within function and communicator; 0 for sends and receives.
    pub(crate) sequence: u64,
    /// Elements.
    pub(crate) count: u64,
    /// Root of a collective, peer of a send or receive.
    pub(crate) root: i32,
    /// What the application named it, 0 if nothing.
    pub(crate) tag: u64,
    /// Rank of this process in the communicator.
    pub(crate) rank: i32,
    /// Hash of the communicator, which versions 1 to 3 give only here.
    pub(crate) comm_hash: Option<u64>,
}

/// An operation of a proxy as it is appended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Operation {
    /// Handle of the collective; an address of another process if `pid` is not this one.
    pub(crate) parent: u64,
    /// Process of the collective.
    pub(crate) pid: i32,
    pub(crate) channel: u8,
    /// Rank of the peer in the communicator.
    pub(crate) peer: i32,
    /// Transfers that it will have.
    pub(crate) transfers: u32,
    /// Bytes of a transfer at most.
    pub(crate) chunk_size: u32,
    pub(crate) is_send: bool,
}

/// A kernel that has begun on a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kernel {
    /// Handle of the collective.
    pub(crate) parent: u64,
    pub(crate) channel: u8,
    /// When it began by the GPU's timer, in nanoseconds; `None` up to version 3.
    pub(crate) timer: Option<u64>,
}

/// A change of state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    /// One of `abi::state`.
    pub(crate) state: i32,
    /// Since version 4, bytes of a transfer, or the GPU's timer of a kernel; otherwise 0.
    pub(crate) value: u64,
}

/// Functions by their place in NCCL's enumeration (version 1), then those it names later.
pub(crate) const FUNCTIONS: &[&[u8]] = &[
    b"Broadcast",
    b"Reduce",
    b"AllGather",
    b"ReduceScatter",
    b"AllReduce",
    b"SendRecv",
    b"Send",
    b"Recv",
    b"AlltoAll",
    b"Gather",
    b"Scatter",
];

/// Data types by their place in NCCL's enumeration.
pub(crate) const DATATYPES: &[&[u8]] = &[
    b"ncclInt8",
    b"ncclUint8",
    b"ncclInt32",
    b"ncclUint32",
    b"ncclInt64",
    b"ncclUint64",
    b"ncclFloat16",
    b"ncclFloat32",
    b"ncclFloat64",
    b"ncclBfloat16",
    b"ncclFloat8e4m3",
    b"ncclFloat8e5m2",
];

/// Algorithms by their place in NCCL's enumeration.
pub(crate) const ALGORITHMS: &[&[u8]] =
    &[b"TREE", b"RING", b"COLLNET_DIRECT", b"COLLNET_CHAIN", b"NVLS", b"NVLS_TREE", b"PAT"];

/// Protocols by their place in NCCL's enumeration.
pub(crate) const PROTOCOLS: &[&[u8]] = &[b"LL", b"LL128", b"SIMPLE"];

/// Longest of the names above.
pub(crate) const NAME: usize = 15;

/// A name's place in a list, counted from 1; 0 if it is not there.
pub(crate) fn number_of(name: &[u8], list: &[&[u8]]) -> u8 {
    (1..).zip(list).find(|(_, known)| **known == name).map_or(0, |(number, _)| number)
}

/// A number of NCCL's enumeration, counted from 1; 0 if the list is shorter.
pub(crate) fn number_in(value: u8, list: &[&[u8]]) -> u8 {
    if usize::from(value) < list.len() { value.saturating_add(1) } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_their_place_or_none() {
        assert_eq!(number_of(b"AllReduce", FUNCTIONS), 5);
        assert_eq!(number_of(b"AllReduce2", FUNCTIONS), 0);
        assert_eq!(number_in(4, FUNCTIONS), 5);
        assert_eq!(number_in(200, FUNCTIONS), 0);
        let lists = [FUNCTIONS, DATATYPES, ALGORITHMS, PROTOCOLS];
        assert!(lists.iter().flat_map(|list| list.iter()).all(|name| name.len() <= NAME));
    }
}
