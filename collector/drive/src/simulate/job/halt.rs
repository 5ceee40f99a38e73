//! Ranks that take no part any more.

use super::TrainingJob;
use crate::collective::{Kind, Operation};
use crate::simulate::network::Network;
use crate::simulate::scenario::Scenario;
use crate::simulate::scenario::trouble::{Halt, HaltKind};
use crate::simulate::time::VirtualTime;

/// Numbers of a metric that is reduced, such as the loss.
const FEW: usize = 4;

/// What a rank does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Act {
    /// Calls collectives.
    Call,
    /// Runs kernels.
    Kernel,
    /// Sends data.
    Send,
    /// Offers room.
    Offer,
}

/// The halts of one job.
#[derive(Clone, Debug, Default)]
pub(super) struct Halts {
    halts: Vec<Halt>,
}

impl Halts {
    pub(super) fn from_scenario(scenario: &Scenario, job: u32) -> Self {
        let halts = scenario.halt.iter().filter(|halt| halt.job == job);
        Self { halts: halts.cloned().collect() }
    }

    /// Whether `rank` does not do this any more.
    pub(super) fn stops(&self, rank: usize, act: Act, now: VirtualTime) -> bool {
        self.halts.iter().any(|halt| {
            let is_stopped = match halt.what {
                HaltKind::Killed | HaltKind::Stopped => true,
                HaltKind::Calls => act == Act::Call,
                HaltKind::Gpu => act == Act::Kernel,
                HaltKind::Data => act == Act::Send,
                HaltKind::Room => act == Act::Offer,
                HaltKind::QueuePair
                | HaltKind::Receives
                | HaltKind::OtherCall
                | HaltKind::OtherSize => false,
            };
            is_stopped && halt.rank as usize == rank && now.0 >= halt.from.0
        })
    }

    /// Whether the process of `rank` runs at `now`.
    pub(super) fn is_running(&self, rank: usize, now: VirtualTime) -> bool {
        !self.halts.iter().any(|halt| {
            let is_process = matches!(halt.what, HaltKind::Killed | HaltKind::Stopped);
            is_process && halt.rank as usize == rank && now.0 >= halt.from.0
        })
    }

    /// What `rank` calls instead of `operation`, if its program took another way. So few numbers use one
    /// channel: on the others, its neighbours wait.
    pub(super) fn other_operation(
        &self,
        rank: usize,
        operation: &Operation,
        now: VirtualTime,
    ) -> Option<Operation> {
        let mut own = self.halts.iter().filter(|halt| halt.rank as usize == rank);
        let halt = own.find(|halt| {
            let is_other = matches!(halt.what, HaltKind::OtherCall | HaltKind::OtherSize);
            is_other && now.0 >= halt.from.0
        })?;
        let kind = match halt.what {
            HaltKind::OtherCall => Kind::Broadcast,
            _ => operation.kind,
        };
        Some(Operation { kind, count: FEW, ..*operation })
    }

    /// When something happens to queue pairs.
    pub(super) fn times(&self) -> impl Iterator<Item = (usize, VirtualTime)> + '_ {
        self.halts.iter().enumerate().map(|(at, halt)| (at, VirtualTime(halt.from.0)))
    }
}

impl TrainingJob {
    /// Does to the queue pairs of a rank what halt number `at` does.
    pub(super) fn halt(&mut self, at: usize, network: &mut Network) {
        let Some(halt) = self.halts.halts.get(at) else { return };
        let rank = halt.rank;
        let own = |is_sender: bool| {
            let edges = self.edges.iter().filter_map(|edge| Some((edge, edge.network.as_ref()?)));
            edges.flat_map(move |(edge, pairs)| match is_sender {
                true if edge.sender == rank => pairs.sending.as_slice(),
                false if edge.receiver == rank => pairs.receiving.as_slice(),
                _ => &[],
            })
        };
        match halt.what {
            HaltKind::Killed => own(true).chain(own(false)).for_each(|pair| network.destroy(*pair)),
            HaltKind::QueuePair => own(false).take(1).for_each(|pair| network.destroy(*pair)),
            HaltKind::Receives => own(false).for_each(|pair| network.take_receives(*pair)),
            _ => {}
        }
    }
}
