//! The job from the command line, checked as a whole.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail, ensure};

use super::args::{DriveArgs, SweepArgs, TrainingArgs};
use super::environment::Environment;
use super::layout;
use railscope_drive::collective::{DataType, Kind};
use railscope_drive::fault::Iterations;
use railscope_drive::fault::{Fault, PacketFault, PauseFault, SocketFault};
use railscope_drive::job::{IbSettings, Job, Shape, Transport, Workload};
use railscope_drive::place;
use railscope_drive::release::Release;

/// nccl-tests' default of `-b` and `-e`.
const DEFAULT_BYTES: u64 = 32 << 20;

/// nccl-tests' default of `-i`.
const DEFAULT_INCREMENT: u64 = 1 << 20;

/// Largest buffer of a rank, which has to hold several.
const MAX_BYTES: u64 = 16 << 30;

/// Most sizes of a sweep.
const MAX_SIZES: usize = 10_000;

/// DDP's buckets for a model of about 14 million parameters.
const DEFAULT_BUCKETS: [u64; 3] = [25 << 20, 25 << 20, 4 << 20];

/// NCCL's default: 4.096 us · 2^18 = 1.07 s, since 2.23 4.3 s (`src/transport/net_ib.cc`).
const fn verbs_timeout(release: Release) -> u8 {
    match release {
        Release::V2_21_5 => 18,
        Release::V2_27_7 => 20,
    }
}

/// ECT(0): without RDMA hardware there is no reason to leave ECN out. NCCL's default is 0.
const SOFT_TRAFFIC_CLASS: u8 = 2;

/// NCCL's default, the most that hardware does.
const VERBS_RETRIES: u8 = 7;

/// 8 s in all: a rank does not answer while it fills or checks buffers.
const SOFT_RETRIES: u8 = 30;

/// 268 ms: without hardware a lost last packet should not cost seconds, but a busy machine may delay a
/// rank's answer by 100 ms.
const SOFT_TIMEOUT: u8 = 16;

/// The job of `ranks` ranks whose interfaces carry packets of `interface_mtu` bytes.
pub(in crate::cli) fn job(
    args: &DriveArgs,
    environment: &Environment,
    ranks: u32,
    interface_mtu: u32,
) -> anyhow::Result<Job> {
    ensure!(
        (2..=place::MAX_RANKS).contains(&ranks),
        "--ranks {ranks}: choose from 2 to {}",
        place::MAX_RANKS
    );
    let transport = Transport::from(args.transport);
    let kind = Kind::from(args.collective);
    ensure!(
        args.sweep.root < ranks,
        "--root {}: ranks go from 0 to {}",
        args.sweep.root,
        ranks - 1
    );
    ensure!(!args.timeout.is_zero(), "--timeout 0s: choose a time above 0, such as 30s");
    let data_type = DataType::from(args.sweep.datatype);
    let cut = Cut { kind, data_type, ranks };
    let shape = if args.training.is_given() {
        training(&args.training, args.sweep.warmup_iters, cut)?
    } else {
        sweep(&args.sweep, cut)?
    };
    let faults = faults(args);
    let job = Job {
        release: args.nccl_wire,
        transport,
        channels: args.channels,
        workload: Workload {
            kind,
            data_type,
            operator: args.sweep.op.into(),
            root: args.sweep.root,
            shape,
        },
        check: args.sweep.check > 0,
        seed: args.seed,
        faults,
        ib: ib_settings(args, environment, transport, interface_mtu)?,
        patience: args.timeout,
        keeps_waiting: args.keep_waiting,
        profiler: args.profiler.as_deref().map(library).transpose()?,
        layout: layout::layout(&args.layout, kind, ranks)?,
    };
    check_faults(&job, ranks)?;
    Ok(job)
}

/// The plugin's file. The loader would look for a name without a slash elsewhere.
fn library(path: &Path) -> anyhow::Result<PathBuf> {
    path.canonicalize().with_context(|| format!("--profiler {}", path.display()))
}

impl TrainingArgs {
    fn is_given(&self) -> bool {
        self.iterations.is_some()
            || !self.buckets.is_empty()
            || self.compute.is_some()
            || self.jitter.is_some()
    }
}

/// Rounds sizes down to what the ranks' buffers can hold, as nccl-tests does.
#[derive(Clone, Copy)]
struct Cut {
    kind: Kind,
    data_type: DataType,
    ranks: u32,
}

impl Cut {
    /// The largest valid size up to this one: whole elements, and multiples of 16 bytes per rank if each
    /// rank has a part (`*GetCollByteCount`).
    fn size(self, bytes: u64) -> u64 {
        let unit = match self.kind {
            Kind::AllReduce | Kind::Broadcast => self.data_type.bytes() as u64,
            Kind::AllGather | Kind::ReduceScatter => 16 * u64::from(self.ranks),
        };
        bytes / unit * unit
    }
}

fn sweep(args: &SweepArgs, cut: Cut) -> anyhow::Result<Shape> {
    let first =
        args.minbytes.unwrap_or_else(|| args.maxbytes.unwrap_or(DEFAULT_BYTES).min(DEFAULT_BYTES));
    let last = args.maxbytes.unwrap_or(first.max(DEFAULT_BYTES));
    ensure!(first > 0, "-b 0: a collective needs at least one byte");
    ensure!(first <= last, "-b {first} is larger than -e {last}: sizes go from -b up to -e");
    ensure!(last <= MAX_BYTES, "-e {last}: the largest size is 16G");
    let next = |size: u64| match (args.stepfactor, args.stepbytes) {
        (Some(factor), _) => size.saturating_mul(factor),
        (None, increment) => size.saturating_add(increment.unwrap_or(DEFAULT_INCREMENT)),
    };
    ensure!(next(first) > first, "-i 0: choose a step above 0");
    let all = std::iter::successors(Some(first), |&size| Some(next(size)));
    let mut sizes: Vec<u64> = all.take_while(|&size| size <= last).take(MAX_SIZES + 1).collect();
    ensure!(sizes.len() <= MAX_SIZES, "more than {MAX_SIZES} sizes: choose a larger -i, or -f 2");
    sizes.iter_mut().for_each(|size| *size = cut.size(*size));
    // Some are rounded to 0, for which nccl-tests prints lines without bytes.
    sizes.retain(|&size| size > 0);
    ensure!(!sizes.is_empty(), "-e {last}: too small; {} ranks need 16 bytes each", cut.ranks);
    Ok(Shape::Sweep { sizes, warmup: args.warmup_iters, iterations: args.iters.unwrap_or(20) })
}

fn training(args: &TrainingArgs, warmup: u32, cut: Cut) -> anyhow::Result<Shape> {
    let buckets = if args.buckets.is_empty() { &DEFAULT_BUCKETS[..] } else { &args.buckets };
    let sizes: Vec<u64> = buckets.iter().map(|&bytes| cut.size(bytes)).collect();
    for (typed, size) in buckets.iter().zip(&sizes) {
        ensure!(*size > 0, "--buckets {typed}: too small");
        ensure!(*size <= MAX_BYTES, "--buckets {typed}: the largest bucket is 16G");
    }
    let compute = args.compute.unwrap_or(Duration::from_millis(80));
    let jitter = args.jitter.unwrap_or_default();
    ensure!(
        jitter <= compute,
        "--jitter {jitter:?} is longer than --compute {compute:?}: choose a shorter one"
    );
    Ok(Shape::Training {
        buckets: sizes,
        warmup,
        iterations: args.iterations.unwrap_or(10),
        compute,
        jitter,
    })
}

fn ib_settings(
    args: &DriveArgs,
    environment: &Environment,
    transport: Transport,
    interface_mtu: u32,
) -> anyhow::Result<IbSettings> {
    // -1, NCCL's default, lets it choose.
    let gid_index = environment.number("NCCL_IB_GID_INDEX", -1..=255)?;
    ensure!(
        transport != Transport::Verbs || cfg!(feature = "verbs"),
        "--transport verbs: this railscope was built without it; use cargo install --features verbs \
         (needs libibverbs-dev, librdmacm-dev, libclang 14 and LIBCLANG_PATH)"
    );
    let (timeout, retries) = match transport {
        Transport::Soft => (SOFT_TIMEOUT, SOFT_RETRIES),
        Transport::Verbs | Transport::Socket => (verbs_timeout(args.nccl_wire), VERBS_RETRIES),
    };
    let traffic_class = if transport == Transport::Soft { SOFT_TRAFFIC_CLASS } else { 0 };
    let mtu = match args.mtu.as_deref() {
        Some("1024") => 1024,
        Some(_) => 4096,
        // IPv4, UDP, BTH, RETH, immediate and ICRC are added to the payload.
        None if interface_mtu >= 4096 + 64 => 4096,
        None => 1024,
    };
    Ok(IbSettings {
        hca: environment.text("NCCL_IB_HCA").map(str::to_owned),
        gid_index: gid_index.and_then(|index: i32| u8::try_from(index).ok()),
        traffic_class: environment.number("NCCL_IB_TC", 0..=255)?.unwrap_or(traffic_class),
        queue_pairs: environment.number("NCCL_IB_QPS_PER_CONNECTION", 1..=128)?.unwrap_or(1),
        timeout: environment.number("NCCL_IB_TIMEOUT", 0..=31)?.unwrap_or(timeout),
        retries: environment.number("NCCL_IB_RETRY_CNT", 0..=7)?.unwrap_or(retries),
        mtu,
        forced_mtu: None,
    })
}

fn faults(args: &DriveArgs) -> Vec<Fault> {
    let args = &args.faults;
    let mut all = args.straggler.clone();
    all.extend_from_slice(&args.late_gpu);
    all.extend_from_slice(&args.late_receiver);
    all.extend(args.loss.iter().cloned().map(Fault::Loss));
    all.extend(args.reorder.iter().cloned().map(Fault::Reorder));
    all.extend(args.mark_ce.iter().cloned().map(Fault::MarkCe));
    all.extend(args.pause.iter().cloned().map(Fault::Pause));
    all.extend(args.socket_fallback.then_some(Fault::SocketFallback));
    all.extend(args.slow_socket.iter().cloned().map(Fault::SlowSocket));
    all.extend_from_slice(&args.path_mtu);
    all.extend(args.missing_rank.iter().map(|&rank| Fault::MissingRank { rank }));
    all
}

/// Refuses faults that cannot happen, and says what to use instead.
fn check_faults(job: &Job, ranks: u32) -> anyhow::Result<()> {
    let is_missing = |rank: u32| job.faults.contains(&Fault::MissingRank { rank });
    ensure!(!(0..ranks).all(is_missing), "--missing-rank: at least one rank must join");
    for fault in &job.faults {
        match fault {
            Fault::Straggler { rank, delay, iterations } => {
                ensure!(
                    matches!(job.workload.shape, Shape::Training { .. }),
                    "--straggler extends the compute time, and a sweep of sizes has none: add \
                     --iterations 20"
                );
                check_delay("--straggler", job, ranks, *rank, *delay, iterations.as_ref())?;
            }
            Fault::LateGpu { rank, delay, iterations } => {
                check_delay("--late-gpu", job, ranks, *rank, *delay, iterations.as_ref())?;
            }
            Fault::LateReceiver { rank, delay, iterations } => {
                check_delay("--late-receiver", job, ranks, *rank, *delay, iterations.as_ref())?;
            }
            Fault::Loss(packets) => check_packets("--loss", "loss 1%", job, ranks, packets)?,
            Fault::Reorder(packets) => {
                check_packets("--reorder", "delay 1ms reorder 99%", job, ranks, packets)?;
            }
            Fault::MarkCe(packets) => {
                check_packets("--mark-ce", "loss 1% ecn", job, ranks, packets)?;
                let class = job.ib.traffic_class;
                ensure!(
                    class & 3 != 0,
                    "--mark-ce: NCCL_IB_TC={class} is not ECN-capable, so switches do not mark its \
                     packets; at least one of its two lowest bits must be 1, as in 2 or 106"
                );
            }
            Fault::Pause(PauseFault { edge, iterations, .. }) => {
                ensure!(
                    job.transport == Transport::Soft
                        && !job.faults.contains(&Fault::SocketFallback),
                    "--pause works only with --transport soft, whose ports railscope plays itself"
                );
                check_iterations("--pause", job, iterations.as_ref())?;
                check_edge("--pause", *edge, ranks)?;
                let (from, to) = *edge;
                ensure!(
                    (from + 1) % ranks == to,
                    "--pause: data goes from rank {to} to rank {from}, not back; write edge={to}-{from}"
                );
            }
            Fault::SocketFallback => ensure!(
                job.transport != Transport::Socket,
                "--socket-fallback: --transport socket already uses sockets; remove one of them"
            ),
            Fault::SlowSocket(SocketFault { edge, bits_per_second, iterations }) => {
                ensure!(
                    job.transport == Transport::Socket
                        || job.faults.contains(&Fault::SocketFallback),
                    "--slow-socket: no data goes over TCP; add --transport socket or --socket-fallback"
                );
                ensure!(
                    *bits_per_second >= 8,
                    "--slow-socket: choose a rate above 0, such as 200M"
                );
                check_iterations("--slow-socket", job, iterations.as_ref())?;
                let (from, to) = *edge;
                check_edge("--slow-socket", *edge, ranks)?;
                ensure!(
                    (from + 1) % ranks == to,
                    "--slow-socket: data goes from rank {to} to rank {from}, not back; write \
                     edge={to}-{from}"
                );
            }
            Fault::PathMtu { rank, .. } => {
                check_rank("--path-mtu", *rank, ranks)?;
                ensure!(
                    job.transport == Transport::Soft
                        && !job.faults.contains(&Fault::SocketFallback),
                    "--path-mtu works only with --transport soft, whose packets railscope sends itself"
                );
            }
            Fault::MissingRank { rank } => check_rank("--missing-rank", *rank, ranks)?,
        }
    }
    Ok(())
}

fn check_rank(option: &str, rank: u32, ranks: u32) -> anyhow::Result<()> {
    ensure!(rank < ranks, "{option}: there is no rank {rank}; ranks go from 0 to {}", ranks - 1);
    Ok(())
}

fn check_delay(
    option: &str,
    job: &Job,
    ranks: u32,
    rank: u32,
    delay: Duration,
    iterations: Option<&Iterations>,
) -> anyhow::Result<()> {
    check_rank(option, rank, ranks)?;
    ensure!(
        delay < job.patience,
        "{option}: the other ranks time out before {delay:?}; raise --timeout"
    );
    check_iterations(option, job, iterations)
}

fn check_iterations(
    option: &str,
    job: &Job,
    iterations: Option<&Iterations>,
) -> anyhow::Result<()> {
    let Some(wanted) = iterations else { return Ok(()) };
    match job.workload.shape {
        Shape::Sweep { .. } => {
            bail!(
                "{option}: iterations= counts training steps, and a sweep of sizes has none: add --iterations"
            )
        }
        Shape::Training { iterations, .. } => ensure!(
            wanted.end <= iterations,
            "{option}: iterations= goes to {}, but the last step of --iterations {iterations} is {}",
            wanted.end - 1,
            iterations - 1
        ),
    }
    Ok(())
}

/// Faults can hit only packets that railscope sends itself; for others there is the kernel's netem.
fn check_packets(
    option: &str,
    netem: &str,
    job: &Job,
    ranks: u32,
    packets: &PacketFault,
) -> anyhow::Result<()> {
    ensure!(
        job.transport == Transport::Soft,
        "{option} works only with --transport soft, whose packets railscope sends itself. For others \
         use the kernel: tc qdisc add dev INTERFACE root netem {netem}"
    );
    ensure!(
        !job.faults.contains(&Fault::SocketFallback),
        "{option}: with --socket-fallback the kernel sends the packets; remove one of them"
    );
    check_iterations(option, job, packets.iterations.as_ref())?;
    packets.edge.map_or(Ok(()), |edge| check_edge(option, edge, ranks))
}

fn check_edge(option: &str, (from, to): (u32, u32), ranks: u32) -> anyhow::Result<()> {
    check_rank(option, from, ranks)?;
    check_rank(option, to, ranks)?;
    let distance = from.abs_diff(to);
    ensure!(
        distance == 1 || distance == ranks - 1,
        "{option}: ranks {from} and {to} are not neighbours in the ring 0-1-...-{}-0, so they exchange \
         no packets",
        ranks - 1
    );
    Ok(())
}
