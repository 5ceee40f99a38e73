//! Rounds and calls for the truth.

use std::collections::BTreeMap;

use super::rank::Call;
use super::schedule::Round;
use crate::simulate::epoch::epoch_ns;
use crate::simulate::time::VirtualTime;
use crate::truth::{self, Record};

/// Start and end of training steps, over all ranks.
#[derive(Debug, Default)]
pub(super) struct Spans(BTreeMap<u32, [VirtualTime; 2]>);

impl Spans {
    /// A rank has started a training step.
    pub(super) fn began(&mut self, iteration: Option<u32>, at: VirtualTime) {
        let Some(iteration) = iteration else { return };
        let span = self.0.entry(iteration).or_insert([at; 2]);
        span[0] = span[0].min(at);
    }

    /// A collective of a training step has ended at a rank.
    pub(super) fn ended(&mut self, iteration: Option<u32>, at: VirtualTime) {
        let Some(iteration) = iteration else { return };
        let span = self.0.entry(iteration).or_insert([at; 2]);
        span[1] = span[1].max(at);
    }

    pub(super) fn records(&self) -> impl Iterator<Item = Record> + '_ {
        self.0.iter().map(|(iteration, [start, end])| {
            Record::Iteration(truth::Iteration {
                iteration: *iteration,
                start_ns: epoch_ns(*start),
                end_ns: epoch_ns(*end),
            })
        })
    }
}

pub(super) fn compute(rank: usize, round: &Round, from: VirtualTime, to: VirtualTime) -> Record {
    Record::Compute(truth::Compute {
        rank: rank as u32,
        iteration: round.iteration,
        start_ns: epoch_ns(from),
        end_ns: epoch_ns(to),
    })
}

pub(super) fn call(rank: usize, collective: usize, call: &Call, now: VirtualTime) -> Record {
    Record::Call(truth::Call {
        sequence: collective as u64,
        rank: rank as u32,
        start_ns: epoch_ns(call.enqueued),
        kernel_start_ns: call.kernel_began.map(epoch_ns),
        end_ns: epoch_ns(now),
        wrong: None,
    })
}
