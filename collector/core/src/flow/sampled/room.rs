//! Room in the tables of all agents together: who floods the port with agents of its own invention takes no
//! more than this.

/// Most agents.
const AGENTS: usize = 1024;

/// Most agents whose datagrams one sender sends: half of all, for relays.
pub(super) const OF_SENDER: usize = AGENTS / 2;

/// Most queue pairs by source.
const FLOWS: usize = 65_536;

/// Most sources.
const SOURCES: usize = 16_384;

/// Most interfaces.
const INTERFACES: usize = 16_384;

/// Most egress queues.
const QUEUES: usize = 16_384;

/// Most datagrams whose times an agent keeps: the oldest are dropped.
const MOST_ARRIVALS: usize = 16_384;

/// Datagrams whose times are kept of all agents, if all send as many.
const ARRIVALS: usize = 1 << 19;

/// What more fits into each table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    pub(super) agents: usize,
    pub(super) flows: usize,
    pub(super) sources: usize,
    pub(super) interfaces: usize,
    pub(super) queues: usize,
}

impl Default for Room {
    fn default() -> Self {
        Self {
            agents: AGENTS,
            flows: FLOWS,
            sources: SOURCES,
            interfaces: INTERFACES,
            queues: QUEUES,
        }
    }
}

impl Room {
    /// Datagrams whose times each agent may keep: the more agents, the fewer.
    pub(super) fn arrivals(&self) -> usize {
        MOST_ARRIVALS.min(ARRIVALS / (AGENTS - self.agents).max(1))
    }
}

/// Takes a place; `false` if there is none.
pub(super) const fn take(places: &mut usize) -> bool {
    match places.checked_sub(1) {
        Some(left) => {
            *places = left;
            true
        }
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_agents_keep_fewer_times() {
        let room = |agents| Room { agents: AGENTS - agents, ..Room::default() };
        assert_eq!(room(1).arrivals(), 16_384);
        assert_eq!(room(32).arrivals(), 16_384);
        assert_eq!(room(1024).arrivals(), 512);
    }
}
