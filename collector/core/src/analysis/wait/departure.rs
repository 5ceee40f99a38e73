//! How precisely two connections' departure times can be compared: each was stamped at a tap of its
//! own.

use std::collections::BTreeMap;

use crate::flow::key::FlowKey;
use crate::flow::state::Flow;
use crate::link::clock::clocks::Clocks;
use crate::link::job::{Job, NetConnectionId, Ownership, Role};
use crate::link::position::{Position, TapPosition};
use crate::model::tap::TapId;

/// The clock that shows when each connection's data left.
#[derive(Clone, Debug, Default)]
pub struct DepartureClocks(BTreeMap<NetConnectionId, Clock>);

/// A clock: the tap that it is related to, and the largest error of that in nanoseconds.
type Clock = (TapId, u64);

/// The taps that saw one connection's data.
#[derive(Clone, Debug, Default)]
struct Taps {
    at_sender: Option<Clock>,
    /// Of the taps at neither end, the one with the least certain clock; the inner `None` if their
    /// clocks are unrelated.
    elsewhere: Option<Option<Clock>>,
}

impl DepartureClocks {
    /// The clocks for the connections of `job`, whose taps are at `positions`.
    #[must_use]
    pub fn new(job: &Job, flows: &[Flow], positions: &[TapPosition], clocks: &Clocks) -> Self {
        let mut taps: BTreeMap<NetConnectionId, Taps> = BTreeMap::new();
        for (flow, owner) in flows.iter().zip(&job.owners) {
            let Ownership::Connection { connection, role: Role::Data } = *owner else { continue };
            let FlowKey { tap, source, destination, .. } = flow.key;
            let taps = taps.entry(connection).or_default();
            let clock = clocks.anchor(tap);
            match positions.get(tap.0 as usize).map(|at| at.for_flow(source, destination)) {
                Some(Position::Sender) => taps.at_sender = Some(clock),
                Some(Position::Receiver) => {}
                Some(Position::Fabric | Position::Unknown) | None => {
                    let known = taps.elsewhere.unwrap_or(Some(clock));
                    let worse = known.filter(|(anchor, _)| *anchor == clock.0);
                    taps.elsewhere = Some(worse.map(|known| known.max(clock)));
                }
            }
        }
        for (id, connection) in (0..).map(NetConnectionId).zip(&job.connections) {
            if let Some(tap) = connection.socket.as_ref().and_then(|pair| pair.departure_tap) {
                taps.entry(id).or_default().at_sender = Some(clocks.anchor(tap));
            }
        }
        let clock =
            |(id, taps): (_, Taps)| Some((id, taps.at_sender.or(taps.elsewhere.flatten())?));
        Self(taps.into_iter().filter_map(clock).collect())
    }

    /// Largest error of a difference between times of two connections, in nanoseconds; `None` if
    /// nothing relates their clocks.
    #[must_use]
    pub fn uncertainty_ns(&self, one: NetConnectionId, other: NetConnectionId) -> Option<u64> {
        let ((anchor, own_ns), (same, other_ns)) = (self.0.get(&one)?, self.0.get(&other)?);
        (anchor == same).then(|| own_ns.saturating_add(*other_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::{DepartureClocks, NetConnectionId, TapId};

    #[test]
    fn only_related_clocks_are_compared() {
        let clocks = [(TapId(0), 0), (TapId(0), 700), (TapId(2), 0)];
        let clocks = DepartureClocks((0..).map(NetConnectionId).zip(clocks).collect());
        let between =
            |one, other| clocks.uncertainty_ns(NetConnectionId(one), NetConnectionId(other));
        assert_eq!(between(0, 1), Some(700));
        assert_eq!(between(0, 2), None);
        assert_eq!(between(2, 2), Some(0));
        assert_eq!(between(0, 9), None);
    }
}
