//! What ranks measured, added up: a row per size of a sweep or bucket of a training job.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;

use crate::collective::Kind;
use crate::job::{Shape, Workload};
use crate::report::{IterationTime, Measure, Placement};

/// A line of the table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// Bytes as nccl-tests counts them: the larger of a rank's two buffers.
    pub size: u64,
    /// Elements that the call names: per rank for AllGather and ReduceScatter.
    pub count: u64,
    /// `float`
    #[serde(rename = "type")]
    pub data_type: &'static str,
    /// `sum`, or `none`.
    pub redop: &'static str,
    /// The root of a Broadcast, else -1.
    pub root: i64,
    /// From one buffer to another; `None` in a training job.
    pub out_of_place: Option<Cell>,
    /// Within one buffer.
    pub in_place: Option<Cell>,
}

/// Half a line.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Cell {
    /// Microseconds of one collective, mean over iterations and ranks.
    pub time: f64,
    /// Bytes over time, GB/s (10^9).
    pub alg_bw: f64,
    /// What a ring edge carries, GB/s.
    pub bus_bw: f64,
    /// Elements that were wrong, all ranks; `None`: not compared.
    pub nwrong: Option<u64>,
    /// Collectives in it, of each rank.
    pub collectives: u32,
}

/// The training steps of a job in figures.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct IterationSummary {
    /// Training steps that all ranks ended.
    pub iterations: u32,
    /// Microseconds, mean over them of the slowest rank's.
    pub mean_time: f64,
    /// Microseconds of the longest one.
    pub max_time: f64,
    /// Which one it was, from 0.
    pub max_iteration: u32,
    /// The rank that computed longest in it.
    pub max_compute_rank: u32,
    /// And how long, microseconds.
    pub max_compute: f64,
    /// Microseconds of computation, mean over training steps and ranks.
    pub mean_compute: f64,
}

/// What is known so far.
#[derive(Clone, Debug)]
pub struct Results {
    workload: Workload,
    ranks: u32,
    /// Whether ranks compare results, after they have measured.
    check: bool,
    /// By row and placement, then rank.
    sums: BTreeMap<(usize, Placement), BTreeMap<u32, Sum>>,
    /// By iteration, then rank.
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
    /// Nothing yet.
    #[must_use]
    pub fn new(workload: Workload, ranks: u32, check: bool) -> Self {
        Self { workload, ranks, check, sums: BTreeMap::new(), iterations: BTreeMap::new() }
    }

    /// A rank measured something.
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

    /// A rank ended a training step.
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

    /// How many rows there will be.
    #[must_use]
    pub fn len(&self) -> usize {
        self.sizes().len()
    }

    /// Whether there will be none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A row as far as it is known; `None` where it holds nothing yet.
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

    /// A row that needs nothing more: all ranks ended a sweep's size. Rows of a training job grow
    /// until its end.
    #[must_use]
    pub fn complete_row(&self, index: usize) -> Option<Row> {
        let is_sweep = matches!(self.workload.shape, Shape::Sweep { .. });
        let is_complete =
            |cell: Option<Cell>| cell.is_some_and(|cell| cell.nwrong.is_some() || !self.check);
        let row = self.row(index)?;
        (is_sweep && is_complete(row.out_of_place) && is_complete(row.in_place)).then_some(row)
    }

    /// Half a row, once all ranks have told of it.
    fn cell(&self, row: usize, size: u64, placement: Placement) -> Option<Cell> {
        let ranks = self.sums.get(&(row, placement))?;
        let told = ranks.values().filter(|sum| sum.collectives > 0).count();
        if told < usize::try_from(self.ranks).ok()? {
            return None;
        }
        let means =
            ranks.values().map(|sum| sum.time.as_secs_f64() / f64::from(sum.collectives.max(1)));
        let seconds = means.sum::<f64>() / f64::from(self.ranks);
        // A clock that did not move between two looks gives no bandwidth.
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

    /// Elements that were wrong in all rows; `None`: nothing was compared.
    #[must_use]
    pub fn wrong(&self) -> Option<u64> {
        let all = self.sums.values().flat_map(BTreeMap::values).filter_map(|sum| sum.wrong);
        all.reduce(u64::saturating_add)
    }

    /// Mean bus bandwidth of all cells, GB/s, as nccl-tests' last line has it.
    #[must_use]
    pub fn mean_bus_bandwidth(&self) -> f64 {
        let rows = (0..self.len()).filter_map(|index| self.row(index));
        let cells = rows.flat_map(|row| [row.out_of_place, row.in_place]).flatten();
        let (sum, count) =
            cells.fold((0.0, 0_u32), |(sum, count), cell| (sum + cell.bus_bw, count + 1));
        sum / f64::from(count.max(1))
    }

    /// Training steps that all ranks ended.
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

/// What a ring edge carries of each byte (nccl-tests, `doc/PERFORMANCE.md`).
fn bus_factor(kind: Kind, ranks: u32) -> f64 {
    let ranks = f64::from(ranks);
    match kind {
        Kind::AllReduce => 2.0 * (ranks - 1.0) / ranks,
        Kind::AllGather | Kind::ReduceScatter => (ranks - 1.0) / ranks,
        Kind::Broadcast => 1.0,
    }
}
