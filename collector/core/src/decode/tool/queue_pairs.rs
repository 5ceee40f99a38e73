//! `rdma resource show qp` (iproute2 `rdma/res-qp.c`): the kernel's list of queue pairs.

use std::net::IpAddr;

use super::{Output, Taken, TakesLines};
use crate::model::qpn::Qpn;
use crate::model::queue_pair::{
    HostQueuePair, ListedQueuePair, QueuePairKind, QueuePairOwner, QueuePairState,
};

/// Most queue pairs of a list that are read: twice what NCCL opens on a node with 8 NICs in a job of
/// thousands.
const QUEUE_PAIRS: usize = 65_536;

/// Most addresses of a queue pair's port.
const ADDRESSES: usize = 16;

/// A list, a line each: `link mlx5_0/1 lqpn 4711 rqpn 815 type RC state RTS ... pid 77 comm python3`.
#[derive(Clone, Debug)]
pub(super) struct QueuePairList(Vec<ListedQueuePair>);

impl QueuePairList {
    /// The list that begins with this line.
    pub(super) fn begin(line: &str) -> Option<Self> {
        queue_pair(line).map(|one| Self(vec![one]))
    }
}

impl TakesLines for QueuePairList {
    fn take(&mut self, line: &str) -> Taken {
        match queue_pair(line) {
            Some(one) if self.0.len() < QUEUE_PAIRS => {
                self.0.push(one);
                Taken::Yes
            }
            _ => Taken::End,
        }
    }

    fn finish(self) -> Option<Output> {
        Some(Output::QueuePairs(self.0))
    }
}

/// The queue pair of a line. A key that is not known is skipped with its value: releases add some.
fn queue_pair(line: &str) -> Option<ListedQueuePair> {
    // Before iproute2 5.0, lines began with the device's number: `1/1: mlx5_0/1: lqpn 1`.
    let rest = line.trim_start();
    let rest =
        rest.strip_prefix("link ").or_else(|| rest.split_once(": ").map(|(_, rest)| rest))?;
    // The name of a process may have blanks, and comes last.
    let (rest, name) =
        rest.split_once(" comm ").map_or((rest, None), |(rest, name)| (rest, Some(name.trim())));
    let mut words = rest.split_whitespace();
    let (device, port) = words.next()?.trim_end_matches(':').split_once('/')?;
    // `-` before it is bound to a port.
    let port: Option<u32> = if port == "-" { None } else { Some(port.parse().ok()?) };
    let (mut local, mut remote, mut kind, mut state) = (None, None, None, None);
    let mut pid = None;
    let mut addresses = Vec::new();
    while let Some((key, value)) = words.next().zip(words.next()) {
        match key {
            "lqpn" => local = Some(number(value)?),
            "rqpn" => remote = Some(number(value)?),
            "type" => kind = QueuePairKind::from_name(value),
            "state" => state = QueuePairState::from_name(value),
            "pid" => pid = value.parse().ok(),
            // Of `railscope capture --bundle`: the kernel's list has none.
            "address" if addresses.len() < ADDRESSES => addresses.extend(value.parse::<IpAddr>()),
            _ => {}
        }
    }
    let kernel = name.and_then(|name| name.strip_prefix('[')?.strip_suffix(']'));
    let owner = match (pid, kernel) {
        (Some(pid), _) => QueuePairOwner::Process(pid),
        (None, Some(kernel)) => QueuePairOwner::Kernel(kernel.to_owned()),
        (None, None) => QueuePairOwner::Unknown,
    };
    let pair = HostQueuePair {
        device: device.to_owned(),
        port,
        local: local?,
        remote: remote.filter(|remote| remote.value() != 0),
        kind: kind?,
        state: state?,
        owner,
    };
    let process = name.filter(|_| kernel.is_none()).map(str::to_owned);
    Some(ListedQueuePair { pair, process, addresses })
}

/// A number of 24 bits.
fn number(text: &str) -> Option<Qpn> {
    let number = text.parse().ok().filter(|number| *number < 1 << 24)?;
    Some(Qpn::new(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_several_releases() {
        let line = "link mlx5_0/1 lqpn 4711 rqpn 815 type RC state RTS rq-psn 7 sq-psn 9 \
                    path-mig-state MIGRATED pdn 3 pid 77 comm python3";
        let one = queue_pair(line).unwrap();
        assert_eq!((one.pair.local.value(), one.pair.remote.map(Qpn::value)), (4711, Some(815)));
        assert_eq!(one.pair.owner, QueuePairOwner::Process(77));
        assert_eq!(one.process.as_deref(), Some("python3"));
        assert_eq!(one.addresses, [] as [IpAddr; 0]);
        let ours = "address 10.0.0.1 address fe80::1 pid 77 comm pt main";
        let ours = queue_pair(&line.replace("pid 77 comm python3", ours)).unwrap();
        assert_eq!((ours.addresses.len(), ours.process.as_deref()), (2, Some("pt main")));
        let old = "1/1: mlx5_0/1: lqpn 1 type GSI state RTS sq-psn 0 comm [ib_core]";
        let one = queue_pair(old).unwrap();
        assert_eq!(one.pair.owner, QueuePairOwner::Kernel("ib_core".to_owned()));
        assert_eq!((one.pair.remote, one.process), (None, None));
        let unbound = "link rxe0/- lqpn 17 rqpn 0 type RC state RESET sq-psn 0 pid 5 comm drive";
        assert_eq!(queue_pair(unbound).unwrap().pair.port, None);
        for other in [
            "",
            "link mlx5_0/1 state ACTIVE physical_state LINK_UP netdev eth2",
            "link mlx5_0/1 lqpn 4711 type RC",
            "link mlx5_0/1 lqpn 16777216 type RC state RTS",
            "link mlx5_0/1 lqpn x type RC state RTS",
        ] {
            assert_eq!(queue_pair(other), None, "{other}");
        }
    }
}
