//! Calls of collectives, and NCCL's choice for them.

use super::words::{after, assigned, hex, number};
use crate::model::nccl::{Algorithm, CollectiveKind, Protocol};

/// `AllReduce: opCount 1f sendbuff P recvbuff P count N datatype N op N root N comm P [nranks=N]
/// stream P` (COLL): one per call and rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call<'a> {
    /// The function's name.
    pub name: &'a str,
    /// What it does.
    pub kind: CollectiveKind,
    /// Number of the call on the communicator, which calls of one group share.
    pub number: u64,
    /// Elements times element size; `None` if the datatype is unknown.
    pub bytes: Option<u64>,
    /// Root of a broadcast or reduce; peer of a send or receive.
    pub root: u32,
    /// Address of the communicator in this process.
    pub pointer: u64,
    /// Ranks of the communicator.
    pub nranks: Option<u32>,
}

/// What NCCL chose for a collective (TUNING), printed by rank 0 in most releases.
///
/// 2.20 to 2.22: `1048576 Bytes -> Algo 1 proto 2 time 12.3`; 2.23: the same after `AllReduce: `;
/// later: `AllReduce: 1048576 Bytes -> Algo RING proto SIMPLE channel{Lo..Hi}={0..1}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The kind of collective (2.23 and later).
    pub kind: Option<CollectiveKind>,
    /// Bytes as NCCL counts them for the choice.
    pub bytes: u64,
    /// Ring, tree or another.
    pub algorithm: Algorithm,
    /// Simple, LL or LL128.
    pub protocol: Protocol,
    /// First and last channel (2.24 and later).
    pub channels: Option<(u32, u32)>,
}

impl<'a> Call<'a> {
    pub(super) fn read(text: &'a str) -> Option<Self> {
        let (name, rest) = text.split_once(": opCount ")?;
        let count: u64 = number(rest, "count")?;
        let size = number(rest, "datatype").and_then(datatype_bytes);
        Some(Self {
            name,
            kind: kind(name),
            number: hex(rest.split(' ').next()?)?,
            bytes: size.and_then(|size| count.checked_mul(size)),
            root: number(rest, "root")?,
            pointer: hex(after(rest, "comm")?)?,
            nranks: assigned(rest.split_once('[')?.1, "nranks"),
        })
    }
}

impl Choice {
    pub(super) fn read(text: &str) -> Option<Self> {
        let (left, right) = text.split_once(" Bytes -> Algo ")?;
        let (name, bytes) =
            left.split_once(": ").map_or((None, left), |(name, bytes)| (Some(name), bytes));
        let algorithm = right.split(' ').next()?;
        let channels = right.split_once("}={").and_then(|(_, range)| {
            let (low, high) = range.trim_end_matches('}').split_once("..")?;
            Some((low.parse().ok()?, high.parse().ok()?))
        });
        Some(Self {
            kind: name.map(kind),
            bytes: bytes.trim().parse().ok()?,
            algorithm: match algorithm {
                "RING" | "1" => Algorithm::Ring,
                "TREE" | "0" => Algorithm::Tree,
                _ => Algorithm::Unknown,
            },
            protocol: match after(right, "proto")? {
                "LL" | "0" => Protocol::Ll,
                "LL128" | "1" => Protocol::Ll128,
                "SIMPLE" | "2" => Protocol::Simple,
                _ => Protocol::Unknown,
            },
            channels,
        })
    }
}

fn kind(name: &str) -> CollectiveKind {
    match name {
        "AllReduce" => CollectiveKind::AllReduce,
        "AllGather" => CollectiveKind::AllGather,
        "ReduceScatter" => CollectiveKind::ReduceScatter,
        "Broadcast" => CollectiveKind::Broadcast,
        "Reduce" => CollectiveKind::Reduce,
        "AlltoAll" | "AllToAll" => CollectiveKind::AllToAll,
        "Send" | "Recv" | "SendRecv" => CollectiveKind::SendRecv,
        _ => CollectiveKind::Unknown,
    }
}

/// Bytes of an element of `ncclDataType_t` (NCCL `src/nccl.h.in`).
const fn datatype_bytes(code: u32) -> Option<u64> {
    match code {
        // int8, uint8, and the two kinds of float8 (2.24 and later).
        0 | 1 | 10 | 11 => Some(1),
        // float16 and bfloat16.
        6 | 9 => Some(2),
        // int32, uint32, float32.
        2 | 3 | 7 => Some(4),
        // int64, uint64, float64.
        4 | 5 | 8 => Some(8),
        _ => None,
    }
}
