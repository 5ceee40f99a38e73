//! Jobs on which boards, rules and alerts are tried.

/// A job of the driver, with one rank and one agent a host.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    pub(crate) hosts: usize,
    /// Options of `railscope drive`, without `--warmup_iters` and `--check`.
    pub(crate) job: &'static str,
    /// The rank that is held up and why; `None` for a clean job.
    pub(crate) late: Option<(u32, &'static str)>,
}

const fn scenario(
    name: &'static str,
    hosts: usize,
    job: &'static str,
    late: Option<(u32, &'static str)>,
) -> Scenario {
    Scenario { name, hosts, job, late }
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
        "--iterations 100 --buckets 512KiB,256KiB --compute 60ms --jitter 2ms \
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
        "--iterations 80 --buckets 1MiB --compute 60ms --late-receiver rank=2,delay=8ms",
        Some((2, "receiver")),
    ),
    scenario(
        "slow_receiver_of_4",
        4,
        "--iterations 80 --buckets 1MiB --compute 60ms --late-receiver rank=1,delay=8ms",
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
];
