//! The places of ranks, as values.

use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::OwnedFd;

use nix::sched::{CloneFlags, setns, unshare};
use nix::unistd::sethostname;

use crate::{DriveError, Result};

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

/// Where a rank runs: its network namespace or the machine's own network.
#[derive(Debug)]
pub struct RankPlace {
    /// IP address of the rank in this place.
    pub address: IpAddr,
    /// The interface with this address.
    pub interface: String,
    /// Its host name in logs and truth.
    pub host: String,
    /// Its number on that host.
    pub local_rank: u32,
    /// The interface that shows all of its traffic, seen from where the places were created.
    pub port: String,
    pub(super) namespace: Option<OwnedFd>,
}

impl RankPlace {
    /// Moves the calling thread into the place; processes it starts run there too.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn enter(&self) -> Result<()> {
        self.namespace
            .as_ref()
            .map_or(Ok(()), |namespace| setns(namespace, CloneFlags::CLONE_NEWNET).map_err(refused))
    }
}

/// Gives the calling thread, and nobody else, this name of its host.
///
/// # Errors
/// The kernel refuses.
pub fn take_host_name(name: &str) -> Result<()> {
    let refused =
        |error: nix::Error| DriveError::io(format!("call this host {name}"))(error.into());
    unshare(CloneFlags::CLONE_NEWUTS).map_err(refused)?;
    sethostname(name).map_err(refused)
}

/// The places of all ranks.
#[derive(Debug)]
pub struct Places {
    /// The kind in use.
    pub kind: Kind,
    /// One place per rank.
    pub ranks: Vec<RankPlace>,
    /// MTU of the ranks' interfaces, in bytes.
    pub mtu: u32,
    /// Why no better kind is in use.
    pub reason: Option<String>,
}

impl Places {
    /// Puts so many ranks on a host: in names and numbers, not in the network.
    pub fn share_hosts(&mut self, ranks_per_node: u32) {
        for (rank, place) in (0..).zip(&mut self.ranks) {
            place.host = node_name(rank / ranks_per_node.max(1));
            place.local_rank = rank % ranks_per_node.max(1);
        }
    }

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

/// The `rank`th address after `first`.
pub(super) fn numbered(first: Ipv4Addr, rank: u32) -> IpAddr {
    Ipv4Addr::from(u32::from(first).saturating_add(rank)).into()
}

pub(super) fn node_name(rank: u32) -> String {
    format!("gpu-node-{:02}", rank + 1)
}

/// The error of a namespace that the kernel refuses.
pub(super) fn refused(error: nix::Error) -> DriveError {
    DriveError::io("make a network namespace")(error.into())
}
