//! Jobs on which boards, rules and alerts are tried.

use super::panels::{
    CLEAN, CLEAN_QUIET, CONGESTION, COUNTERS, COUNTERS_QUIET, HANG, LATE, LOSS, MIRROR, SOCKETS,
};

/// A job of the driver, with one rank and one agent a host.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    pub(crate) hosts: usize,
    /// Options of `railscope drive`, without `--warmup_iters` and `--check`. Agents report while it runs, so
    /// it lasts ten seconds or more.
    pub(crate) job: &'static str,
    /// Whom the job waits for.
    pub(crate) late: Late,
    /// What happens to the job beside the driver's faults.
    pub(crate) trouble: Trouble,
    /// Panels, `board: title`, that must show it.
    pub(crate) shown_by: &'static [&'static str],
    /// Panels that must be seen to show nothing: they have answers, all of them 0.
    pub(crate) quiet: &'static [&'static str],
}

/// Whom a job waits for, by design.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Late {
    /// A rank, and why.
    Rank(u32, &'static str),
    Nobody,
    /// The scenario is about something else.
    NotJudged,
}

/// What happens to a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    None,
    /// Nothing, but one agent sees the packets of all hosts.
    Mirror,
    /// A rank freezes after a while.
    Freeze(usize),
    /// There is no job, but NICs with counters of one.
    Counters,
}

const fn scenario(
    name: &'static str,
    hosts: usize,
    job: &'static str,
    late: Option<(u32, &'static str)>,
) -> Scenario {
    let (late, shown_by, quiet): (_, _, &[&str]) = match late {
        Some((rank, why)) => {
            let panels = if let b"loss" = why.as_bytes() { LOSS } else { LATE };
            (Late::Rank(rank, why), panels, &[])
        }
        None => (Late::Nobody, CLEAN, CLEAN_QUIET),
    };
    Scenario { name, hosts, job, late, trouble: Trouble::None, shown_by, quiet }
}

const fn troubled(
    name: &'static str,
    hosts: usize,
    job: &'static str,
    trouble: Trouble,
    shown_by: &'static [&'static str],
) -> Scenario {
    Scenario { name, hosts, job, late: Late::NotJudged, trouble, shown_by, quiet: &[] }
}

/// All scenarios.
pub(crate) const ALL: &[Scenario] = &[
    scenario(
        "late_rank_of_2",
        2,
        "--iterations 100 --buckets 1MiB --compute 60ms --jitter 2ms --straggler rank=1,delay=40ms",
        Some((1, "enqueue")),
    ),
    scenario(
        "late_rank_of_3",
        3,
        "--iterations 100 --buckets 1MiB --compute 60ms --jitter 2ms --straggler rank=0,delay=40ms",
        Some((0, "enqueue")),
    ),
    scenario(
        "late_rank_of_4",
        4,
        "--iterations 160 --buckets 512KiB,256KiB --compute 60ms --jitter 2ms \
         --straggler rank=2,delay=40ms",
        Some((2, "enqueue")),
    ),
    scenario(
        "late_rank_of_8",
        8,
        "--iterations 80 --buckets 256KiB --compute 120ms --jitter 2ms \
         --straggler rank=5,delay=60ms",
        Some((5, "enqueue")),
    ),
    scenario(
        "late_rank_of_5_nccl_2.21",
        5,
        "--iterations 80 --buckets 512KiB --compute 80ms --jitter 2ms --nccl-wire 2.21.5 \
         --straggler rank=3,delay=50ms",
        Some((3, "enqueue")),
    ),
    scenario(
        "slow_receiver_of_3",
        3,
        "--iterations 160 --buckets 1MiB --compute 60ms --late-receiver rank=2,delay=8ms",
        Some((2, "receiver")),
    ),
    scenario(
        "slow_receiver_of_4",
        4,
        "--iterations 160 --buckets 1MiB --compute 60ms --late-receiver rank=1,delay=8ms",
        Some((1, "receiver")),
    ),
    scenario(
        "loss_of_3",
        3,
        "--iterations 80 --buckets 1MiB --compute 60ms --loss edge=0-1,share=1%",
        Some((0, "loss")),
    ),
    scenario(
        "loss_of_6",
        6,
        "--iterations 60 --buckets 512KiB --compute 100ms --loss edge=4-5,share=1%",
        Some((4, "loss")),
    ),
    scenario("clean_of_4", 4, "--iterations 100 --buckets 1MiB --compute 60ms --jitter 5ms", None),
    scenario(
        "clean_of_8",
        8,
        "--iterations 60 --buckets 256KiB --compute 120ms --jitter 5ms",
        None,
    ),
    troubled(
        "congestion_of_3",
        3,
        "--iterations 250 --buckets 1MiB --compute 60ms --mark-ce edge=0-1,share=5%",
        Trouble::None,
        CONGESTION,
    ),
    troubled(
        "mirror_of_3",
        3,
        "--iterations 100 --buckets 1MiB --compute 60ms --straggler rank=1,delay=40ms",
        Trouble::Mirror,
        MIRROR,
    ),
    troubled(
        "sockets_of_2",
        2,
        "--iterations 250 --buckets 1MiB --compute 60ms --socket-fallback",
        Trouble::None,
        SOCKETS,
    ),
    troubled(
        "frozen_rank_of_4",
        4,
        "--iterations 1000 --buckets 512KiB --compute 60ms --timeout 120s",
        Trouble::Freeze(2),
        HANG,
    ),
    Scenario {
        quiet: COUNTERS_QUIET,
        ..troubled("counters_of_3", 3, "", Trouble::Counters, COUNTERS)
    },
];
