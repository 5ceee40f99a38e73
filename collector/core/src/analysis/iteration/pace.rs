//! How long the training steps of a job usually take, and which of them stand out.

use std::collections::BTreeMap;

use super::Iteration;
use super::thresholds::{DEVIATIONS, FEWEST_FOR_MEDIAN, PARTS_OF_MEDIAN};
use crate::analysis::collective::Collective;
use crate::link::job::CommunicatorId;
use crate::model::spread::{lower_median, median_deviation};

/// How a training step compares with the others of its job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pace {
    /// The median length of the job's whole training steps; `None` if there are too few.
    pub median_ns: Option<u64>,
    /// How much longer than the median it took, if that stands out.
    pub excess_ns: Option<u64>,
    /// NCCL connects its channels in it, once and slowly.
    pub sets_up: bool,
    /// It took much longer than usual, or ranks waited for another. Never while channels are set
    /// up.
    pub stands_out: bool,
}

/// The usual length of a job's training steps, and the excess from which one stands out.
#[derive(Clone, Copy)]
struct Usual {
    median_ns: u64,
    limit_ns: u64,
}

/// The pace of each of `iterations`. `lags` has the lag of each step's straggler; `collectives` are
/// all, in order of time.
#[must_use]
pub fn compare(
    iterations: &[Iteration],
    lags: &[Option<u64>],
    collectives: &[Collective],
) -> Vec<Pace> {
    let mut jobs: BTreeMap<CommunicatorId, Vec<&Iteration>> = BTreeMap::new();
    for one in iterations {
        jobs.entry(one.communicator).or_default().push(one);
    }
    let begins_with_job = |id: CommunicatorId| {
        let first = collectives.iter().find(|one| one.communicator == id);
        first.is_some_and(|one| one.is_counted_from_init)
    };
    let jobs: BTreeMap<CommunicatorId, (bool, Option<Usual>)> = jobs
        .into_iter()
        .map(|(id, all)| {
            let sets_up = begins_with_job(id);
            (id, (sets_up, usual(&all, sets_up)))
        })
        .collect();
    let lags = lags.iter().copied().chain(std::iter::repeat(None));
    let pace = |(one, lag_ns): (&Iteration, Option<u64>)| {
        let (sets_up_first, usual) = jobs.get(&one.communicator).copied().unwrap_or_default();
        let sets_up = sets_up_first && one.number == 0;
        let excess_ns = usual.filter(|_| !sets_up).and_then(|usual| {
            let excess_ns = one.length_ns().saturating_sub(usual.median_ns);
            (excess_ns > usual.limit_ns).then_some(excess_ns)
        });
        Pace {
            median_ns: usual.map(|usual| usual.median_ns),
            excess_ns,
            sets_up,
            stands_out: !sets_up && (excess_ns.is_some() || lag_ns.is_some()),
        }
    };
    iterations.iter().zip(lags).map(pace).collect()
}

fn usual(all: &[&Iteration], sets_up_first: bool) -> Option<Usual> {
    let is_usual = |one: &&&Iteration| one.is_whole && !(sets_up_first && one.number == 0);
    let lengths: Vec<u64> = all.iter().filter(is_usual).map(|one| one.length_ns()).collect();
    if lengths.len() < FEWEST_FOR_MEDIAN {
        return None;
    }
    let median_ns = lower_median(lengths.iter().copied())?;
    let deviation_ns = median_deviation(lengths.iter().copied())?;
    let limit_ns = (median_ns / PARTS_OF_MEDIAN).max(deviation_ns.saturating_mul(DEVIATIONS));
    Some(Usual { median_ns, limit_ns })
}
