//! Options of `railscope drive`, as typed.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::fault;
use railscope_drive::collective::{DataType, Kind, Operator};
use railscope_drive::fault::{Fault, PacketFault};
use railscope_drive::job::Transport;
use railscope_drive::place;
use railscope_drive::release::Release;
use railscope_drive::units;

/// Options of `railscope drive`, as typed.
#[derive(Args)]
#[command(after_help = "\
Without --ranks, torchrun, Open MPI's mpirun or Slurm's srun make this process one rank of a job of \
many hosts. NCCL_IB_HCA, NCCL_IB_GID_INDEX, NCCL_IB_TC, NCCL_IB_QPS_PER_CONNECTION, NCCL_IB_TIMEOUT, \
NCCL_IB_RETRY_CNT and NCCL_SOCKET_IFNAME mean what they mean to NCCL; MASTER_PORT moves the store.

Examples:
  railscope drive --ranks 4 -b 4K -e 16M -f 4       a sweep of sizes, as nccl-tests' all_reduce_perf
  railscope drive --ranks 4 --iterations 20 --buckets 25MiB,25MiB,4MiB --compute 80ms
                                                    a training job in small
  railscope drive --ranks 4 --iterations 20 --straggler rank=2,delay=30ms,iterations=5..9 \\
      --record job                                  a late rank, with captures, truth and logs
  railscope drive --ranks 4 -b 1M -e 1M --loss edge=1-2,share=1%
                                                    loss on the way from rank 1 to rank 2
  torchrun --nnodes 2 --node-rank 0 --master-addr host0 --no-python \\
      railscope drive --transport verbs             RDMA devices of two hosts; here the first

Exit codes: 0 done; 1 results were wrong; 2 a rank failed, or wrong usage; 130 interrupted.")]
pub(in crate::cli) struct DriveArgs {
    /// Start this many ranks on this machine, each in a place of its own
    #[arg(long, value_name = "N")]
    pub(super) ranks: Option<u32>,
    /// What ranks do together
    #[arg(long, value_enum, default_value_t = Collective::AllReduce)]
    pub(super) collective: Collective,
    /// What carries data
    #[arg(long, value_enum, default_value_t = TransportArg::Soft)]
    pub(super) transport: TransportArg,
    /// Rings that share each collective
    #[arg(long, value_name = "N", default_value_t = 2,
          value_parser = clap::value_parser!(u32).range(1..=32))]
    pub(super) channels: u32,
    /// Whose formats are spoken: 2.21.5 or 2.27.7
    #[arg(long, value_name = "RELEASE", default_value_t = Release::default())]
    pub(super) nccl_wire: Release,
    /// Payload of a packet of --transport soft, bytes [default: as the interface has room for]
    #[arg(long, value_name = "BYTES", value_parser = ["1024", "4096"])]
    pub(super) mtu: Option<String>,
    /// Where ranks of this machine live [default: the best that works]
    #[arg(long, value_enum, requires = "ranks")]
    pub(super) place: Option<PlaceArg>,
    /// Of what is left to chance: jitter, and the draws of packet faults; which packet meets which
    /// draw depends on timing
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(super) seed: u64,
    /// How long ranks wait for each other before they give up
    #[arg(short = 'T', long, value_name = "TIME", default_value = "30s",
          value_parser = units::time)]
    pub(super) timeout: Duration,
    #[command(flatten)]
    pub(super) sweep: SweepArgs,
    #[command(flatten)]
    pub(super) training: TrainingArgs,
    #[command(flatten)]
    pub(super) faults: FaultArgs,
    #[command(flatten)]
    pub(in crate::cli) output: OutputArgs,
}

/// As nccl-tests spells them.
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
    /// Before them, not counted; training steps with --iterations
    #[arg(
        short = 'w',
        long = "warmup_iters",
        alias = "warmup-iters",
        value_name = "N",
        default_value_t = 1
    )]
    pub(super) warmup_iters: u32,
    /// Compare results with what they must be: 0 or 1
    #[arg(short = 'c', long, value_name = "N", default_value_t = 1)]
    pub(super) check: u32,
    /// What buffers hold
    #[arg(short = 'd', long, value_enum, default_value_t = DataTypeArg::Float)]
    pub(super) datatype: DataTypeArg,
    /// How it is reduced
    #[arg(short = 'o', long, value_enum, default_value_t = OperatorArg::Sum)]
    pub(super) op: OperatorArg,
    /// The root of --collective broadcast
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
    /// Gradient buckets, in the order they are reduced [default: 25MiB,25MiB,4MiB]
    #[arg(long, value_name = "SIZES", value_delimiter = ',', value_parser = units::size)]
    pub(super) buckets: Vec<u64>,
    /// How long a rank computes before it reduces [default: 80ms]
    #[arg(long, value_name = "TIME", value_parser = units::time)]
    pub(super) compute: Option<Duration>,
    /// Up to this much more or less, by chance [default: 0s]
    #[arg(long, value_name = "TIME", value_parser = units::time)]
    pub(super) jitter: Option<Duration>,
}

/// Trouble on purpose.
#[derive(Args)]
#[command(next_help_heading = "Trouble on purpose (each may be given several times)")]
pub(super) struct FaultArgs {
    /// A rank computes longer: rank=2,delay=30ms,iterations=5..9 (from 0, both ends count)
    #[arg(long, value_name = "FAULT", value_parser = fault::straggler)]
    pub(super) straggler: Vec<Fault>,
    /// A rank offers room late: rank=2,delay=5ms
    #[arg(long, value_name = "FAULT", value_parser = fault::late_receiver)]
    pub(super) late_receiver: Vec<Fault>,
    /// Packets are lost: 1%, or edge=1-2,share=1% for those that rank 1 sends to rank 2; also
    /// iterations=5..9
    #[arg(long, value_name = "FAULT", value_parser = fault::packets)]
    pub(super) loss: Vec<PacketFault>,
    /// Packets are overtaken: 1%, or edge=1-2,share=1%,iterations=5..9
    #[arg(long, value_name = "FAULT", value_parser = fault::packets)]
    pub(super) reorder: Vec<PacketFault>,
    /// Packets are marked with CE, as by a congested switch: 1%, or
    /// edge=1-2,share=1%,iterations=5..9
    #[arg(long, value_name = "FAULT", value_parser = fault::packets)]
    pub(super) mark_ce: Vec<PacketFault>,
    /// No RDMA device is found, and ranks fall back to sockets
    #[arg(long)]
    pub(super) socket_fallback: bool,
    /// A rank never comes
    #[arg(long, value_name = "RANK")]
    pub(super) missing_rank: Vec<u32>,
}

/// What is written down.
#[derive(Args)]
#[command(next_help_heading = "What is written down")]
pub(in crate::cli) struct OutputArgs {
    /// Everything into a new folder: truth.jsonl, logs/ and, with --ranks, captures: what railscope
    /// analyze reads
    #[arg(long, value_name = "DIR", conflicts_with_all = ["truth", "log", "capture"])]
    record: Option<PathBuf>,
    /// What truly happened, JSON lines; one rank of a job of many hosts inserts .rankN
    #[arg(long, value_name = "FILE")]
    truth: Option<PathBuf>,
    /// The table as JSON, with the keys of nccl-tests' -J
    #[arg(short = 'J', long, value_name = "FILE")]
    pub(super) json: Option<PathBuf>,
    /// A log per rank, as NCCL_DEBUG=INFO writes it: nccl.HOST.PID.log
    #[arg(long, value_name = "DIR")]
    log: Option<PathBuf>,
    /// A capture per rank's port: rankN.pcap
    #[arg(long, value_name = "DIR", requires = "ranks")]
    capture: Option<PathBuf>,
    /// Bytes of each captured frame
    #[arg(long, value_name = "BYTES", default_value_t = 65_535,
          value_parser = clap::value_parser!(u32).range(64..=262_144))]
    pub(super) snaplen: u32,
}

impl OutputArgs {
    /// Where the truth goes.
    pub(in crate::cli) fn truth(&self) -> Option<PathBuf> {
        self.truth.clone().or_else(|| Some(self.record.as_ref()?.join("truth.jsonl")))
    }

    /// Two jobs in one folder would be taken for one.
    pub(in crate::cli) fn check_record(&self) -> anyhow::Result<()> {
        let Some(folder) = &self.record else { return Ok(()) };
        let taken = folder.join("truth.jsonl");
        let name = folder.display();
        anyhow::ensure!(
            !taken.exists(),
            "--record {name}: it holds a job already; name a new folder"
        );
        Ok(())
    }

    /// The folder of logs.
    pub(in crate::cli) fn log(&self) -> Option<PathBuf> {
        self.log.clone().or_else(|| Some(self.record.as_ref()?.join("logs")))
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
    /// RoCEv2 in user space: NET/IB without RDMA hardware
    Soft,
    /// An RDMA device of this machine: NET/IB
    Verbs,
    /// TCP: NET/Socket
    Socket,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum PlaceArg {
    /// A network namespace per rank; needs root
    Netns,
    /// The same inside a user namespace
    Userns,
    /// A loopback address per rank
    Loopback,
    /// This machine's network, one address for all
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
