//! Sums of what ranks measured: a row per size of a sweep or bucket of a training job.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;

use crate::collective::Kind;
use crate::job::{Shape, Workload};
use crate::report::{IterationTime, Measure, Placement};

/// A row of the table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// Bytes as nccl-tests counts them: the larger of a rank's two buffers.
    pub size: u64,
    /// Elements passed to the call: per rank for AllGather and ReduceScatter.
    pub count: u64,
    /// `float`
    #[serde(rename = "type")]
    pub data_type: &'static str,
    /// `sum`, or `none`.
    pub redop: &'static str,
    /// The root of a Broadcast, otherwise -1.
    pub root: i64,
    /// Out of place; `None` in a training job.
    pub out_of_place: Option<Cell>,
    /// In place; `None` in a training job.
    pub in_place: Option<Cell>,
}

/// Half a row.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Cell {
    /// Microseconds per collective, mean over iterations and ranks.
    pub time: f64,
    /// Bytes per time, GB/s (10^9).
    pub alg_bw: f64,
    /// Rate on a ring edge, GB/s.
    pub bus_bw: f64,
    /// Wrong elements of all ranks; `None` if not checked.
    pub nwrong: Option<u64>,
    /// Collectives per rank.
    pub collectives: u32,
}

/// Figures over a job's training steps.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct IterationSummary {
    /// Training steps completed by all ranks.
    pub iterations: u32,
    /// Mean duration of the slowest rank's step, in microseconds.
    pub mean_time: f64,
    /// Longest duration, in microseconds.
    pub max_time: f64,
    /// Number of the longest training step, from 0.
    pub max_iteration: u32,
    /// The rank that computed longest in it.
    pub max_compute_rank: u32,
    /// Its compute time, in microseconds.
    pub max_compute: f64,
    /// Mean compute time over training steps and ranks, in microseconds.
    pub mean_compute: f64,
}

/// Results so far.
#[derive(Clone, Debug)]
pub struct Results {
    workload: Workload,
    ranks: u32,
    /// Whether ranks check results after measuring.
    check: bool,
    /// By row and placement, then by rank.
    sums: BTreeMap<(usize, Placement), BTreeMap<u32, Sum>>,
    /// By iteration, then by rank.
    iterations: BTreeMap<u32, BTreeMap<u32, IterationTime>>,
}

/// One rank's part of a cell.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    collectives: u32,
    time: Duration,
    wrong: Option<u64>,
}

impl Results {
    /// Without results.
    #[must_use]
    pub fn new(workload: Workload, ranks: u32, check: bool) -> Self {
        Self { workload, ranks, check, sums: BTreeMap::new(), iterations: BTreeMap::new() }
    }

    /// Adds a rank's measurement.
    pub fn measured(&mut self, rank: u32, measure: &Measure) {
        let ranks = self.sums.entry((measure.row, measure.placement)).or_default();
        let sum = ranks.entry(rank).or_default();
        sum.collectives = sum.collectives.saturating_add(measure.collectives);
        sum.time = sum.time.saturating_add(measure.time);
        sum.wrong = match (sum.wrong, measure.wrong) {
            (Some(before), Some(now)) => Some(before.saturating_add(now)),
            (before, now) => before.or(now),
        };
    }

    /// Adds a rank's completed training step.
    pub fn iteration(&mut self, rank: u32, iteration: &IterationTime) {
        self.iterations.entry(iteration.iteration).or_default().insert(rank, *iteration);
    }

    /// Bytes of each row.
    fn sizes(&self) -> &[u64] {
        match &self.workload.shape {
            Shape::Sweep { sizes, .. } => sizes,
            Shape::Training { buckets, .. } => buckets,
        }
    }

    /// Number of rows the table will have.
    #[must_use]
    pub fn len(&self) -> usize {
        self.sizes().len()
    }

    /// Whether the table will have no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The current state of a row; `None` if it is empty.
    #[must_use]
    pub fn row(&self, index: usize) -> Option<Row> {
        let size = *self.sizes().get(index)?;
        let out_of_place = self.cell(index, size, Placement::OutOfPlace);
        let in_place = self.cell(index, size, Placement::InPlace);
        if out_of_place.is_none() && in_place.is_none() {
            return None;
        }
        let workload = &self.workload;
        let element = u64::try_from(workload.data_type.bytes()).unwrap_or(1);
        let (parts, redop, root) = match workload.kind {
            Kind::AllReduce => (1, workload.operator.name(), -1),
            Kind::ReduceScatter => (u64::from(self.ranks), workload.operator.name(), -1),
            Kind::AllGather => (u64::from(self.ranks), "none", -1),
            Kind::Broadcast => (1, "none", i64::from(workload.root)),
        };
        Some(Row {
            size,
            count: size / element / parts.max(1),
            data_type: workload.data_type.name(),
            redop,
            root,
            out_of_place,
            in_place,
        })
    }

    /// A complete row: all ranks have finished this size of a sweep. Rows of a training job grow
    /// until its end.
    #[must_use]
    pub fn complete_row(&self, index: usize) -> Option<Row> {
        let is_sweep = matches!(self.workload.shape, Shape::Sweep { .. });
        let is_complete =
            |cell: Option<Cell>| cell.is_some_and(|cell| cell.nwrong.is_some() || !self.check);
        let row = self.row(index)?;
        (is_sweep && is_complete(row.out_of_place) && is_complete(row.in_place)).then_some(row)
    }

    /// Half a row, once all ranks have reported it.
    fn cell(&self, row: usize, size: u64, placement: Placement) -> Option<Cell> {
        let ranks = self.sums.get(&(row, placement))?;
        let reported = ranks.values().filter(|sum| sum.collectives > 0).count();
        if reported < usize::try_from(self.ranks).ok()? {
            return None;
        }
        let means =
            ranks.values().map(|sum| sum.time.as_secs_f64() / f64::from(sum.collectives.max(1)));
        let seconds = means.sum::<f64>() / f64::from(self.ranks);
        // A clock that did not advance gives no bandwidth.
        let alg_bw = if seconds > 0.0 { size as f64 / 1e9 / seconds } else { 0.0 };
        let wrong = ranks.values().map(|sum| sum.wrong);
        Some(Cell {
            time: seconds * 1e6,
            alg_bw,
            bus_bw: alg_bw * bus_factor(self.workload.kind, self.ranks),
            nwrong: wrong.reduce(|all, one| Some(all?.saturating_add(one?))).flatten(),
            collectives: ranks.values().map(|sum| sum.collectives).min().unwrap_or(0),
        })
    }

    /// Wrong elements in all rows; `None` if nothing was checked.
    #[must_use]
    pub fn wrong(&self) -> Option<u64> {
        let all = self.sums.values().flat_map(BTreeMap::values).filter_map(|sum| sum.wrong);
        all.reduce(u64::saturating_add)
    }

    /// Mean bus bandwidth of all cells in GB/s, as in nccl-tests' last line.
    #[must_use]
    pub fn mean_bus_bandwidth(&self) -> f64 {
        let rows = (0..self.len()).filter_map(|index| self.row(index));
        let cells = rows.flat_map(|row| [row.out_of_place, row.in_place]).flatten();
        let (sum, count) =
            cells.fold((0.0, 0_u32), |(sum, count), cell| (sum + cell.bus_bw, count + 1));
        sum / f64::from(count.max(1))
    }

    /// Figures over the training steps completed by all ranks.
    #[must_use]
    pub fn iteration_summary(&self) -> Option<IterationSummary> {
        let ranks = usize::try_from(self.ranks).ok()?;
        let all = self.iterations.iter().filter(|(_, of_ranks)| of_ranks.len() == ranks);
        let slowest = |of_ranks: &BTreeMap<u32, IterationTime>| {
            of_ranks.values().map(|time| time.total).max().unwrap_or_default()
        };
        let count = u32::try_from(all.clone().count()).ok()?;
        let (&max_iteration, longest) =
            all.clone().max_by_key(|(_, of_ranks)| slowest(of_ranks))?;
        let (&max_compute_rank, by) = longest.iter().max_by_key(|(_, time)| time.compute)?;
        let total: Duration = all.clone().map(|(_, of_ranks)| slowest(of_ranks)).sum();
        let compute: Duration =
            all.flat_map(|(_, of_ranks)| of_ranks.values()).map(|time| time.compute).sum();
        Some(IterationSummary {
            iterations: count,
            mean_time: micros(total) / f64::from(count),
            max_time: micros(slowest(longest)),
            max_iteration,
            max_compute_rank,
            max_compute: micros(by.compute),
            mean_compute: micros(compute) / f64::from(count) / f64::from(self.ranks),
        })
    }
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

/// Traffic on a ring edge per byte of the buffer (nccl-tests, `doc/PERFORMANCE.md`).
fn bus_factor(kind: Kind, ranks: u32) -> f64 {
    let ranks = f64::from(ranks);
    match kind {
        Kind::AllReduce => 2.0 * (ranks - 1.0) / ranks,
        Kind::AllGather | Kind::ReduceScatter => (ranks - 1.0) / ranks,
        Kind::Broadcast => 1.0,
    }
}
