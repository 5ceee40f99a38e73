//! Which two flows are each other's reverse, from traffic alone.
//!
//! Only the destination QPN is on the wire. Two flows between the same hosts belong together when
//! they use the same UDP source port and no other flow of these hosts does, or when one carries
//! ACKs with the PSNs for which the other asks.

use std::collections::HashMap;
use std::hash::BuildHasher;

use foldhash::fast::{FixedState, RandomState};

use super::key::FlowKey;
use crate::model::address::HostAddress;
use crate::model::psn::Psn;
use crate::model::qpn::Qpn;
use crate::model::tap::TapId;
use crate::model::time::Timestamp;

/// Asked-for PSNs remembered at a time, a power of two; a newer one takes an older one's place.
const ASKED_CAPACITY: usize = 16_384;

/// Two flows that ask for the same PSN within this time cannot be told apart by it.
const AMBIGUITY_NS: u64 = 10_000_000;

/// An ACK this long after its packet asked for it proves nothing: others used the number since.
const PATIENCE_NS: u64 = 100_000_000;

/// ACKs that must name the same flow, one after the other, before a pair is made.
const VOTES: u8 = 2;

/// Flows of two hosts in one direction with one UDP source port.
#[derive(Clone, Copy, Debug)]
struct PortUse {
    /// The only one; `None` where there are several, or were.
    flow: Option<u32>,
    flows: u32,
}

type PortKey = (TapId, HostAddress, HostAddress, u16);

/// A request packet that asked for an ACK, on a flow whose reverse is not known.
#[derive(Clone, Copy, Debug)]
struct Asked {
    digest: u64,
    time: Timestamp,
    flow: u32,
    dest_qpn: Qpn,
    is_ambiguous: bool,
}

/// How far a flow of ACKs has been matched.
#[derive(Clone, Copy, Debug, Default)]
struct Vote {
    candidate: u32,
    votes: u8,
}

/// What a new user of a UDP source port means for pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortVerdict {
    /// It is the only one in its direction, and this is the only one in the other.
    Unique(u32),
    /// It shares the port with this flow: neither can be paired by it.
    SharedWith(u32),
    /// The other direction has none or several.
    Nothing,
}

/// Evidence for pairs that is not conclusive yet.
#[derive(Clone)]
pub struct Pairing {
    by_port: HashMap<PortKey, PortUse, RandomState>,
    asked: Box<[Option<Asked>]>,
    votes: HashMap<u32, Vote, RandomState>,
    /// With one seed for all runs: what is forgotten depends on it, and so does the report.
    digests: FixedState,
}

impl Default for Pairing {
    fn default() -> Self {
        Self {
            by_port: HashMap::default(),
            asked: vec![None; ASKED_CAPACITY].into_boxed_slice(),
            votes: HashMap::default(),
            digests: FixedState::default(),
        }
    }
}

impl Pairing {
    /// A new flow uses `udp_source_port`.
    pub fn add_port(&mut self, key: &FlowKey, udp_source_port: u16, flow: u32) -> PortVerdict {
        let own = (key.tap, key.source, key.destination, udp_source_port);
        let uses = self.by_port.entry(own).or_insert(PortUse { flow: None, flows: 0 });
        uses.flows += 1;
        if uses.flows > 1 {
            return uses.flow.take().map_or(PortVerdict::Nothing, PortVerdict::SharedWith);
        }
        uses.flow = Some(flow);
        self.other_direction(key, udp_source_port)
    }

    /// A flow that used `udp_source_port` was evicted, or its epoch is over.
    pub fn remove_port(&mut self, key: &FlowKey, udp_source_port: u16, flow: u32) {
        let own = (key.tap, key.source, key.destination, udp_source_port);
        if let Some(uses) = self.by_port.get_mut(&own) {
            // Of several, nobody knows which one is left: none is paired by the port again.
            uses.flow = None;
            uses.flows = uses.flows.saturating_sub(1);
            if uses.flows == 0 {
                self.by_port.remove(&own);
            }
        }
        self.votes.remove(&flow);
    }

    /// An unpaired flow asked for an ACK of `psn`.
    pub fn asked(&mut self, key: &FlowKey, psn: Psn, flow: u32, time: Timestamp) {
        let digest = self.digest(key.tap, key.source, key.destination, psn);
        let slot = &mut self.asked[digest as usize % ASKED_CAPACITY];
        // What is overwritten here may have taken the place of one that asked for the same.
        let is_ambiguous = slot.is_some_and(|other| {
            (other.digest != digest || other.flow != flow)
                && time.nanos_since(other.time) < AMBIGUITY_NS
        });
        *slot = Some(Asked { digest, time, flow, dest_qpn: key.dest_qpn, is_ambiguous });
    }

    /// An unpaired flow carries an ACK of `psn`. Returns the place and the queue pair of the flow
    /// that it acknowledges once enough ACKs agree; another flow may have the place by now.
    pub fn vote(
        &mut self,
        key: &FlowKey,
        psn: Psn,
        flow: u32,
        time: Timestamp,
    ) -> Option<(u32, Qpn)> {
        let digest = self.digest(key.tap, key.destination, key.source, psn);
        let asked = self.asked[digest as usize % ASKED_CAPACITY].filter(|asked| {
            let is_recent = time.nanos_since(asked.time) < PATIENCE_NS;
            asked.digest == digest && !asked.is_ambiguous && is_recent
        })?;
        let vote = self.votes.entry(flow).or_default();
        if vote.candidate != asked.flow || vote.votes == 0 {
            *vote = Vote { candidate: asked.flow, votes: 0 };
        }
        vote.votes = vote.votes.saturating_add(1);
        (vote.votes >= VOTES).then_some((asked.flow, asked.dest_qpn))
    }

    /// The flow is paired: its votes are no longer needed.
    pub fn settle(&mut self, flow: u32) {
        self.votes.remove(&flow);
    }

    /// The only flow of the other direction that uses the port, if there is just one.
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
        // Place 0 is another flow's from here on.
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
    }
}
