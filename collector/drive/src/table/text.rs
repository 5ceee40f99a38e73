//! The table, in the format of nccl-tests (`src/util.cu`, release 2.19.6): a header in comments, a
//! line per size, a footer.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::number::{fitted, general};
use super::results::{Cell, IterationSummary, Results, Row};
use crate::collective::Kind;
use crate::job::{Job, Shape};
use crate::launch::Outcome;
use crate::truth;

/// What the header says about a job.
#[derive(Clone, Debug)]
pub struct Facts {
    /// railscope's version.
    pub version: String,
    /// The kind of place, see [`Places::describe`](crate::place::Places::describe).
    pub place: Vec<String>,
}

/// A table in progress: text is available as results arrive.
#[derive(Debug)]
pub struct Table {
    job: Job,
    ranks: u32,
    results: Results,
    devices: BTreeMap<u32, truth::Rank>,
    shown_header: bool,
    shown_rows: usize,
    out: String,
}

impl Table {
    /// Starts with what is known before ranks have met.
    #[must_use]
    pub fn new(job: &Job, ranks: u32, facts: &Facts) -> Self {
        let mut out = format!(
            "# railscope drive version {} speaks NCCL {}\n# Collective test starting: {}\n",
            facts.version,
            job.release,
            name(job.workload.kind)
        );
        out += &parameters(job);
        for line in &facts.place {
            // Writing to a String cannot fail.
            let _ = writeln!(out, "# Place: {line}");
        }
        out += "#\n";
        Self {
            job: job.clone(),
            ranks,
            results: Results::new(job.workload.clone(), ranks, job.check),
            devices: BTreeMap::new(),
            shown_header: false,
            shown_rows: 0,
            out,
        }
    }

    /// Text added since the last call.
    #[must_use]
    pub fn take_text(&mut self) -> String {
        std::mem::take(&mut self.out)
    }

    /// The ranks' own descriptions, by rank.
    #[must_use]
    pub fn devices(&self) -> &BTreeMap<u32, truth::Rank> {
        &self.devices
    }

    /// Results so far.
    #[must_use]
    pub fn results(&self) -> &Results {
        &self.results
    }

    /// The results, to add to; [`Table::update`] shows rows that became complete.
    pub fn results_mut(&mut self) -> &mut Results {
        &mut self.results
    }

    /// Adds a rank's own description. The header is complete once all have arrived.
    pub fn introduce(&mut self, rank: truth::Rank) {
        self.devices.insert(rank.rank, rank);
        if u32::try_from(self.devices.len()) == Ok(self.ranks) {
            self.show_header();
        }
    }

    /// Shows rows that have become complete.
    pub fn update(&mut self) {
        while let Some(row) = self.results.complete_row(self.shown_rows) {
            self.show_header();
            self.show_row(&row);
        }
    }

    /// Shows the rest. A failed job has no sums, as in nccl-tests.
    pub fn end(&mut self, outcome: &Outcome) {
        let rows = (self.shown_rows..self.results.len()).filter_map(|row| self.results.row(row));
        for row in rows.collect::<Vec<_>>() {
            self.show_header();
            self.show_row(&row);
        }
        if let Some(summary) = self.results.iteration_summary() {
            self.out += &iterations(&summary);
        }
        match outcome {
            Outcome::Failed(_) => return,
            Outcome::Interrupted => self.out += "# Interrupted, and not complete\n",
            Outcome::Done => {}
        }
        self.show_header();
        self.out += &footer(&self.results);
        // Writing to a String cannot fail.
        let name = name(self.job.workload.kind);
        let _ = writeln!(self.out, "#\n# Collective test concluded: {name}\n#");
    }

    fn show_header(&mut self) {
        if !std::mem::replace(&mut self.shown_header, true) {
            self.out += "# Using devices\n";
            for (rank, line) in &self.devices {
                let before =
                    self.devices.range(..rank).filter(|(_, other)| other.host == line.host);
                self.out += &device(line, before.count());
            }
            self.out += TITLES;
        }
    }

    fn show_row(&mut self, row: &Row) {
        let _ = writeln!(
            self.out,
            "{:>12}  {:>12}  {:>8}  {:>6}  {:>6}{}{}",
            row.size,
            row.count,
            row.data_type,
            row.redop,
            row.root,
            cell(row.out_of_place),
            cell(row.in_place)
        );
        self.shown_rows += 1;
    }
}

/// nccl-tests' `writeResultHeader`.
const TITLES: &str = concat!(
    "#\n",
    "#                                                              ",
    "out-of-place                       in-place          \n",
    "#       size         count      type   redop    root     time   algbw   busbw  #wrong",
    "     time   algbw   busbw  #wrong \n",
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)        ",
    "     (us)  (GB/s)  (GB/s)         \n",
);

/// nccl-tests' program name.
fn name(kind: Kind) -> &'static str {
    match kind {
        Kind::AllReduce => "all_reduce_perf",
        Kind::AllGather => "all_gather_perf",
        Kind::ReduceScatter => "reduce_scatter_perf",
        Kind::Broadcast => "broadcast_perf",
    }
}

fn parameters(job: &Job) -> String {
    let (sizes, warmup, iterations) = match &job.workload.shape {
        Shape::Sweep { sizes, warmup, iterations } => (sizes, warmup, iterations),
        Shape::Training { buckets, warmup, iterations, .. } => (buckets, warmup, iterations),
    };
    let (increment, unit) = increment(sizes);
    format!(
        "# nThread 1 nGpus 1 minBytes {} maxBytes {} step: {increment}({unit}) warmup iters: {warmup} \
         iters: {iterations} agg iters: 1 validation: {} graph: 0 unalign: 0\n",
        sizes.iter().min().unwrap_or(&0),
        sizes.iter().max().unwrap_or(&0),
        u8::from(job.check),
    )
}

/// How one size leads to the next.
pub(super) fn increment(sizes: &[u64]) -> (u64, &'static str) {
    match sizes {
        [first, second, ..] if *first > 0 && second % first == 0 && second > first => {
            (second / first, "factor")
        }
        [first, second, ..] => (second.abs_diff(*first), "bytes"),
        _ => (0, "bytes"),
    }
}

fn device(rank: &truth::Rank, local: usize) -> String {
    // nccl-tests writes the bus id without the function.
    let bus = rank.bus_id.split('.').next().unwrap_or_default();
    let adapter = if rank.device.is_empty() { &rank.interface } else { &rank.device };
    format!(
        "#  Rank {:2} Group  0 Pid {:6} on {:>10} device {local:2} [{bus}] no GPU, {adapter} {}\n",
        rank.rank, rank.pid, rank.host, rank.data_address,
    )
}

/// Half a row; as in nccl-tests for tests without that half, if it was not run.
fn cell(cell: Option<Cell>) -> String {
    let wrong = cell.and_then(|cell| cell.nwrong).map_or("N/A".to_owned(), |n| general(n as f64));
    let (time, alg_bw, bus_bw) =
        cell.map_or((0.0, 0.0, 0.0), |cell| (cell.time, cell.alg_bw, cell.bus_bw));
    format!(
        "  {:>7}  {:>6}  {:>6}  {wrong:>6}",
        fitted(time, 7),
        fitted(alg_bw, 6),
        fitted(bus_bw, 6)
    )
}

fn iterations(summary: &IterationSummary) -> String {
    format!(
        "# {:<20} : {}, mean {:.2} ms of which {:.2} ms computing\n\
         # {:<20} : {:.2} ms, iteration {}; most computing in it: {:.2} ms, rank {}\n",
        "Training steps",
        summary.iterations,
        summary.mean_time / 1e3,
        summary.mean_compute / 1e3,
        "Longest",
        summary.max_time / 1e3,
        summary.max_iteration,
        summary.max_compute / 1e3,
        summary.max_compute_rank,
    )
}

fn footer(results: &Results) -> String {
    let wrong = results.wrong().unwrap_or(0);
    format!(
        "# {:<20} : {wrong} {}\n# {:<20} : {} \n",
        "Out of bounds values",
        if wrong == 0 { "OK" } else { "FAILED" },
        "Avg bus bandwidth",
        general(results.mean_bus_bandwidth()),
    )
}
