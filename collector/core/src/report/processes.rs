//! Processes of queue pairs, as the kernel lists them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::link::tool::node::Node;
use crate::model::address::HostAddress;
use crate::model::qpn::Qpn;
use crate::model::queue_pair::{
    HostQueuePair, ListedQueuePair, QueuePairKind, QueuePairOwner, QueuePairState,
};

/// A queue pair that the kernel lists, with its process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ListedQueuePairReport {
    /// The RDMA device: `mlx5_0`.
    pub device: String,
    /// Its port; `null` before the queue pair is bound to one.
    pub port: Option<u32>,
    /// Its number.
    pub qpn: u32,
    /// The other end's number; `null` for datagrams and before it is connected.
    pub remote_qpn: Option<u32>,
    /// `RC`, `UD`, ..., as `rdma resource show qp` names it.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// `RESET`, `INIT`, `RTR`, `RTS`, `SQD`, `SQE` or `ERR`, in the last list.
    pub state: &'static str,
    /// Its process; `null` for the kernel's own.
    pub pid: Option<u32>,
    /// Name of the process, or of the part of the kernel.
    pub process: Option<String>,
}

/// The process at one end of a queue pair's traffic.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct EndReport {
    /// Its host; `null` if the list does not name it, or several hosts list the queue pair.
    pub host: Option<String>,
    /// The queue pair in its host's list.
    #[serde(flatten)]
    pub listed: ListedQueuePairReport,
}

/// Listed queue pairs by own and other number.
pub(super) struct Ends<'a>(BTreeMap<(Qpn, Qpn), Vec<(&'a Node, &'a ListedQueuePair)>>);

impl<'a> Ends<'a> {
    pub(super) fn of(nodes: &'a [Node]) -> Self {
        let mut ends: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for node in nodes {
            for one in &node.queue_pairs {
                if let Some(remote) = one.pair.remote {
                    ends.entry((one.pair.local, remote)).or_default().push((node, one));
                }
            }
        }
        Self(ends)
    }

    /// The process of queue pair `local` at `address`, which is connected to `remote`: the only one whose
    /// numbers fit, and whose port has that address where the list has addresses.
    pub(super) fn process(
        &self,
        address: HostAddress,
        local: Option<Qpn>,
        remote: Option<Qpn>,
    ) -> Option<EndReport> {
        let known = self.0.get(&(local?, remote?))?;
        let has_address = |one: &ListedQueuePair| one.addresses.contains(&address.to_ip());
        let may_be = |one: &ListedQueuePair| one.addresses.is_empty() || has_address(one);
        let mut fit = known.iter().filter(|(_, one)| may_be(one));
        let (node, one) = fit.next()?;
        // Hosts that share RDMA devices, as containers of one node do, all list the same queue pair.
        let is_same = |other: &ListedQueuePair| other == *one && has_address(one);
        let mut host = node.host.clone();
        for (other_node, other) in fit {
            if !is_same(other) {
                return None;
            }
            host = host.filter(|host| other_node.host.as_ref() == Some(host));
        }
        Some(EndReport { host, listed: listed(one) })
    }
}

/// A line of a list.
pub(super) fn listed(one: &ListedQueuePair) -> ListedQueuePairReport {
    let HostQueuePair { device, port, local, remote, kind, state, owner } = &one.pair;
    let (pid, kernel) = match owner {
        QueuePairOwner::Process(pid) => (Some(*pid), None),
        QueuePairOwner::Kernel(name) => (None, Some(name.clone())),
        QueuePairOwner::Unknown => (None, None),
    };
    ListedQueuePairReport {
        device: device.clone(),
        port: *port,
        qpn: local.value(),
        remote_qpn: remote.map(Qpn::value),
        kind: QueuePairKind::name(*kind),
        state: QueuePairState::name(*state),
        pid,
        process: kernel.or_else(|| one.process.clone()),
    }
}

impl EndReport {
    /// `python3 (pid 77) on node1, mlx5_0, state RTS`.
    #[must_use]
    pub fn words(&self) -> String {
        let Self { host, listed } = self;
        let pid = listed.pid.map(|pid| [" (pid ", &pid.to_string(), ")"].concat());
        let host = host.as_ref().map(|host| [" on ", host].concat());
        let process = listed.process.as_deref().unwrap_or("a process");
        let (pid, host) = (pid.unwrap_or_default(), host.unwrap_or_default());
        [process, &pid, &host, ", ", &listed.device, ", state ", listed.state].concat()
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;

    fn node(host: &str, pairs: &[(u32, u32, Option<&str>)]) -> Node {
        let one = |(local, remote, address): &(u32, u32, Option<&str>)| ListedQueuePair {
            pair: HostQueuePair {
                device: "rxe0".to_owned(),
                port: Some(1),
                local: Qpn::new(*local),
                remote: Some(Qpn::new(*remote)),
                kind: QueuePairKind::ReliableConnection,
                state: QueuePairState::ReadyToSend,
                owner: QueuePairOwner::Process(7),
            },
            process: Some("train".to_owned()),
            addresses: address.iter().map(|text| text.parse().unwrap()).collect(),
        };
        let mut node = Node::default();
        node.host = Some(host.to_owned());
        node.queue_pairs = pairs.iter().map(one).collect();
        node
    }

    #[test]
    fn numbers_that_two_hosts_have_need_an_address() {
        let nodes = [
            node("a", &[(17, 18, Some("10.0.0.1")), (19, 20, None)]),
            node("b", &[(17, 18, Some("10.0.0.2")), (19, 20, None)]),
        ];
        let ends = Ends::of(&nodes);
        let of = |address: &str, local, remote| {
            let [local, remote] = [local, remote].map(|number| Some(Qpn::new(number)));
            ends.process(address.parse::<IpAddr>().unwrap().into(), local, remote)
                .map(|end| end.host.unwrap())
        };
        assert_eq!(of("10.0.0.2", 17, 18).as_deref(), Some("b"));
        assert_eq!(of("10.0.0.3", 17, 18), None);
        assert_eq!(of("10.0.0.1", 19, 20), None);
        assert_eq!(of("10.0.0.1", 18, 17), None);
    }

    #[test]
    fn a_queue_pair_that_several_hosts_list_is_one() {
        let shared = [(17, 18, Some("10.0.0.1"))];
        let nodes = [node("a", &shared), node("b", &shared)];
        let [local, remote] = [17, 18].map(|number| Some(Qpn::new(number)));
        let address = "10.0.0.1".parse::<IpAddr>().unwrap();
        let end = Ends::of(&nodes).process(address.into(), local, remote).unwrap();
        assert_eq!((end.host, end.listed.pid), (None, Some(7)));
        // Without an address, they may be two.
        let nodes = [node("a", &[(17, 18, None)]), node("b", &[(17, 18, None)])];
        assert_eq!(Ends::of(&nodes).process(address.into(), local, remote), None);
    }
}
