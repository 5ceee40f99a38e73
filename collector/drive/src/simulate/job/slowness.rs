//! Injected delays of a rank.

use crate::simulate::scenario::Scenario;
use crate::simulate::scenario::trouble::StragglerCause;

/// The faults of one job that affect its ranks.
#[derive(Clone, Debug, Default)]
pub(super) struct Slowness {
    computing: Vec<Late>,
    enqueuing: Vec<Late>,
    receiving: Vec<Late>,
}

#[derive(Clone, Copy, Debug)]
struct Late {
    rank: u32,
    delay_ns: u64,
    iterations: Option<[u32; 2]>,
}

impl Slowness {
    pub(super) fn from_scenario(scenario: &Scenario, job: u32) -> Self {
        let stragglers = |cause: StragglerCause| {
            let of_job = scenario.straggler.iter();
            let of_job = of_job.filter(|late| late.job == job && late.cause == cause);
            let late = of_job.map(|late| Late {
                rank: late.rank,
                delay_ns: late.delay.0,
                iterations: late.iterations,
            });
            late.collect()
        };
        let receivers = scenario.slow_receiver.iter().filter(|late| late.job == job);
        Self {
            computing: stragglers(StragglerCause::Compute),
            enqueuing: stragglers(StragglerCause::Enqueue),
            receiving: receivers
                .map(|late| Late {
                    rank: late.rank,
                    delay_ns: late.delay.0,
                    iterations: late.iterations,
                })
                .collect(),
        }
    }

    /// Extra compute time of the GPU.
    pub(super) fn compute_ns(&self, rank: u32, iteration: Option<u32>) -> u64 {
        sum(&self.computing, rank, iteration)
    }

    /// Extra time of the CPU to enqueue.
    pub(super) fn enqueue_ns(&self, rank: u32, iteration: Option<u32>) -> u64 {
        sum(&self.enqueuing, rank, iteration)
    }

    /// Extra time for a received message.
    pub(super) fn receive_ns(&self, rank: u32, iteration: Option<u32>) -> u64 {
        sum(&self.receiving, rank, iteration)
    }
}

/// Faults without iterations also apply to warm-up and pauses.
fn sum(late: &[Late], rank: u32, iteration: Option<u32>) -> u64 {
    let concerns = |late: &&Late| {
        late.rank == rank
            && late.iterations.is_none_or(|[first, last]| {
                iteration.is_some_and(|iteration| (first..=last).contains(&iteration))
            })
    };
    late.iter().filter(concerns).map(|late| late.delay_ns).sum()
}
