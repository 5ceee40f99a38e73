//! Where a cause is.

use std::net::IpAddr;

use crate::analysis::path::place::Place;
use crate::link::job::CommunicatorId;

/// The direction of packets, as seen from the port of a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Heading {
    /// On the way to it.
    Towards,
    /// On the way from it.
    From,
    /// Both ways.
    Both,
}

/// Where a cause is; `None` for what does not apply or is not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VerdictSubject {
    /// The communicator of `rank`.
    pub communicator: Option<CommunicatorId>,
    /// The rank.
    pub rank: Option<u32>,
    /// The port.
    pub port: Option<IpAddr>,
    /// The other port of a path.
    pub peer_port: Option<IpAddr>,
    /// The direction in which packets are affected.
    pub heading: Option<Heading>,
    /// The worst flow, by place in the flow table.
    pub flow: Option<u32>,
}

impl Heading {
    /// The name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Towards => "towards",
            Self::From => "from",
            Self::Both => "both",
        }
    }
}

impl VerdictSubject {
    /// The subject of what happens at `place`.
    #[must_use]
    pub fn at(place: Place) -> Self {
        let port =
            |port, heading| Self { port: Some(port), heading: Some(heading), ..Self::default() };
        match place {
            Place::Towards(at) => port(at, Heading::Towards),
            Place::From(at) => port(at, Heading::From),
            Place::Port(at) => port(at, Heading::Both),
            Place::Path(from, to) => Self { peer_port: Some(from), ..port(to, Heading::Towards) },
            Place::PathBoth(one, other) => {
                Self { peer_port: Some(one), ..port(other, Heading::Both) }
            }
            Place::Everywhere => Self::default(),
        }
    }

    /// Whether a flow from `source` to `destination` passes it.
    #[must_use]
    pub fn is_on_way(&self, source: IpAddr, destination: IpAddr) -> bool {
        match (self.port, self.peer_port) {
            (Some(port), Some(peer)) => {
                [(port, peer), (peer, port)].contains(&(source, destination))
            }
            (Some(port), None) => source == port || destination == port,
            _ => true,
        }
    }
}
