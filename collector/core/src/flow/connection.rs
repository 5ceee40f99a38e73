//! Connections announced by the connection manager: which queue pairs belong together.
//!
//! A REQ carries the active side's communication id and QPN, the REP both ids and the passive
//! side's QPN. Earlier traffic between the pair belongs to a previous use of the numbers.

use serde::{Deserialize, Serialize};

use super::key::FlowKey;
use super::recent::RecentMap;
use crate::decode::roce::connection_manager::ConnectionMessage;
use crate::model::address::HostAddress;
use crate::model::qpn::Qpn;
use crate::model::tap::TapId;

/// Most pending requests, and most directions of announced pairs.
const CAPACITY: usize = 131_072;

/// One side of a pending connection: tap, address, communication id.
type Side = (TapId, HostAddress, u32);

/// Two flows that are each other's reverse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnnouncedPair {
    /// From the active to the passive side.
    pub forward: FlowKey,
    /// From the passive to the active side.
    pub backward: FlowKey,
}

/// The other direction, and the communication ids of the passive and the active side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Announced {
    reverse: FlowKey,
    ids: (u32, u32),
}

/// What the connection manager announced. Of one that was written and read, the counts are left: its
/// announcements have done their work.
#[derive(Clone, Serialize, Deserialize)]
#[serde(from = "Counts", into = "Counts")]
pub struct Connections {
    requests: RecentMap<Side, Qpn>,
    reverses: RecentMap<FlowKey, Announced>,
    messages: u64,
    /// By trackers that were joined.
    evicted: u64,
}

#[derive(Serialize, Deserialize)]
struct Counts {
    messages: u64,
    evicted: u64,
}

impl From<Connections> for Counts {
    fn from(of: Connections) -> Self {
        Self { messages: of.messages, evicted: of.evicted() }
    }
}

impl From<Counts> for Connections {
    fn from(Counts { messages, evicted }: Counts) -> Self {
        Self { messages, evicted, ..Self::default() }
    }
}

impl Default for Connections {
    fn default() -> Self {
        Self {
            requests: RecentMap::new(CAPACITY),
            reverses: RecentMap::new(CAPACITY),
            messages: 0,
            evicted: 0,
        }
    }
}

impl Connections {
    /// Processes a message from `source` to `destination`. Returns the pair that it completes,
    /// unless it was announced before.
    pub fn observe(
        &mut self,
        tap: TapId,
        source: HostAddress,
        destination: HostAddress,
        message: &ConnectionMessage<'_>,
    ) -> Option<AnnouncedPair> {
        self.messages += 1;
        match message {
            ConnectionMessage::Req(request) => {
                let side = (tap, source, request.local_communication_id);
                self.requests.insert(side, request.local_qpn);
                None
            }
            ConnectionMessage::Rep(reply) => {
                let side = (tap, destination, reply.ids.remote);
                let active_qpn = *self.requests.get(&side)?;
                let forward = FlowKey {
                    tap,
                    source: destination,
                    destination: source,
                    dest_qpn: reply.local_qpn,
                };
                let backward = forward.reversed(active_qpn);
                let ids = (reply.ids.local, reply.ids.remote);
                let announced = Announced { reverse: backward, ids };
                if self.reverses.get(&forward) == Some(&announced) {
                    return None;
                }
                self.reverses.insert(forward, announced);
                self.reverses.insert(backward, Announced { reverse: forward, ids });
                Some(AnnouncedPair { forward, backward })
            }
            _ => None,
        }
    }

    /// The reverse of `key`, if it was announced.
    #[must_use]
    pub fn reverse_of(&self, key: &FlowKey) -> Option<FlowKey> {
        self.reverses.get(key).map(|announced| announced.reverse)
    }

    /// Connection manager messages read.
    #[must_use]
    pub const fn messages(&self) -> u64 {
        self.messages
    }

    /// Announcements evicted for lack of space.
    #[must_use]
    pub const fn evicted(&self) -> u64 {
        self.evicted + self.requests.evicted() + self.reverses.evicted()
    }

    /// Counts what `other` saw; its announcements have done their work.
    pub(super) fn join(&mut self, other: &Self) {
        self.messages += other.messages;
        self.evicted += other.evicted();
    }
}
