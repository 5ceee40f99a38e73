//! What switches sampled (sFlow): by agent, source and queue pair.
//!
//! Sampled packets are no packets of a tap: flows, loss and messages never see them. [`analysis`] turns the
//! counts here into estimates.
//!
//! [`analysis`]: crate::analysis::sampling

pub mod agent;
pub mod interface;
pub mod numbers;
pub mod queue;
pub mod source;

mod room;

use std::collections::BTreeMap;
use std::net::IpAddr;

use self::agent::Agent;
use self::room::{OF_SENDER, Room, take};
use crate::decode::packet::{Body, Packet};
use crate::decode::sflow::{Datagram, Refusal};
use crate::model::address::HostAddress;
use crate::model::frame::Frame;
use crate::model::health::Health;
use crate::model::health::event::HealthEvent;
use crate::model::time::Timestamp;

/// An agent that has been silent for so long makes room for another one, ns.
const ABSENCE_NS: u64 = 300_000_000_000;

/// Identifies a counter of datagrams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AgentKey {
    /// The agent's own address, or where its datagrams come from.
    pub address: HostAddress,
    /// Part of the agent that counts by itself.
    pub sub_agent: u32,
}

/// All agents whose datagrams were captured.
#[derive(Clone, Debug, Default)]
pub struct SampledAgents {
    agents: BTreeMap<AgentKey, Agent>,
    room: Room,
    health: Health,
}

impl SampledAgents {
    /// Processes a datagram; other packets are ignored.
    pub fn observe(&mut self, frame: &Frame<'_>, packet: &Packet<'_>) {
        let Body::Sflow(carried) = &packet.body else { return };
        let datagram = match Datagram::decode(carried.payload) {
            Ok(datagram) => datagram,
            Err(Refusal::Version) => return self.health.add(HealthEvent::SflowOtherVersions, 1),
            Err(_) => return self.health.add(HealthEvent::SflowTruncatedDatagrams, 1),
        };
        let sender = packet.ip.map(|ip| ip.source);
        let Some(address) = datagram.agent.or(sender).map(HostAddress::from) else { return };
        let key = AgentKey { address, sub_agent: datagram.sub_agent };
        if !self.agents.contains_key(&key) && !self.admit(sender, frame.time) {
            self.health.add(HealthEvent::SflowBeyondLimit, 1);
            return;
        }
        let agent = self.agents.entry(key).or_insert_with(|| Agent::new(frame, sender));
        agent.observe(frame, &datagram, &mut self.room, &mut self.health);
    }

    /// Whether there is room for one more agent of this sender. The one that has been silent for longest makes
    /// room, if that is long.
    fn admit(&mut self, sender: Option<IpAddr>, now: Timestamp) -> bool {
        let of_sender = self.agents.values().filter(|agent| agent.sender == sender).count();
        if of_sender >= OF_SENDER {
            return false;
        }
        if take(&mut self.room.agents) {
            return true;
        }
        let latest = |(_, agent): &(&AgentKey, &Agent)| agent.span.last;
        let Some((key, agent)) = self.agents.iter().min_by_key(latest) else { return false };
        if now.nanos_since(agent.span.last) < ABSENCE_NS {
            return false;
        }
        let key = *key;
        if let Some(agent) = self.agents.remove(&key) {
            agent.leave(&mut self.room);
            self.health.add(HealthEvent::SflowLostDatagrams, agent.numbers.lost());
            let dropped = agent.sources.values().map(|source| source.drops).sum();
            self.health.add(HealthEvent::SflowDroppedSamples, dropped);
            self.health.add(HealthEvent::SflowForgottenSwitches, 1);
        }
        take(&mut self.room.agents)
    }

    /// The agents in the order of their addresses.
    pub fn iter(&self) -> impl Iterator<Item = (&AgentKey, &Agent)> {
        self.agents.iter()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.agents.is_empty()
    }

    /// Adds what was missed.
    pub fn add_health(&self, health: &mut Health) {
        self.health.iter().for_each(|(event, count)| health.add(event, count));
        let lost = self.agents.values().map(|agent| agent.numbers.lost());
        health.add(HealthEvent::SflowLostDatagrams, lost.sum());
        let sources = self.agents.values().flat_map(|agent| agent.sources.values());
        health.add(HealthEvent::SflowDroppedSamples, sources.map(|source| source.drops).sum());
    }
}
