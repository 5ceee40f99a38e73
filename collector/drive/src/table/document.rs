//! Results as one JSON document, `railscope.drive/1`. Keys that nccl-tests writes with `-J` have
//! its names and meanings (`src/util.cu`, release 2.19.6).

use std::io::{self, Write};

use serde::Serialize;

use super::results::{IterationSummary, Row};
use super::text::{Table, increment};
use crate::collective::Kind;
use crate::fault::Fault;
use crate::job::{Job, Shape, Transport};
use crate::launch::Outcome;
use crate::truth;

/// Name and version of the format; keys may be added, none renamed.
const SCHEMA: &str = "railscope.drive/1";

/// The JSON document of `railscope drive --format json`.
#[derive(Clone, Debug, Serialize)]
pub struct Document {
    /// `railscope.drive/1`
    pub schema: &'static str,
    /// `done`, `interrupted` or `failed`.
    pub ended: &'static str,
    /// Why it failed.
    pub errors: Vec<String>,
    /// What was run.
    pub job: JobFacts,
    /// nccl-tests' parameters and devices.
    pub config: Config,
    /// The table.
    pub results: Vec<Row>,
    /// Training steps; `None` for a sweep.
    pub training: Option<IterationSummary>,
    /// Wrong elements.
    pub out_of_bounds: OutOfBounds,
    /// Mean over all rows and placements.
    pub average_bus_bandwidth: AverageBusBandwidth,
}

/// What was run.
#[derive(Clone, Debug, Serialize)]
pub struct JobFacts {
    /// `all_reduce`
    pub collective: &'static str,
    /// Number of ranks.
    pub ranks: u32,
    /// Number of rings.
    pub channels: u32,
    /// `soft`, `verbs` or `socket`.
    pub transport: &'static str,
    /// The release whose wire format was used: `2.27.7`.
    pub nccl_version: String,
    /// Largest payload of a packet in bytes, if the transport has one.
    pub mtu: Option<u16>,
    /// Seed of random choices.
    pub seed: u64,
    /// Injected faults, named as in the truth file.
    pub faults: Vec<&'static str>,
}

/// nccl-tests' parameters.
#[derive(Clone, Debug, Serialize)]
pub struct Config {
    /// Smallest size.
    pub minimum_bytes: u64,
    /// Largest size.
    pub maximum_bytes: u64,
    /// How one size leads to the next.
    #[serde(rename = "step_factor", skip_serializing_if = "Option::is_none")]
    pub increment_factor: Option<u64>,
    /// See `increment_factor`.
    #[serde(rename = "step_bytes", skip_serializing_if = "Option::is_none")]
    pub increment_bytes: Option<u64>,
    /// Repetitions that are not measured.
    pub warmup_iters: u32,
    /// Repetitions that are measured.
    pub iterations: u32,
    /// 1 if results were checked.
    pub validation: u8,
    /// One entry per rank.
    pub devices: Vec<Device>,
}

/// A rank, as nccl-tests lists devices.
#[derive(Clone, Debug, Serialize)]
pub struct Device {
    /// Rank number, from 0.
    pub rank: u32,
    /// Its process.
    pub pid: u32,
    /// Its host.
    pub hostname: String,
    /// Its reported GPU.
    pub device_hex: String,
    /// The adapter, or the interface if there is none.
    pub device_info: String,
    /// Address it sends from.
    pub address: String,
}

/// Wrong elements.
#[derive(Clone, Debug, Serialize)]
pub struct OutOfBounds {
    /// Number of wrong elements; `None` if not checked.
    pub count: Option<u64>,
    /// Whether there are none.
    pub okay: bool,
}

/// Mean over all rows and placements.
#[derive(Clone, Debug, Serialize)]
pub struct AverageBusBandwidth {
    /// GB/s
    pub bandwidth: f64,
}

impl Document {
    /// The document for a table's current state.
    #[must_use]
    pub fn new(job: &Job, ranks: u32, table: &Table, outcome: &Outcome) -> Self {
        let results = table.results();
        let (ended, errors) = match outcome {
            Outcome::Done => ("done", Vec::new()),
            Outcome::Interrupted => ("interrupted", Vec::new()),
            Outcome::Failed(reason) => ("failed", vec![reason.clone()]),
        };
        let wrong = results.wrong();
        Self {
            schema: SCHEMA,
            ended,
            errors,
            job: job_facts(job, ranks),
            config: config(job, table),
            results: (0..results.len()).filter_map(|index| results.row(index)).collect(),
            training: results.iteration_summary(),
            out_of_bounds: OutOfBounds { count: wrong, okay: wrong.unwrap_or(0) == 0 },
            average_bus_bandwidth: AverageBusBandwidth { bandwidth: results.mean_bus_bandwidth() },
        }
    }
}

/// Writes it in readable form.
///
/// # Errors
/// `out` fails.
pub fn write_document(document: &Document, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, document)?;
    out.write_all(b"\n")?;
    out.flush()
}

fn job_facts(job: &Job, ranks: u32) -> JobFacts {
    JobFacts {
        collective: match job.workload.kind {
            Kind::AllReduce => "all_reduce",
            Kind::AllGather => "all_gather",
            Kind::ReduceScatter => "reduce_scatter",
            Kind::Broadcast => "broadcast",
        },
        ranks,
        channels: job.channels,
        transport: match job.transport {
            Transport::Verbs => "verbs",
            Transport::Soft => "soft",
            Transport::Socket => "socket",
        },
        nccl_version: job.release.to_string(),
        mtu: (job.transport == Transport::Soft).then_some(job.ib.mtu),
        seed: job.seed,
        faults: job.faults.iter().map(fault_name).collect(),
    }
}

fn fault_name(fault: &Fault) -> &'static str {
    match fault {
        Fault::Straggler { .. } => "straggler",
        Fault::LateGpu { .. } => "late_gpu",
        Fault::LateReceiver { .. } => "late_receiver",
        Fault::Loss(_) => "loss",
        Fault::Reorder(_) => "reorder",
        Fault::MarkCe(_) => "mark_ce",
        Fault::Pause(_) => "pause",
        Fault::SocketFallback => "socket_fallback",
        Fault::SlowSocket(_) => "slow_socket",
        Fault::PathMtu { .. } => "path_mtu",
        Fault::MissingRank { .. } => "missing_rank",
    }
}

fn config(job: &Job, table: &Table) -> Config {
    let (sizes, &warmup_iters, &iterations) = match &job.workload.shape {
        Shape::Sweep { sizes, warmup, iterations } => (sizes, warmup, iterations),
        Shape::Training { buckets, warmup, iterations, .. } => (buckets, warmup, iterations),
    };
    let (by, unit) = increment(sizes);
    Config {
        minimum_bytes: sizes.iter().min().copied().unwrap_or(0),
        maximum_bytes: sizes.iter().max().copied().unwrap_or(0),
        increment_factor: (unit == "factor").then_some(by),
        increment_bytes: (unit == "bytes").then_some(by),
        warmup_iters,
        iterations,
        validation: u8::from(job.check),
        devices: table.devices().values().map(device).collect(),
    }
}

fn device(rank: &truth::Rank) -> Device {
    let adapter = if rank.device.is_empty() { &rank.interface } else { &rank.device };
    Device {
        rank: rank.rank,
        pid: rank.pid,
        hostname: rank.host.clone(),
        device_hex: rank.bus_id.clone(),
        device_info: adapter.clone(),
        address: rank.data_address.to_string(),
    }
}
