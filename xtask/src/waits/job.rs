//! The jobs that are compared, and what is truly the cause in each.

use super::named::Named;

/// A job of the driver.
pub(super) struct Job {
    pub(super) name: &'static str,
    pub(super) options: &'static str,
    pub(super) truth: Named,
}

const fn job(name: &'static str, options: &'static str, truth: Named) -> Job {
    Job { name, options, truth }
}

/// All jobs. Delays are a multiple of what a busy machine adds by itself.
pub(super) const JOBS: [Job; 23] = [
    job("clean-3", "--ranks 3 --iterations 8 --buckets 1MiB --compute 40ms", Named::Nobody),
    job("clean-4", "--ranks 4 --iterations 8 --buckets 2MiB,1MiB --compute 40ms", Named::Nobody),
    job(
        "clean-6",
        "--ranks 6 --iterations 8 --buckets 1MiB --compute 60ms --channels 1",
        Named::Nobody,
    ),
    job(
        "late-cpu-3",
        "--ranks 3 --iterations 8 --buckets 1MiB --compute 30ms --straggler rank=1,delay=60ms",
        Named::LateCpu(1),
    ),
    job(
        "late-cpu-4",
        "--ranks 4 --iterations 8 --buckets 2MiB,1MiB --compute 30ms --straggler rank=0,delay=80ms",
        Named::LateCpu(0),
    ),
    job(
        "late-cpu-some",
        "--ranks 4 --iterations 10 --buckets 1MiB --compute 30ms \
         --straggler rank=2,delay=120ms,iterations=2..7",
        Named::LateCpu(2),
    ),
    job(
        "late-cpu-6",
        "--ranks 6 --iterations 8 --buckets 1MiB --compute 40ms --channels 1 \
         --straggler rank=5,delay=90ms",
        Named::LateCpu(5),
    ),
    job(
        "late-gpu-3",
        "--ranks 3 --iterations 8 --buckets 1MiB --compute 30ms --late-gpu rank=2,delay=60ms",
        Named::LateGpu(2),
    ),
    job(
        "late-gpu-4",
        "--ranks 4 --iterations 8 --buckets 2MiB,1MiB --compute 30ms --late-gpu rank=1,delay=80ms",
        Named::LateGpu(1),
    ),
    job(
        "late-gpu-some",
        "--ranks 4 --iterations 10 --buckets 1MiB --compute 30ms \
         --late-gpu rank=3,delay=120ms,iterations=2..7",
        Named::LateGpu(3),
    ),
    job(
        "late-gpu-6",
        "--ranks 6 --iterations 8 --buckets 1MiB --compute 40ms --channels 1 \
         --late-gpu rank=4,delay=90ms",
        Named::LateGpu(4),
    ),
    job(
        "slow-receiver-3",
        "--ranks 3 --iterations 6 --buckets 4MiB --channels 1 --compute 30ms --late-receiver rank=1,delay=40ms",
        Named::SlowReceiver(1),
    ),
    job(
        "slow-receiver-4",
        "--ranks 4 --iterations 6 --buckets 4MiB --channels 1 --compute 30ms --late-receiver rank=2,delay=40ms",
        Named::SlowReceiver(2),
    ),
    job(
        "slow-receiver-5",
        "--ranks 5 --iterations 6 --buckets 4MiB --channels 1 --compute 30ms --late-receiver rank=4,delay=40ms",
        Named::SlowReceiver(4),
    ),
    job(
        "loss-3",
        "--ranks 3 --iterations 8 --buckets 4MiB --compute 30ms --loss edge=1-2,share=2%",
        Named::Network,
    ),
    job(
        "loss-4",
        "--ranks 4 --iterations 8 --buckets 4MiB --compute 30ms --loss edge=0-1,share=1%",
        Named::Network,
    ),
    job(
        "loss-5",
        "--ranks 5 --iterations 8 --buckets 4MiB --compute 30ms --loss edge=3-4,share=3%",
        Named::Network,
    ),
    job(
        "reordering",
        "--ranks 4 --iterations 8 --buckets 4MiB --compute 30ms --reorder edge=2-3,share=2%",
        Named::Network,
    ),
    job(
        "congestion-3",
        "--ranks 3 --iterations 8 --buckets 4MiB --compute 30ms --mark-ce edge=0-1,share=5%",
        Named::Network,
    ),
    job(
        "congestion-4",
        "--ranks 4 --iterations 8 --buckets 4MiB --compute 30ms --mark-ce edge=0-1,share=10%",
        Named::Network,
    ),
    job(
        "congestion-5",
        "--ranks 5 --iterations 8 --buckets 4MiB --compute 30ms --mark-ce edge=3-4,share=20%",
        Named::Network,
    ),
    job(
        "pause-3",
        "--ranks 3 --iterations 8 --buckets 4MiB --compute 30ms --pause edge=1-2,share=60%",
        Named::Network,
    ),
    job(
        "pause-4",
        "--ranks 4 --iterations 8 --buckets 4MiB --compute 30ms --pause edge=0-1,share=60%",
        Named::Network,
    ),
];
