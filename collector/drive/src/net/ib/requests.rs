//! Work given to an adapter, and its outcome.

use std::collections::HashMap;

use super::super::{Finished, LinkSpec, Request};
use crate::clock::wall_ns;
use crate::rdma::{Completion, Done};
use crate::{DriveError, Result};

/// Outstanding work.
#[derive(Debug, Default)]
pub(super) struct Requests {
    last: u64,
    pending: HashMap<u64, Pending>,
    /// The first failed request and its link.
    failure: Option<Failure>,
}

#[derive(Debug)]
struct Pending {
    link: LinkSpec,
    role: Role,
    finished: Option<Finished>,
}

#[derive(Clone, Copy, Debug)]
enum Role {
    /// A message: its size and when it was posted.
    Send {
        bytes: usize,
        posted_ns: u64,
    },
    Receive,
}

#[derive(Clone, Debug)]
struct Failure {
    peer: u32,
    what: String,
}

/// Set in the id of a clear-to-send, whose completion is ignored; the rest is the id of its
/// receive.
const CTS: u64 = 1 << 63;

/// The id of the clear-to-send of a receive.
pub(super) const fn cts_id(request: Request) -> u64 {
    request.0 | CTS
}

impl Requests {
    pub(super) fn send(&mut self, link: LinkSpec, bytes: usize) -> Request {
        self.add(link, Role::Send { bytes, posted_ns: wall_ns() })
    }

    pub(super) fn receive(&mut self, link: LinkSpec) -> Request {
        self.add(link, Role::Receive)
    }

    fn add(&mut self, link: LinkSpec, role: Role) -> Request {
        self.last += 1;
        self.pending.insert(self.last, Pending { link, role, finished: None });
        Request(self.last)
    }

    /// The outcome of a request, which is then forgotten.
    pub(super) fn take(&mut self, request: Request) -> Option<Finished> {
        let finished = self.pending.get(&request.0)?.finished?;
        self.pending.remove(&request.0);
        Some(finished)
    }

    /// # Errors
    /// Some work failed: its link is broken, and so is the ring.
    pub(super) fn check(&self) -> Result<()> {
        match &self.failure {
            None => Ok(()),
            Some(Failure { peer, what }) => Err(DriveError::PeerLost {
                peer: format!("rank {peer}"),
                during: format!("messages were under way: {what}"),
            }),
        }
    }

    /// Records a completion.
    pub(super) fn complete(&mut self, completion: Completion) {
        let Completion { id, outcome, packets_ns, .. } = completion;
        let Some(pending) = self.pending.get_mut(&(id & !CTS)) else { return };
        let is_cts = id & CTS != 0;
        let result = outcome.and_then(|done| match (pending.role, done) {
            (Role::Receive, Done::Written) if is_cts => Ok(None),
            (Role::Receive, Done::Received { immediate, bytes }) => {
                received(immediate, bytes, packets_ns).map(Some)
            }
            (Role::Send { bytes, posted_ns }, Done::Written) => {
                let (first, last_byte_ns) = packets_ns.unwrap_or_else(|| (posted_ns, wall_ns()));
                Ok(Some(Finished { bytes, first_byte_ns: Some(first), last_byte_ns }))
            }
            (role, done) => Err(format!("{role:?} that ended as {done:?}")),
        });
        match result {
            Ok(finished) => pending.finished = pending.finished.or(finished),
            Err(reason) => {
                let LinkSpec { channel, sender, receiver } = pending.link;
                let (peer, work) = match pending.role {
                    Role::Send { .. } => (receiver, "a message"),
                    Role::Receive if is_cts => (sender, "a clear-to-send"),
                    Role::Receive => (sender, "a receive"),
                };
                let what = format!("{work} on channel {channel} failed: {reason}");
                self.failure.get_or_insert(Failure { peer, what });
            }
        }
    }
}

/// Records a received message. Its immediate is its size, little-endian (NCCL 2.20 to 2.28).
fn received(
    immediate: [u8; 4],
    bytes: u32,
    packets_ns: Option<(u64, u64)>,
) -> std::result::Result<Finished, String> {
    let announced = u32::from_le_bytes(immediate);
    if announced != bytes {
        return Err(format!("{bytes} bytes came with an immediate of {announced}"));
    }
    Ok(Finished {
        bytes: bytes as usize,
        first_byte_ns: packets_ns.map(|(first, _)| first),
        last_byte_ns: packets_ns.map_or_else(wall_ns, |(_, last)| last),
    })
}
