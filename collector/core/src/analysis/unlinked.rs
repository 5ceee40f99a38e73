//! Flows whose ranks are unknown or incomplete, and why.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::queue_pair::{self, FlowOwner};
use super::state::State;
use crate::flow::state::Flow;
use crate::link::job::{Identity, Job, Ownership, Reason};

/// Why a flow's ranks are not fully known.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WhyUnknown {
    /// It belongs to no connection.
    Nobody(Reason),
    /// Its connection is known, these facts of it are not.
    Incomplete(Vec<Gap>),
}

/// What is not known of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Gap {
    /// The bootstrap of its communicator was not captured.
    Bootstrap,
    /// One of its ranks.
    Rank,
    /// Its channel.
    Channel,
}

/// Flows that lack ranks for the same reason; each once, however many taps saw it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unlinked {
    /// The reason.
    pub why: WhyUnknown,
    /// Number of flows.
    pub flows: u64,
    /// Their frames.
    pub frames: u64,
    /// Their payload.
    pub payload_bytes: u64,
}

/// Why the flow at place `at` of the flow table has no owner, or not all of it is known.
#[must_use]
pub fn why(job: &Job, at: u32) -> Option<WhyUnknown> {
    let connection = match job.owner(at)? {
        Ownership::Nobody(reason) => return Some(WhyUnknown::Nobody(reason)),
        Ownership::Connection { connection, .. } => job.connection(connection)?,
    };
    let FlowOwner { sender, receiver, channel, .. } = queue_pair::owner(job, at)?;
    let communicator = job.communicator(connection.communicator)?;
    let is_inferred = matches!(communicator.identity, Identity::Inferred(_));
    let gaps = [
        is_inferred.then_some(Gap::Bootstrap),
        (sender.is_none() || receiver.is_none()).then_some(Gap::Rank),
        (channel.is_none() && connection.carries_data()).then_some(Gap::Channel),
    ];
    let gaps: Vec<Gap> = gaps.into_iter().flatten().collect();
    (!gaps.is_empty()).then_some(WhyUnknown::Incomplete(gaps))
}

/// The reasons, that of most bytes first.
#[must_use]
pub fn group(state: &State) -> Vec<Unlinked> {
    let Some(job) = &state.job else { return Vec::new() };
    let mut groups: BTreeMap<WhyUnknown, Unlinked> = BTreeMap::new();
    for views in state.flows_over_taps() {
        let mut views: Vec<(WhyUnknown, &Flow)> = views
            .iter()
            .filter_map(|at| Some((why(job, *at)?, state.tracker.flows().at(*at))))
            .collect();
        views.sort_by(|(one, _), (other, _)| one.cmp(other));
        for alike in views.chunk_by(|(one, _), (other, _)| one == other) {
            // At the tap that saw most.
            let most = |of: fn(&Flow) -> u64| alike.iter().map(|(_, flow)| of(flow)).max();
            let Some((why, _)) = alike.first() else { continue };
            let new = || Unlinked { why: why.clone(), flows: 0, frames: 0, payload_bytes: 0 };
            let group = groups.entry(why.clone()).or_insert_with(new);
            group.flows += 1;
            group.frames += most(|flow| flow.frames).unwrap_or(0);
            group.payload_bytes += most(|flow| flow.payload_bytes).unwrap_or(0);
        }
    }
    let mut groups: Vec<Unlinked> = groups.into_values().collect();
    groups.sort_by_key(|group| Reverse((group.payload_bytes, group.frames)));
    groups
}
