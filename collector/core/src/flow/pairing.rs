//! Which two flows are each other's reverse, from traffic alone.
//!
//! Only the destination QPN is on the wire. Two flows between the same hosts belong together if
//! they are the only ones with their UDP source port, or if one carries ACKs for PSNs that the
//! other requested.

use std::collections::HashMap;
use std::hash::BuildHasher;

use foldhash::fast::{FixedState, RandomState};

use super::asked::{Asked, AskedTable};
use super::key::FlowKey;
use crate::model::address::HostAddress;
use crate::model::psn::Psn;
use crate::model::qpn::Qpn;
use crate::model::tap::TapId;
use crate::model::time::Timestamp;

/// Two flows that request an ACK for the same PSN within this time are ambiguous.
const AMBIGUITY_NS: u64 = 10_000_000;

/// An ACK this long after its request proves nothing: other flows have used the PSN since.
const PATIENCE_NS: u64 = 100_000_000;

/// Consecutive ACKs that must name the same flow before it is paired.
const VOTES: u8 = 2;

/// Flows of two hosts in one direction with one UDP source port.
#[derive(Clone, Copy, Debug)]
struct PortUse {
    /// The only one; `None` if there are, or were, several.
    flow: Option<u32>,
    flows: u32,
}

type PortKey = (TapId, HostAddress, HostAddress, u16);

/// Matching state of a flow of ACKs.
#[derive(Clone, Copy, Debug, Default)]
struct Vote {
    candidate: u32,
    votes: u8,
}

/// What a new user of a UDP source port means for pairing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortVerdict {
    /// It is the only one in its direction, and this flow the only one in the other.
    Unique(u32),
    /// It shares the port with this flow: the port pairs neither.
    SharedWith(u32),
    /// The other direction has none or several.
    Nothing,
}

/// Evidence for pairs that is not conclusive yet.
#[derive(Clone, Default)]
pub struct Pairing {
    by_port: HashMap<PortKey, PortUse, RandomState>,
    asked: AskedTable,
    votes: HashMap<u32, Vote, RandomState>,
    /// The same seed in all runs: evictions depend on it, and so does the report.
    digests: FixedState,
}

impl Pairing {
    /// A new flow uses `udp_source_port`; 0 for none.
    pub fn add_port(&mut self, key: &FlowKey, udp_source_port: u16, flow: u32) -> PortVerdict {
        if udp_source_port == 0 {
            return PortVerdict::Nothing;
        }
        let own = (key.tap, key.source, key.destination, udp_source_port);
        let uses = self.by_port.entry(own).or_insert(PortUse { flow: None, flows: 0 });
        uses.flows += 1;
        if uses.flows > 1 {
            return uses.flow.take().map_or(PortVerdict::Nothing, PortVerdict::SharedWith);
        }
        uses.flow = Some(flow);
        self.other_direction(key, udp_source_port)
    }

    /// A flow that used `udp_source_port` was evicted, or its epoch ended.
    pub fn remove_port(&mut self, key: &FlowKey, udp_source_port: u16, flow: u32) {
        let own = (key.tap, key.source, key.destination, udp_source_port);
        if let Some(uses) = self.by_port.get_mut(&own) {
            // Which of several remains is unknown: the port pairs none of them again.
            uses.flow = None;
            uses.flows = uses.flows.saturating_sub(1);
            if uses.flows == 0 {
                self.by_port.remove(&own);
            }
        }
        self.votes.remove(&flow);
    }

    /// An unpaired flow requested an ACK of `psn`.
    pub fn asked(&mut self, key: &FlowKey, psn: Psn, flow: u32, time: Timestamp) {
        let digest = self.digest(key.tap, key.source, key.destination, psn);
        let is_ambiguous = self.asked.find(digest).is_some_and(|other| {
            let is_shared = other.flow != flow || other.is_ambiguous;
            is_shared && time.nanos_since(other.time) < AMBIGUITY_NS
        });
        let dest_qpn = key.dest_qpn;
        self.asked.insert(Asked { digest, time, flow, dest_qpn, is_ambiguous });
    }

    /// An unpaired flow carries an ACK of `psn`. Returns the index and queue pair of the
    /// acknowledged flow once enough ACKs agree; another flow may have the index by now.
    pub fn vote(
        &mut self,
        key: &FlowKey,
        psn: Psn,
        flow: u32,
        time: Timestamp,
    ) -> Option<(u32, Qpn)> {
        let digest = self.digest(key.tap, key.destination, key.source, psn);
        let asked = self.asked.find(digest).filter(|asked| {
            let is_recent = time.nanos_since(asked.time) < PATIENCE_NS;
            !asked.is_ambiguous && is_recent
        })?;
        let vote = self.votes.entry(flow).or_default();
        if vote.candidate != asked.flow || vote.votes == 0 {
            *vote = Vote { candidate: asked.flow, votes: 0 };
        }
        vote.votes = vote.votes.saturating_add(1);
        (vote.votes >= VOTES).then_some((asked.flow, asked.dest_qpn))
    }

    /// The flow is paired: drops its votes.
    pub fn settle(&mut self, flow: u32) {
        self.votes.remove(&flow);
    }

    /// The flow that was at index `from` is at `to` now.
    pub fn moved(&mut self, key: &FlowKey, udp_source_port: u16, from: u32, to: u32) {
        let own = (key.tap, key.source, key.destination, udp_source_port);
        if let Some(uses) = self.by_port.get_mut(&own) {
            uses.flow = uses.flow.map(|flow| if flow == from { to } else { flow });
        }
        self.votes.remove(&from);
        self.votes.remove(&to);
    }

    /// The only flow of the other direction with this port, if there is exactly one.
    fn other_direction(&self, key: &FlowKey, udp_source_port: u16) -> PortVerdict {
        let other = (key.tap, key.destination, key.source, udp_source_port);
        match self.by_port.get(&other) {
            Some(PortUse { flow: Some(flow), flows: 1 }) => PortVerdict::Unique(*flow),
            _ => PortVerdict::Nothing,
        }
    }

    fn digest(&self, tap: TapId, from: HostAddress, to: HostAddress, psn: Psn) -> u64 {
        self.digests.hash_one((tap, from, to, psn))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PORT: u16 = 50_000;

    fn key(is_forward: bool, dest_qpn: u32) -> FlowKey {
        let [one, other] = [[10, 0, 0, 1], [10, 0, 0, 2]].map(|address| {
            HostAddress::from(std::net::IpAddr::from(std::net::Ipv4Addr::from(address)))
        });
        let (source, destination) = if is_forward { (one, other) } else { (other, one) };
        FlowKey { tap: TapId(0), source, destination, dest_qpn: Qpn::new(dest_qpn) }
    }

    fn at(time_ns: u64) -> Timestamp {
        Timestamp::from_nanos(time_ns)
    }

    #[test]
    fn a_port_that_was_shared_pairs_nobody_once_one_is_left() {
        let mut pairing = Pairing::default();
        assert_eq!(pairing.add_port(&key(true, 1), PORT, 0), PortVerdict::Nothing);
        assert_eq!(pairing.add_port(&key(true, 2), PORT, 1), PortVerdict::SharedWith(0));
        // Index 0 belongs to another flow from here on.
        pairing.remove_port(&key(true, 1), PORT, 0);
        assert_eq!(pairing.add_port(&key(false, 3), PORT, 2), PortVerdict::Nothing);
        pairing.remove_port(&key(true, 2), PORT, 1);
        assert_eq!(pairing.add_port(&key(true, 4), PORT, 3), PortVerdict::Unique(2));
    }

    #[test]
    fn two_acks_in_time_make_a_pair_and_however_many_follow() {
        let mut pairing = Pairing::default();
        let psn = Psn::new(7);
        pairing.asked(&key(true, 1), psn, 0, at(0));
        assert_eq!(pairing.vote(&key(false, 2), psn, 1, at(PATIENCE_NS)), None);
        assert_eq!(pairing.vote(&key(false, 2), psn, 1, at(5)), None);
        for _ in 0..1000 {
            let found = pairing.vote(&key(false, 2), psn, 1, at(5));
            assert_eq!(found, Some((0, Qpn::new(1))));
        }
    }

    #[test]
    fn a_number_that_two_flows_ask_for_proves_nothing() {
        let mut pairing = Pairing::default();
        let psn = Psn::new(7);
        pairing.asked(&key(true, 1), psn, 0, at(0));
        pairing.asked(&key(true, 3), psn, 2, at(1_000));
        for _ in 0..3 {
            assert_eq!(pairing.vote(&key(false, 2), psn, 1, at(2_000)), None);
        }
        // Nor does it when the second asks again.
        pairing.asked(&key(true, 3), psn, 2, at(3_000));
        assert_eq!(pairing.vote(&key(false, 2), psn, 1, at(4_000)), None);
    }

    #[test]
    fn many_queue_pairs_on_one_port_are_paired_by_two_acks_each() {
        let mut pairing = Pairing::default();
        const QUEUE_PAIRS: u32 = 4096;
        let psn = |of: u32, round: u32| Psn::new(of * 1000 + round);
        for round in 0..2 {
            for of in 0..QUEUE_PAIRS {
                pairing.asked(&key(true, of), psn(of, round), of, at(u64::from(round)));
            }
            for of in 0..QUEUE_PAIRS {
                let back = QUEUE_PAIRS + of;
                let found = pairing.vote(&key(false, back), psn(of, round), back, at(5));
                assert_eq!(found, (round > 0).then_some((of, Qpn::new(of))));
            }
        }
    }
}
