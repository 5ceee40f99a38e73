//! Which ranks use which ports, as the NET connections of a job show it.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use super::job::{CommunicatorId, Job};

/// Ports by rank, and ranks by port.
#[derive(Clone, Debug, Default)]
pub struct RankPorts {
    ports: BTreeMap<(CommunicatorId, u32), BTreeSet<IpAddr>>,
    ranks: BTreeMap<IpAddr, BTreeSet<(CommunicatorId, Option<u32>)>>,
}

impl RankPorts {
    /// Those of `job`.
    #[must_use]
    pub fn new(job: Option<&Job>) -> Self {
        let mut known = Self::default();
        for connection in job.into_iter().flat_map(|job| &job.connections) {
            let id = connection.communicator;
            for pair in &connection.queue_pairs {
                known.add(pair.sender, id, connection.sender);
                known.add(pair.receiver, id, connection.receiver);
            }
        }
        known
    }

    fn add(&mut self, port: IpAddr, id: CommunicatorId, rank: Option<u32>) {
        self.ranks.entry(port).or_default().insert((id, rank));
        if let Some(rank) = rank {
            self.ports.entry((id, rank)).or_default().insert(port);
        }
    }

    /// Whether a port of the rank is known.
    #[must_use]
    pub fn has_port(&self, id: CommunicatorId, rank: u32) -> bool {
        self.ports.contains_key(&(id, rank))
    }

    /// The known ports of a rank.
    #[must_use]
    pub fn ports_of(&self, id: CommunicatorId, rank: u32) -> Vec<IpAddr> {
        self.ports.get(&(id, rank)).into_iter().flatten().copied().collect()
    }

    /// The only port of a rank; `None` if it has several, or none is known.
    #[must_use]
    pub fn port_of(&self, id: CommunicatorId, rank: u32) -> Option<IpAddr> {
        only(self.ports.get(&(id, rank))?)
    }

    /// The ranks that use `port`, with their communicators; none if some are unknown.
    #[must_use]
    pub fn ranks_at(&self, port: IpAddr) -> Vec<(CommunicatorId, u32)> {
        let ranks = self.ranks.get(&port).into_iter().flatten();
        ranks.map(|(id, rank)| Some((*id, (*rank)?))).collect::<Option<_>>().unwrap_or_default()
    }

    /// The number that a port's rank has in all of its communicators; `None` if the port serves
    /// several ranks, or an unknown one.
    #[must_use]
    pub fn rank_at(&self, port: IpAddr) -> Option<u32> {
        only(&self.ranks_at(port).into_iter().map(|(_, rank)| rank).collect())
    }
}

fn only<T: Copy + Ord>(all: &BTreeSet<T>) -> Option<T> {
    all.first().copied().filter(|_| all.len() == 1)
}
