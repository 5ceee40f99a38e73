//! Where the ranks of one machine run, so that there is a network between them.
//!
//! The best place is a network namespace per rank, each with one end of a veth pair; the other ends
//! are on a bridge in a namespace that is the fabric. The namespaces have no names, so they vanish
//! with their processes, however those end. `namespace` creates them; `interface` finds addresses
//! when ranks share the machine's network.

mod batch;
mod interface;
mod namespace;
mod sys;

use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::OwnedFd;

use super::{DriveError, Result};
pub use interface::{Interface, find as find_interface, host_name, towards};
pub use sys::{die_with_parent, user_id};

/// Largest number of ranks: addresses of one /24.
pub const MAX_RANKS: u32 = 200;

/// Kinds of places, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Network namespaces joined by veth pairs and a bridge; needs root.
    Namespaces,
    /// The same inside a user namespace.
    UserNamespaces,
    /// Loopback addresses of this network namespace, one per rank.
    Loopback,
    /// The machine's network, one address for all ranks: RDMA devices need this.
    Host,
}

/// The place of one rank.
#[derive(Debug)]
pub struct Place {
    /// Its address.
    pub address: IpAddr,
    /// The interface with this address.
    pub interface: String,
    /// Its host name in logs and truth.
    pub host: String,
    /// Its number on that host.
    pub local_rank: u32,
    /// The interface that shows all of its traffic, seen from where the places were created.
    pub port: String,
    namespace: Option<OwnedFd>,
}

impl Place {
    /// Moves the calling thread into the place; processes it starts run there too.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn enter(&self) -> Result<()> {
        self.namespace.as_ref().map_or(Ok(()), namespace::enter)
    }
}

/// The places of all ranks.
#[derive(Debug)]
pub struct Places {
    /// The kind in use.
    pub kind: Kind,
    /// One place per rank.
    pub ranks: Vec<Place>,
    /// MTU of the ranks' interfaces, in bytes.
    pub mtu: u32,
    /// Why no better kind is in use.
    pub reason: Option<String>,
}

/// Creates places for `ranks` ranks: of `kind`, or the best that works here. On the machine's own
/// network they use the interface that `wish` selects as `NCCL_SOCKET_IFNAME` does, or the first
/// that is up.
///
/// The calling thread moves into the fabric's namespace, which ends with it. Only a single-threaded
/// process can create a user namespace, so call this first.
///
/// # Errors
/// The requested kind does not work here.
pub fn make(kind: Option<Kind>, wish: Option<&str>, ranks: u32) -> Result<Places> {
    let reason = match kind {
        Some(Kind::Loopback) => return Ok(loopback(ranks, None)),
        Some(Kind::Host) => return interface::find(wish).map(|found| host(ranks, &found)),
        Some(kind @ (Kind::Namespaces | Kind::UserNamespaces)) => {
            return namespace::probe(kind)
                .map_err(DriveError::Unusable)
                .and_then(|()| namespace::make(kind, ranks));
        }
        None => match namespace::probe(Kind::Namespaces) {
            Ok(()) => return namespace::make(Kind::Namespaces, ranks),
            Err(reason) => reason,
        },
    };
    match namespace::probe(Kind::UserNamespaces) {
        Ok(()) => namespace::make(Kind::UserNamespaces, ranks),
        Err(other) if other == reason => Ok(loopback(ranks, Some(reason))),
        Err(other) => Ok(loopback(ranks, Some(format!("{reason}; {other}")))),
    }
}

/// All ranks share one interface of the machine.
fn host(ranks: u32, interface: &Interface) -> Places {
    let host = host_name();
    let place = |rank| Place {
        address: interface.address,
        interface: interface.name.clone(),
        host: host.clone(),
        local_rank: rank,
        port: interface.name.clone(),
        namespace: None,
    };
    let ranks = (0..ranks).map(place).collect();
    Places { kind: Kind::Host, ranks, mtu: interface.mtu, reason: None }
}

fn loopback(ranks: u32, reason: Option<String>) -> Places {
    let place = |rank: u32| Place {
        // 127.0.0.1 is used by everyone.
        address: numbered(Ipv4Addr::new(127, 0, 0, 2), rank),
        interface: "lo".to_owned(),
        host: node_name(rank),
        local_rank: 0,
        port: "lo".to_owned(),
        namespace: None,
    };
    let ranks = (0..ranks).map(place).collect();
    Places { kind: Kind::Loopback, ranks, mtu: 65_536, reason }
}

/// The `rank`th address after `first`.
fn numbered(first: Ipv4Addr, rank: u32) -> IpAddr {
    Ipv4Addr::from(u32::from(first).saturating_add(rank)).into()
}

fn node_name(rank: u32) -> String {
    format!("gpu-node-{:02}", rank + 1)
}

impl Places {
    /// The kind, its limitations and how to capture the traffic, in lines for the user.
    #[must_use]
    pub fn describe(&self) -> Vec<String> {
        let pid = std::process::id();
        let port = self.ranks.last().map_or("lo", |place| place.port.as_str());
        let mut lines = match self.kind {
            Kind::Namespaces => vec![
                "a network namespace per rank, veth pairs on a bridge".to_owned(),
                format!("to look: nsenter -t {pid} -n tcpdump -i {port}"),
            ],
            // Debian's tcpdump tries to switch to another user, which does not exist here.
            Kind::UserNamespaces => vec![
                "a network namespace per rank, veth pairs on a bridge, in a user namespace"
                    .to_owned(),
                format!("to look: nsenter -t {pid} -U --preserve-credentials -n tshark -i {port}"),
            ],
            Kind::Loopback => vec![
                "loopback addresses of this machine, one per rank".to_owned(),
                "lost by it: a port per rank (all traffic is on lo, as is everybody's), and ports \
                 that nobody else can use"
                    .to_owned(),
                "to look (as root): tcpdump -i lo net 127.0.0.0/24".to_owned(),
            ],
            Kind::Host => vec![
                format!("this machine's network, all ranks at {port}"),
                "lost by it: traffic between ranks may stay inside the device, where no capture \
                 sees it"
                    .to_owned(),
            ],
        };
        lines.extend(self.reason.iter().map(|reason| format!("because: {reason}")));
        lines
    }
}
