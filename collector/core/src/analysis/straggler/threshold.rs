//! When a rank counts as late: by more than a share of a training step, and by more than is usual
//! in the job.

use std::collections::{BTreeMap, BTreeSet};

use crate::analysis::collective::Collective;
use crate::analysis::iteration::Iteration;
use crate::analysis::wait::CollectiveWaits;
use crate::link::job::CommunicatorId;
use crate::model::spread::lower_median;
use crate::model::time::{Span, Timestamp};

/// A straggler costs at least 1/`PARTS_OF_PERIOD` of the median training step ...
const PARTS_OF_PERIOD: u64 = 20;

/// ... and at least this many median deviations of all ranks' lateness.
const DEVIATIONS: u64 = 5;

/// Smallest lag that counts, by communicator.
#[derive(Clone, Debug, Default)]
pub struct Thresholds(BTreeMap<CommunicatorId, u64>);

impl Thresholds {
    /// Derived from the training steps and from how much the ranks of each communicator usually differ.
    #[must_use]
    pub fn new(
        collectives: &[Collective],
        waits: &[CollectiveWaits],
        iterations: &[Iteration],
    ) -> Self {
        let mut spans: BTreeMap<CommunicatorId, Vec<Span>> = BTreeMap::new();
        let mut lateness: BTreeMap<CommunicatorId, Lateness> = BTreeMap::new();
        for (collective, waits) in collectives.iter().zip(waits) {
            spans.entry(collective.communicator).or_default().push(collective.span);
            let ranks = waits.ranks.iter().filter_map(|rank| Some(rank.lateness?.late_ns));
            lateness.entry(collective.communicator).or_default().add(&ranks.collect::<Vec<_>>());
        }
        // Periods differ between jobs.
        let mut lengths_ns: BTreeMap<CommunicatorId, Vec<u64>> = BTreeMap::new();
        for iteration in iterations {
            let of = iteration.collectives.iter().filter_map(|place| collectives.get(*place));
            let of: BTreeSet<CommunicatorId> = of.map(|one| one.communicator).collect();
            let length_ns = iteration.span.last.nanos_since(iteration.span.first);
            of.into_iter().for_each(|id| lengths_ns.entry(id).or_default().push(length_ns));
        }
        let threshold = |(communicator, spans): (CommunicatorId, Vec<Span>)| {
            let training_ns =
                lengths_ns.get(&communicator).and_then(|known| lower_median(known.iter().copied()));
            let period_ns = training_ns.or_else(|| pause_period(&spans))?;
            let deviation_ns = lateness.get(&communicator)?.deviation_ns();
            let usual_ns = deviation_ns.saturating_mul(DEVIATIONS);
            Some((communicator, usual_ns.max(period_ns / PARTS_OF_PERIOD)))
        };
        Self(spans.into_iter().filter_map(threshold).collect())
    }

    /// Smallest lag in nanoseconds that counts in `communicator`; `None` if unknown.
    #[must_use]
    pub fn least_ns(&self, communicator: CommunicatorId) -> Option<u64> {
        self.0.get(&communicator).copied()
    }
}

/// How late the ranks of a communicator were, in all collectives.
#[derive(Clone, Debug, Default)]
struct Lateness {
    /// In collectives with three ranks and more: the distance to the median rank, which is at 0.
    of_many_ns: Vec<i64>,
    /// In collectives with two ranks: how much later the first one was. The earlier rank is the
    /// median, so the distance to it is the delay itself, not how it varies.
    of_two_ns: Vec<i64>,
}

impl Lateness {
    fn add(&mut self, ranks_ns: &[i64]) {
        match *ranks_ns {
            [one, other] => self.of_two_ns.push(one.saturating_sub(other)),
            _ => self.of_many_ns.extend(ranks_ns),
        }
    }

    /// How much ranks usually differ: the larger of the two lower medians of the distances to the
    /// median.
    fn deviation_ns(&self) -> u64 {
        let of_many = lower_median(self.of_many_ns.iter().map(|late_ns| late_ns.unsigned_abs()));
        let of_two = lower_median(self.of_two_ns.iter().copied()).and_then(|middle_ns| {
            lower_median(self.of_two_ns.iter().map(|one_ns| one_ns.abs_diff(middle_ns)))
        });
        of_many.max(of_two).unwrap_or(0)
    }
}

/// Without known training steps: the median distance between collectives that follow a pause longer
/// than the median collective; without such pauses, between all collectives.
fn pause_period(spans: &[Span]) -> Option<u64> {
    let usual_ns = lower_median(spans.iter().map(|span| span.last.nanos_since(span.first)))?;
    let mut end: Option<Timestamp> = None;
    let mut behind_pauses = Vec::new();
    for span in spans {
        if end.is_none_or(|end| span.first.nanos_since(end) >= usual_ns) {
            behind_pauses.push(span.first);
        }
        end = end.max(Some(span.last));
    }
    let all: Vec<Timestamp> = spans.iter().map(|span| span.first).collect();
    let period = |starts: &[Timestamp]| {
        lower_median(starts.windows(2).map(|pair| pair[1].nanos_since(pair[0])))
    };
    period(&behind_pauses).or_else(|| period(&all))
}

#[cfg(test)]
mod tests {
    use super::{Lateness, Span, Timestamp, pause_period};

    #[test]
    fn of_two_ranks_only_what_varies_is_usual() {
        let deviation_ns = |collectives: &[[i64; 2]]| {
            let mut lateness = Lateness::default();
            collectives.iter().for_each(|ranks_ns| lateness.add(ranks_ns));
            lateness.deviation_ns()
        };
        assert_eq!(deviation_ns(&[[0, 40], [0, 42], [0, 41]]), 1, "one rank is always late");
        assert_eq!(deviation_ns(&[[0, 40], [42, 0], [0, 10], [20, 0]]), 30);
        assert_eq!(deviation_ns(&[]), 0);
    }

    #[test]
    fn the_period_is_from_pause_to_pause() {
        let time = Timestamp::from_nanos;
        let span = |first: u64, last: u64| Span { first: time(first), last: time(last) };
        let bursts = (0..4).flat_map(|at| {
            let start = at * 1000;
            [span(start, start + 100), span(start + 110, start + 220)]
        });
        assert_eq!(pause_period(&bursts.collect::<Vec<_>>()), Some(1000));
        assert_eq!(pause_period(&[span(0, 100), span(110, 200)]), Some(110));
        assert_eq!(pause_period(&[span(0, 100)]), None);
        assert_eq!(pause_period(&[]), None);
    }
}
