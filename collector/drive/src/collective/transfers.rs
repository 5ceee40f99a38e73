//! The transfers of one direction of a channel in a collective, as NCCL's proxy sees them: what each
//! waited for, and what a profiler plugin gets of it.
//!
//! A send is posted when its slot is free, its data is tried to be sent when the GPU has filled it, it is
//! sent when the receiver has offered a buffer, and done when it was acknowledged. A receive is posted
//! with its offer, has its data, would be flushed, and is done when the GPU has taken it.
//! Both pass these moments in order, and one after the other.
//!
//! Source: NCCL 2.30.7, `src/transport/net.cc` (`sendProxyProgress`, `recvProxyProgress`).

use std::collections::VecDeque;
use std::time::Instant;

use crate::clock::now;
use crate::profiler::Operation;

/// `ncclProfilerProxyStep*`: the states of a send at its first three moments.
const SEND_STATES: [i32; 3] = [8, 20, 9];

/// Those of a receive.
const RECEIVE_STATES: [i32; 3] = [10, 11, 12];

/// The transfers of an operation.
#[derive(Debug, Default)]
pub(super) struct Transfers {
    operation: Option<Operation>,
    is_send: bool,
    total: u32,
    /// How many have passed each moment.
    passed: [u32; 4],
    /// Those that are posted and not done.
    open: VecDeque<Open>,
}

#[derive(Debug)]
struct Open {
    handle: usize,
    since: Instant,
    waits: [u64; 3],
}

/// What a transfer has reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Moment {
    /// A send has a slot, a receive an offer.
    Posted = 0,
    /// A send has its data, a receive too.
    Data = 1,
    /// A send is in the network, a receive is flushed.
    Passed = 2,
    /// It is done.
    Done = 3,
}

impl Transfers {
    /// `total` transfers; `operation` reports to a plugin.
    pub(super) fn new(is_send: bool, total: u32, operation: Option<Operation>) -> Self {
        Self { operation, is_send, total, ..Self::default() }
    }

    /// Whether all are posted.
    pub(super) fn are_posted(&self) -> bool {
        self.passed[0] == self.total
    }

    /// The next transfer reaches `moment`, `bytes` of it. Once it is done, returns its three waits in ns.
    pub(super) fn reach(&mut self, moment: Moment, bytes: usize) -> Option<[u64; 3]> {
        let at = moment as usize;
        let number = self.passed[at];
        let place = (number - self.passed[3]) as usize;
        self.passed[at] += 1;
        if moment == Moment::Posted {
            let handle = self.operation.as_ref().map_or(0, |operation| operation.start(number));
            self.open.push_back(Open { handle, since: now(), waits: [0; 3] });
        }
        let open = self.open.get_mut(place)?;
        if moment != Moment::Posted {
            let until = now();
            let waited = until.duration_since(open.since).as_nanos();
            open.waits[at - 1] = u64::try_from(waited).unwrap_or(u64::MAX);
            open.since = until;
        }
        let handle = open.handle;
        if moment != Moment::Done {
            self.report(handle, at, bytes);
            return None;
        }
        let done = self.open.pop_front();
        if let Some(operation) = &self.operation {
            operation.stop(handle);
        }
        if self.passed[3] == self.total
            && let Some(operation) = self.operation.take()
        {
            operation.end();
        }
        done.map(|done| done.waits)
    }

    /// The next transfer with data was tried to be sent: NCCL says so at every poll.
    pub(super) fn try_to_send(&mut self) {
        if self.passed[1] == self.passed[2] {
            self.reach(Moment::Data, 0);
        } else if let Some(open) = self.open.get((self.passed[2] - self.passed[3]) as usize) {
            self.report(open.handle, 1, 0);
        }
    }

    fn report(&self, handle: usize, at: usize, bytes: usize) {
        let states = if self.is_send { SEND_STATES } else { RECEIVE_STATES };
        if let (Some(operation), Some(state)) = (&self.operation, states.get(at)) {
            operation.state(handle, *state, bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Moment, Transfers};

    #[test]
    fn transfers_pass_in_order() {
        let mut sends = Transfers::new(true, 3, None);
        assert_eq!(sends.reach(Moment::Posted, 0), None);
        assert_eq!(sends.reach(Moment::Posted, 0), None);
        assert!(!sends.are_posted());
        sends.try_to_send();
        sends.try_to_send();
        assert_eq!(sends.reach(Moment::Passed, 7), None);
        sends.try_to_send();
        assert!(sends.reach(Moment::Done, 7).is_some());
        assert_eq!(sends.reach(Moment::Passed, 7), None);
        assert_eq!(sends.reach(Moment::Posted, 0), None);
        assert!(sends.are_posted());
        assert!(sends.reach(Moment::Done, 7).is_some());
        assert_eq!((sends.passed, sends.open.len()), ([3, 2, 2, 2], 1));
    }
}
