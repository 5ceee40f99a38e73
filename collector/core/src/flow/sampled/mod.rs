//! What switches sampled (sFlow): by agent, source and queue pair.
//!
//! Sampled packets are no packets of a tap: flows, loss and messages never see them. [`analysis`] turns the
//! counts here into estimates.
//!
//! [`analysis`]: crate::analysis::sampling

pub mod agent;
pub mod interface;
pub mod numbers;
pub mod source;

use std::collections::BTreeMap;

use self::agent::Agent;
use crate::decode::packet::{Body, Packet};
use crate::decode::sflow::{Datagram, Refusal};
use crate::model::address::HostAddress;
use crate::model::frame::Frame;
use crate::model::health::Health;
use crate::model::health::event::HealthEvent;

/// Most agents; datagrams of further ones are counted.
const AGENT_CAPACITY: usize = 1024;

/// Most queue pairs by source, of all agents together; samples of further ones count for totals only.
const FLOW_CAPACITY: usize = 65_536;

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
        if self.agents.len() >= AGENT_CAPACITY && !self.agents.contains_key(&key) {
            self.health.add(HealthEvent::SflowBeyondLimit, 1);
            return;
        }
        let room = FLOW_CAPACITY.saturating_sub(self.agents.values().map(Agent::flow_count).sum());
        let agent = self.agents.entry(key).or_insert_with(|| Agent::new(frame));
        agent.observe(frame, &datagram, room, &mut self.health);
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
