//! A communicator's life: its start, its ranks, its timings, its end.

use super::words::{after, hex, number, seconds_ns};
use crate::model::nccl::RANK_LIMIT;

/// `... comm P rank N nranks N ... - Init START|COMPLETE`: a rank of a communicator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Init<'a> {
    /// The call that created it (2.21 and later).
    pub function: Option<&'a str>,
    /// Its address, which identifies it within one process.
    pub pointer: u64,
    /// Rank in the communicator.
    pub rank: u32,
    /// Ranks of the communicator.
    pub nranks: u32,
    /// CUDA's number of the GPU in this process.
    pub cuda_device: Option<u32>,
    /// NVML's number of the GPU on this host (2.18 and later).
    pub nvml_device: Option<u32>,
    /// Packed PCI id of the GPU.
    pub bus_id: Option<u64>,
    /// `commId` (2.16 and later): the commHash from 2.26 on, another hash before.
    pub hash: Option<u64>,
    /// Its parent, if it was split off.
    pub split: Option<Split>,
    /// Started or complete.
    pub stage: InitStage,
}

/// Stage of the initialisation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InitStage {
    /// Started (2.18 and later).
    Start,
    /// `Init COMPLETE`: it ended.
    Complete,
    /// Its only line (2.2 and 2.3), which does not say whether it ended.
    Named,
}

/// How a communicator was split off another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Split {
    /// Address of the parent in this process.
    pub parent: u64,
    /// Number of the child among the parent's, from 1 (2.23 and later).
    pub number: Option<u32>,
    /// Ranks of the same colour are in the same child.
    pub color: i32,
    /// Order of ranks in the child.
    pub key: i32,
}

/// `comm P rank N nRanks N nNodes N localRanks N localRank N MNNVL N` (2.19 and later).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Its address in this process.
    pub pointer: u64,
    /// Rank in the communicator.
    pub rank: u32,
    /// Ranks.
    pub nranks: u32,
    /// Nodes that the communicator's ranks run on.
    pub nodes: u32,
    /// Ranks on this node.
    pub local_ranks: u32,
}

/// `comm P rank N ... - Destroy COMPLETE` or `- Abort COMPLETE`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// Its address in this process.
    pub pointer: u64,
    /// Whether it was aborted.
    pub is_abort: bool,
}

/// A total of seconds and its parts: `total F (create F, send F, ...)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timings<'a> {
    /// Total in nanoseconds.
    pub total_ns: u64,
    parts: &'a str,
}

impl<'a> Init<'a> {
    /// `comm P rank N nranks N`, as 2.2 and 2.3 print it.
    pub(super) fn read_named(text: &'a str) -> Option<Self> {
        let words: Vec<&str> = text.split_whitespace().take(7).collect();
        let ["comm", pointer, "rank", rank, "nranks", nranks] = words.as_slice() else {
            return None;
        };
        Some(Self {
            function: None,
            pointer: hex(pointer)?,
            rank: rank.parse().ok()?,
            nranks: nranks.parse().ok().filter(|nranks| *nranks <= RANK_LIMIT)?,
            cuda_device: None,
            nvml_device: None,
            bus_id: None,
            hash: None,
            split: None,
            stage: InitStage::Named,
        })
    }

    pub(super) fn read(text: &'a str) -> Option<Self> {
        let (rest, stage) = if let Some(rest) = text.strip_suffix("Init COMPLETE") {
            (rest, InitStage::Complete)
        } else {
            (text.strip_suffix("Init START")?, InitStage::Start)
        };
        // 2.29 and later put `[Rank N] ` before it.
        let call = rest.strip_prefix("[Rank ").and_then(|rest| rest.split_once("] "));
        let rest = call.map_or(rest, |(_, rest)| rest);
        let function = rest.split_whitespace().next().filter(|word| *word != "comm");
        Some(Self {
            function,
            pointer: hex(after(rest, "comm")?)?,
            rank: number(rest, "rank")?,
            nranks: number(rest, "nranks").filter(|nranks| *nranks <= RANK_LIMIT)?,
            cuda_device: number(rest, "cudaDev"),
            nvml_device: number(rest, "nvmlDev"),
            bus_id: after(rest, "busId").and_then(hex),
            hash: after(rest, "commId").and_then(hex),
            split: Split::read(rest),
            stage,
        })
    }
}

impl Split {
    fn read(text: &str) -> Option<Self> {
        Some(Self {
            parent: hex(after(text, "parent")?)?,
            number: number(text, "splitCount").or_else(|| number(text, "childCount")),
            color: number(text, "color")?,
            // At the start of the initialisation, the dash follows without a blank.
            key: number(text, "key")?,
        })
    }
}

impl Summary {
    pub(super) fn read(text: &str) -> Option<Self> {
        Some(Self {
            pointer: hex(after(text, "comm")?)?,
            rank: number(text, "rank")?,
            nranks: number(text, "nRanks").filter(|nranks| *nranks <= RANK_LIMIT)?,
            nodes: number(text, "nNodes")?,
            local_ranks: number(text, "localRanks")?,
        })
    }
}

impl End {
    pub(super) fn read(text: &str) -> Option<Self> {
        let is_abort = text.ends_with("Abort COMPLETE");
        (is_abort || text.ends_with("Destroy COMPLETE")).then_some(())?;
        Some(Self { pointer: hex(after(text, "comm")?)?, is_abort })
    }
}

impl<'a> Timings<'a> {
    pub(super) fn read(text: &'a str) -> Option<Self> {
        let total_ns = seconds_ns(after(text, "total")?)?;
        let parts = text.split_once('(').map_or("", |(_, parts)| parts.trim_end_matches(')'));
        Some(Self { total_ns, parts })
    }

    /// The parts by name, in nanoseconds.
    pub fn parts(&self) -> impl Iterator<Item = (&'a str, u64)> {
        self.parts.split(", ").filter_map(|part| {
            let (name, seconds) = part.trim().rsplit_once(' ')?;
            Some((name, seconds_ns(seconds)?))
        })
    }
}
