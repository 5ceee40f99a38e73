//! Results of nccl-tests, and of NCCL Inspector.

use schemars::JsonSchema;
use serde::Serialize;

use super::sources::Sources;
use crate::analysis::line_rate;
use crate::decode::tool::Output;
use crate::model::benchmark::{Figures, Row};

/// A table of nccl-tests.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct BenchmarkReport {
    /// Its file.
    pub file: Option<String>,
    /// What ran, as the program is called: `all_reduce`; `null` if neither the text nor the figures
    /// say.
    pub operation: Option<String>,
    /// Release of nccl-tests.
    pub version: Option<String>,
    /// Ranks, as listed or as the figures imply.
    pub ranks: Option<u32>,
    /// Hosts, if ranks were listed.
    pub hosts: Option<u32>,
    /// Bits per second that the ports of a node carry, where that bounds the bus bandwidth; `null` if
    /// the ports are not known, or if one host or one NIC bounds it.
    pub line_rate_bps: Option<u64>,
    /// Sizes in the order of the table.
    pub rows: Vec<RowReport>,
    /// The size with the highest bus bandwidth, by the better of both ways.
    pub peak: Option<PointReport>,
    /// The smallest size that is not empty, likewise.
    pub smallest: Option<PointReport>,
    /// The largest size.
    pub largest_bytes: Option<u64>,
    /// Wrong values over all sizes; `null` if none was checked.
    pub wrong: Option<u64>,
    /// Average bus bandwidth as printed, bytes per second.
    pub average_busbw_bytes_per_s: Option<u64>,
}

/// What one size reached.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PointReport {
    /// Bytes of the buffer.
    pub bytes: u64,
    /// What was measured.
    pub figures: FiguresReport,
}

/// One size.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RowReport {
    /// Bytes of the buffer.
    pub bytes: u64,
    /// With two buffers.
    pub out_of_place: Option<FiguresReport>,
    /// With one.
    pub in_place: Option<FiguresReport>,
}

/// What was measured.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct FiguresReport {
    /// Time of one call.
    pub time_ns: u64,
    /// Algorithm bandwidth, bytes per second.
    pub algbw_bytes_per_s: u64,
    /// Bus bandwidth, bytes per second.
    pub busbw_bytes_per_s: u64,
    /// Wrong values; `null` if they were not checked.
    pub wrong: Option<u64>,
}

/// A collective that NCCL Inspector measured.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct InspectorReport {
    /// Its file.
    pub file: Option<String>,
    /// Hash of the communicator, as printed.
    pub communicator: String,
    /// The rank that measured.
    pub rank: u32,
    /// Ranks of the communicator.
    pub nranks: u32,
    /// The rank's host.
    pub host: Option<String>,
    /// `AllReduce`.
    pub operation: String,
    /// Its number on the communicator.
    pub sequence: u64,
    /// Bytes, as Inspector counts them.
    pub bytes: u64,
    /// How long it took.
    pub time_ns: u64,
    /// Bus bandwidth, bytes per second.
    pub busbw_bytes_per_s: u64,
    /// Whether the time is the GPU's; `null` in records that do not say.
    pub is_timed_on_gpu: Option<bool>,
}

/// The tables in order.
pub(super) fn section(sources: &Sources<'_>) -> Vec<BenchmarkReport> {
    let tables = sources.state.benchmarks().map(|(found, table)| BenchmarkReport {
        file: sources.log_name(found.log),
        operation: table.operation.clone(),
        version: table.version.clone(),
        ranks: table.nranks,
        hosts: table.hosts,
        line_rate_bps: line_rate::bound(&sources.state.nodes, table),
        rows: table.rows.iter().map(of_row).collect(),
        peak: table.peak().and_then(point),
        smallest: table.smallest().and_then(point),
        largest_bytes: table.rows.iter().map(|row| row.bytes).max(),
        wrong: table.wrong(),
        average_busbw_bytes_per_s: table.average_bus_bandwidth,
    });
    tables.collect()
}

/// The records in order.
pub(super) fn inspector(sources: &Sources<'_>) -> Vec<InspectorReport> {
    let records = sources.state.outputs.iter().filter_map(|found| {
        let Output::Inspector(record) = &found.output else { return None };
        Some(InspectorReport {
            file: sources.log_name(found.log),
            communicator: record.communicator.clone(),
            rank: record.rank,
            nranks: record.nranks,
            host: record.host.clone(),
            operation: record.operation.clone(),
            sequence: record.sequence,
            bytes: record.bytes,
            time_ns: record.time_ns,
            busbw_bytes_per_s: record.bus_bandwidth,
            is_timed_on_gpu: record.is_timed_on_gpu,
        })
    });
    records.collect()
}

fn point(row: &Row) -> Option<PointReport> {
    row.best().map(|best| PointReport { bytes: row.bytes, figures: of_figures(best) })
}

fn of_row(row: &Row) -> RowReport {
    RowReport {
        bytes: row.bytes,
        out_of_place: row.out_of_place.map(of_figures),
        in_place: row.in_place.map(of_figures),
    }
}

const fn of_figures(figures: Figures) -> FiguresReport {
    FiguresReport {
        time_ns: figures.time_ns,
        algbw_bytes_per_s: figures.algorithm_bandwidth,
        busbw_bytes_per_s: figures.bus_bandwidth,
        wrong: figures.wrong,
    }
}
