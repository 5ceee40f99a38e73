//! Options of `railscope drive`, as typed.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::environment::Environment;
use super::telemetry::TelemetryArgs;
use super::{fault, layout};
use railscope_drive::collective::{DataType, Kind, Operator};
use railscope_drive::fault::{Fault, PacketFault, PauseFault, SocketFault};
use railscope_drive::job::Transport;
use railscope_drive::launch::Detail;
use railscope_drive::place;
use railscope_drive::release::Release;
use railscope_drive::units;

/// Options of `railscope drive`, as typed.
#[derive(Args)]
#[command(after_help = "\
Without --ranks, this process is one rank of a multi-host job, started by torchrun, Open MPI's mpirun \
or Slurm's srun. NCCL_IB_HCA, NCCL_IB_GID_INDEX, NCCL_IB_TC, NCCL_IB_QPS_PER_CONNECTION, NCCL_IB_TIMEOUT, \
NCCL_IB_RETRY_CNT and NCCL_SOCKET_IFNAME work as in NCCL; MASTER_PORT sets the port of the store.

Examples:
  railscope drive --ranks 4 -b 4K -e 16M -f 4       a sweep of sizes, as all_reduce_perf does
  railscope drive --ranks 4 --iterations 20 --buckets 25MiB,25MiB,4MiB --compute 80ms
                                                    a small training job
  railscope drive --ranks 4 --iterations 20 --straggler rank=2,delay=30ms,iterations=5..9 \\
      --record job                                  a late rank, with captures, truth and logs
  railscope drive --ranks 4 -b 1M -e 1M --loss edge=1-2,share=1%
                                                    loss on the path from rank 1 to rank 2
  torchrun --nnodes 2 --node-rank 0 --master-addr host0 --no-python \\
      railscope drive --transport verbs             RDMA devices of two hosts; this is the first

Exit codes: 0 done; 1 wrong results; 2 a rank failed, or wrong usage; 130 interrupted.")]
pub(in crate::cli) struct DriveArgs {
    /// Start this many ranks on this machine, each in its own place (see --place)
    #[arg(long, value_name = "N")]
    pub(super) ranks: Option<u32>,
    /// Collective to run
    #[arg(long, value_enum, default_value_t = Collective::AllReduce)]
    pub(super) collective: Collective,
    /// Transport for data
    #[arg(long, value_enum, default_value_t = TransportArg::Soft)]
    pub(super) transport: TransportArg,
    /// Rings that each collective is split over
    #[arg(long, value_name = "N", default_value_t = 2,
          value_parser = clap::value_parser!(u32).range(1..=32))]
    pub(super) channels: u32,
    /// NCCL release whose formats to use: 2.21.5 or 2.27.7
    #[arg(long, value_name = "RELEASE", default_value_t = Release::default())]
    pub(super) nccl_wire: Release,
    /// Packet payload of --transport soft, in bytes [default: the most that the interface carries]
    #[arg(long, value_name = "BYTES", value_parser = ["1024", "4096"])]
    pub(super) mtu: Option<String>,
    /// How to separate the ranks of this machine [default: the first that works, in this order]
    #[arg(long, value_enum, requires = "ranks")]
    pub(super) place: Option<PlaceArg>,
    /// Random seed, for jitter and packet faults; which packets are hit also depends on timing
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(super) seed: u64,
    /// How long ranks wait for each other before the job fails
    #[arg(short = 'T', long, value_name = "TIME", default_value = "30s",
          value_parser = units::time)]
    pub(super) timeout: Duration,
    /// Ranks wait for one that has gone, as NCCL's do, until their queue pairs fail or --timeout has passed
    #[arg(long)]
    pub(super) keep_waiting: bool,
    /// Profiler plugin for NCCL that every rank loads and reports to, such as
    /// libnccl-profiler-railscope.so; with --record, the plugin of railscope writes to profiles/
    #[arg(long, value_name = "PATH")]
    pub(super) profiler: Option<PathBuf>,
    #[command(flatten)]
    pub(super) layout: LayoutArgs,
    #[command(flatten)]
    pub(super) sweep: SweepArgs,
    #[command(flatten)]
    pub(super) training: TrainingArgs,
    #[command(flatten)]
    pub(super) faults: FaultArgs,
    #[command(flatten)]
    pub(in crate::cli) output: OutputArgs,
    #[command(flatten)]
    pub(super) telemetry: TelemetryArgs,
}

impl DriveArgs {
    /// The records that ranks have to send.
    pub(super) fn detail(&self, environment: &Environment) -> anyhow::Result<Detail> {
        if self.output.truth().is_some() {
            return Ok(Detail::Truth);
        }
        self.telemetry.detail(environment)
    }
}

/// The options of nccl-tests.
#[derive(Args)]
#[command(next_help_heading = "Sizes and numbers, as nccl-tests spells them")]
pub(super) struct SweepArgs {
    /// Smallest size: 8, 4K, 32M, 1G [default: 32M]
    #[arg(short = 'b', long, value_name = "SIZE", value_parser = units::size)]
    pub(super) minbytes: Option<u64>,
    /// Largest size [default: 32M]
    #[arg(short = 'e', long, value_name = "SIZE", value_parser = units::size)]
    pub(super) maxbytes: Option<u64>,
    /// Multiply the size by this each time
    #[arg(short = 'f', long, value_name = "N", conflicts_with = "stepbytes",
          value_parser = clap::value_parser!(u64).range(2..))]
    pub(super) stepfactor: Option<u64>,
    /// Add this to the size each time [default: 1M]
    #[arg(short = 'i', long, value_name = "SIZE", value_parser = units::size)]
    pub(super) stepbytes: Option<u64>,
    /// Collectives per size and placement [default: 20]
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) iters: Option<u32>,
    /// Warm-up collectives, not measured; training steps with --iterations
    #[arg(
        short = 'w',
        long = "warmup_iters",
        alias = "warmup-iters",
        value_name = "N",
        default_value_t = 1
    )]
    pub(super) warmup_iters: u32,
    /// Check the results: 0 or 1
    #[arg(short = 'c', long, value_name = "N", default_value_t = 1)]
    pub(super) check: u32,
    /// Data type of the buffers
    #[arg(short = 'd', long, value_enum, default_value_t = DataTypeArg::Float)]
    pub(super) datatype: DataTypeArg,
    /// Reduction operator
    #[arg(short = 'o', long, value_enum, default_value_t = OperatorArg::Sum)]
    pub(super) op: OperatorArg,
    /// Root of --collective broadcast
    #[arg(short = 'r', long, value_name = "RANK", default_value_t = 0)]
    pub(super) root: u32,
}

/// A training job instead of a sweep.
#[derive(Args)]
#[command(next_help_heading = "A training job instead of a sweep of sizes")]
#[group(id = "training", multiple = true,
        conflicts_with_all = ["minbytes", "maxbytes", "stepfactor", "stepbytes", "iters"])]
pub(super) struct TrainingArgs {
    /// Training steps [default: 10]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) iterations: Option<u32>,
    /// Sizes of the gradient buckets, in the order of reduction [default: 25MiB,25MiB,4MiB]
    #[arg(long, value_name = "SIZES", value_delimiter = ',', value_parser = units::size)]
    pub(super) buckets: Vec<u64>,
    /// Compute time before each reduction [default: 80ms]
    #[arg(long, value_name = "TIME", value_parser = units::time)]
    pub(super) compute: Option<Duration>,
    /// Random variation of the compute time, up to this much more or less [default: 0s]
    #[arg(long, value_name = "TIME", value_parser = units::time)]
    pub(super) jitter: Option<Duration>,
}

/// Communicators and nodes, as a plugin hears of them. Truth, logs and captures have only the one
/// communicator of all ranks, each a node.
#[derive(Args)]
#[command(next_help_heading = "Communicators and nodes, for --profiler")]
pub(super) struct LayoutArgs {
    /// Communicators that reduce each bucket one after the other, instead of the one of all ranks:
    /// 0-2,2-4 for two of three ranks each, which have rank 2 in common
    #[arg(long, value_name = "RANKS", value_delimiter = ',', value_parser = layout::ranks,
          requires_all = ["profiler", "ranks", "iterations"],
          conflicts_with_all = ["record", "truth", "log", "loss", "reorder", "mark_ce",
                                "pause", "slow_socket"])]
    pub(super) communicators: Vec<(u32, u32)>,
    /// Ranks of a node: they have one host name, and no proxy between them
    #[arg(long, value_name = "N", requires_all = ["profiler", "ranks"],
          conflicts_with_all = ["record", "truth", "log", "capture"],
          value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) ranks_per_node: Option<u32>,
}

/// Injected faults.
#[derive(Args)]
#[command(next_help_heading = "Faults to inject (each may be repeated)")]
pub(super) struct FaultArgs {
    /// A rank computes longer: rank=2,delay=30ms,iterations=5..9 (counted from 0, both included)
    #[arg(long, value_name = "FAULT", value_parser = fault::straggler)]
    pub(super) straggler: Vec<Fault>,
    /// A rank's GPU begins the collectives of a training step late, although they are called in time:
    /// rank=2,delay=30ms,iterations=5..9
    #[arg(long, value_name = "FAULT", value_parser = fault::late_gpu)]
    pub(super) late_gpu: Vec<Fault>,
    /// A rank posts its receive buffers late: rank=2,delay=5ms
    #[arg(long, value_name = "FAULT", value_parser = fault::late_receiver)]
    pub(super) late_receiver: Vec<Fault>,
    /// Packets are lost: 1%, or edge=1-2,share=1% for those from rank 1 to rank 2; iterations=5..9
    /// may be added
    #[arg(long, value_name = "FAULT", value_parser = fault::packets)]
    pub(super) loss: Vec<PacketFault>,
    /// Packets are reordered: 1%, or edge=1-2,share=1%,iterations=5..9
    #[arg(long, value_name = "FAULT", value_parser = fault::packets)]
    pub(super) reorder: Vec<PacketFault>,
    /// Packets are marked ECN CE, as by a congested switch: 1%, or
    /// edge=1-2,share=1%,iterations=5..9
    #[arg(long, value_name = "FAULT", value_parser = fault::packets)]
    pub(super) mark_ce: Vec<PacketFault>,
    /// A rank's port asks the one that sends to it to pause (PFC): edge=0-1,share=40% for a pause of rank 0's
    /// port in 40 % of the time, asked for by rank 1's while its collectives run; iterations=5..9 may be added
    #[arg(long, value_name = "FAULT", value_parser = fault::pause, requires = "ranks")]
    pub(super) pause: Vec<PauseFault>,
    /// Ranks find no RDMA device and fall back to sockets
    #[arg(long)]
    pub(super) socket_fallback: bool,
    /// TCP from one rank to the next is slow: edge=1-2,rate=200M for 200 Mbit/s a connection;
    /// iterations=5..9 may be added
    #[arg(long, value_name = "FAULT", value_parser = fault::slow_socket)]
    pub(super) slow_socket: Vec<SocketFault>,
    /// A rank's queue pairs use another path MTU than their peers': rank=2,bytes=1024
    #[arg(long, value_name = "FAULT", value_parser = fault::path_mtu)]
    pub(super) path_mtu: Vec<Fault>,
    /// A rank never joins
    #[arg(long, value_name = "RANK")]
    pub(super) missing_rank: Vec<u32>,
}

/// Output files.
#[derive(Args)]
#[command(next_help_heading = "Output files")]
pub(in crate::cli) struct OutputArgs {
    /// New folder for everything that railscope analyze reads: truth.jsonl, logs/ and, with --ranks,
    /// captures
    #[arg(long, value_name = "DIR", conflicts_with_all = ["truth", "log", "capture"])]
    record: Option<PathBuf>,
    /// Ground truth in JSON lines; each rank of a multi-host job adds .rankN to the name
    #[arg(long, value_name = "FILE")]
    truth: Option<PathBuf>,
    /// The results table as JSON, with the keys of nccl-tests' -J
    #[arg(short = 'J', long, value_name = "FILE")]
    pub(super) json: Option<PathBuf>,
    /// Folder for a log per rank in the format of NCCL_DEBUG=INFO: nccl.HOST.PID.log
    #[arg(long, value_name = "DIR")]
    log: Option<PathBuf>,
    /// Folder for a capture per port: rankN.pcap
    #[arg(long, value_name = "DIR", requires = "ranks")]
    capture: Option<PathBuf>,
    /// Bytes captured of each frame
    #[arg(long, value_name = "BYTES", default_value_t = 65_535,
          value_parser = clap::value_parser!(u32).range(64..=262_144))]
    pub(super) snaplen: u32,
}

impl OutputArgs {
    /// The truth file.
    pub(in crate::cli) fn truth(&self) -> Option<PathBuf> {
        self.truth.clone().or_else(|| Some(self.record.as_ref()?.join("truth.jsonl")))
    }

    /// Refuses a folder with a job: the analysis would read two jobs as one.
    pub(in crate::cli) fn check_record(&self) -> anyhow::Result<()> {
        let Some(folder) = &self.record else { return Ok(()) };
        let taken = folder.join("truth.jsonl");
        let name = folder.display();
        anyhow::ensure!(
            !taken.exists(),
            "--record {name}: the folder already holds a job; choose a new one"
        );
        Ok(())
    }

    /// The folder of logs.
    pub(in crate::cli) fn log(&self) -> Option<PathBuf> {
        self.log.clone().or_else(|| Some(self.record.as_ref()?.join("logs")))
    }

    /// The folder of profiles.
    pub(super) fn profiles(&self) -> Option<PathBuf> {
        Some(self.record.as_ref()?.join("profiles"))
    }

    /// The folder of captures.
    pub(super) fn capture(&self) -> Option<PathBuf> {
        self.capture.clone().or_else(|| self.record.clone())
    }
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(super) enum Collective {
    AllReduce,
    AllGather,
    ReduceScatter,
    Broadcast,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum TransportArg {
    /// RoCEv2 from user space: NET/IB without RDMA hardware
    Soft,
    /// RDMA devices of this machine: NET/IB
    Verbs,
    /// TCP: NET/Socket
    Socket,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum PlaceArg {
    /// One network namespace per rank; needs root
    Netns,
    /// One network namespace per rank, inside a user namespace
    Userns,
    /// One loopback address per rank
    Loopback,
    /// This machine's network, one address for all ranks
    Host,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum DataTypeArg {
    Int32,
    Float,
    Double,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum OperatorArg {
    Sum,
    Prod,
    Min,
    Max,
}

impl From<Collective> for Kind {
    fn from(collective: Collective) -> Self {
        match collective {
            Collective::AllReduce => Self::AllReduce,
            Collective::AllGather => Self::AllGather,
            Collective::ReduceScatter => Self::ReduceScatter,
            Collective::Broadcast => Self::Broadcast,
        }
    }
}

impl From<TransportArg> for Transport {
    fn from(transport: TransportArg) -> Self {
        match transport {
            TransportArg::Soft => Self::Soft,
            TransportArg::Verbs => Self::Verbs,
            TransportArg::Socket => Self::Socket,
        }
    }
}

impl From<PlaceArg> for place::Kind {
    fn from(place: PlaceArg) -> Self {
        match place {
            PlaceArg::Netns => Self::Namespaces,
            PlaceArg::Userns => Self::UserNamespaces,
            PlaceArg::Loopback => Self::Loopback,
            PlaceArg::Host => Self::Host,
        }
    }
}

impl From<DataTypeArg> for DataType {
    fn from(data_type: DataTypeArg) -> Self {
        match data_type {
            DataTypeArg::Int32 => Self::Int32,
            DataTypeArg::Float => Self::Float32,
            DataTypeArg::Double => Self::Float64,
        }
    }
}

impl From<OperatorArg> for Operator {
    fn from(operator: OperatorArg) -> Self {
        match operator {
            OperatorArg::Sum => Self::Sum,
            OperatorArg::Prod => Self::Prod,
            OperatorArg::Min => Self::Min,
            OperatorArg::Max => Self::Max,
        }
    }
}
