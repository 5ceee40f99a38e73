//! Results as one JSON document, `railscope.drive/1`. The keys that nccl-tests writes with `-J` have
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

/// The document.
#[derive(Clone, Debug, Serialize)]
pub struct Document {
    /// `railscope.drive/1`
    pub schema: &'static str,
    /// `done`, `interrupted` or `failed`.
    pub ended: &'static str,
    /// Why it failed.
    pub errors: Vec<String>,
    /// The job.
    pub job: JobFacts,
    /// nccl-tests' parameters and devices.
    pub config: Config,
    /// The table.
    pub results: Vec<Row>,
    /// Training steps; `None` in a sweep.
    pub training: Option<IterationSummary>,
    /// Elements that were wrong.
    pub out_of_bounds: OutOfBounds,
    /// Over all rows and placements.
    pub average_bus_bandwidth: AverageBusBandwidth,
}

/// What was run.
#[derive(Clone, Debug, Serialize)]
pub struct JobFacts {
    /// `all_reduce`
    pub collective: &'static str,
    /// How many.
    pub ranks: u32,
    /// Rings.
    pub channels: u32,
    /// `soft`, `verbs` or `socket`.
    pub transport: &'static str,
    /// Whose formats: `2.27.7`.
    pub nccl_version: String,
    /// Largest payload of a packet, bytes; `None` where the transport has none.
    pub mtu: Option<u16>,
    /// Of what is left to chance.
    pub seed: u64,
    /// Trouble on purpose, as the truth file names it.
    pub faults: Vec<&'static str>,
}

/// nccl-tests' parameters.
#[derive(Clone, Debug, Serialize)]
pub struct Config {
    /// Smallest size.
    pub minimum_bytes: u64,
    /// Largest size.
    pub maximum_bytes: u64,
    /// From one size to the next.
    #[serde(rename = "step_factor", skip_serializing_if = "Option::is_none")]
    pub increment_factor: Option<u64>,
    /// See `increment_factor`.
    #[serde(rename = "step_bytes", skip_serializing_if = "Option::is_none")]
    pub increment_bytes: Option<u64>,
    /// Not counted.
    pub warmup_iters: u32,
    /// Counted.
    pub iterations: u32,
    /// 1: results were compared.
    pub validation: u8,
    /// A line per rank.
    pub devices: Vec<Device>,
}

/// A rank, as nccl-tests lists devices.
#[derive(Clone, Debug, Serialize)]
pub struct Device {
    /// From 0.
    pub rank: u32,
    /// Its process.
    pub pid: u32,
    /// Its host.
    pub hostname: String,
    /// What it says its GPU is.
    pub device_hex: String,
    /// The adapter; the interface where there is none.
    pub device_info: String,
    /// Where its data comes from.
    pub address: String,
}

/// Elements that were wrong.
#[derive(Clone, Debug, Serialize)]
pub struct OutOfBounds {
    /// How many; `None`: not compared.
    pub count: Option<u64>,
    /// Whether none is known.
    pub okay: bool,
}

/// Over all rows and placements.
#[derive(Clone, Debug, Serialize)]
pub struct AverageBusBandwidth {
    /// GB/s
    pub bandwidth: f64,
}

impl Document {
    /// The state of a table.
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

/// Writes it, for people to read, too.
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
        Fault::LateReceiver { .. } => "late_receiver",
        Fault::Loss(_) => "loss",
        Fault::Reorder(_) => "reorder",
        Fault::MarkCe(_) => "mark_ce",
        Fault::SocketFallback => "socket_fallback",
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
