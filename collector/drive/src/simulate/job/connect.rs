//! The connections of a job's rings: queue pairs, memory and keys of both ends.

use super::edge::{Connection, Edge};
use super::seats::Seats;
use crate::collective::ring::Ring;
use crate::simulate::network::Network;
use crate::simulate::network::id::NicId;
use crate::simulate::network::notice::{CallError, QueuePairId, QueuePairOptions};
use crate::simulate::network::packet::Ecn;
use crate::simulate::scenario::Scenario;
use crate::simulate::scenario::job::Job;
use crate::simulate::scenario::map::Map;

/// Start of a connection's memory, and the distance to the next one's: a buffer of 4 MiB and a
/// clear-to-send queue of 128 KiB.
const MEMORY: u64 = 0x7f20_0000_0000;
const MEMORY_EACH: u64 = 8 << 20;
const FIFO_WITHIN: u64 = 4 << 20;

/// Unit of `NCCL_IB_TIMEOUT`, ns.
const TIMEOUT_UNIT_NS: f64 = 4096.0;

/// Creates the connections of all channels, from each rank to the next.
pub(super) fn connect(
    job: &Job,
    scenario: &Scenario,
    map: &Map,
    (seats, rings): (&Seats, &[Ring]),
    network: &mut Network,
    random: &mut fastrand::Rng,
) -> Result<Vec<Edge>, CallError> {
    let options = QueuePairOptions {
        udp_source_port: 0,
        dscp: job.dscp,
        ecn: Ecn::Ect0,
        mtu: u16::try_from(scenario.fabric.mtu).unwrap_or(u16::MAX),
        timeout_ns: (TIMEOUT_UNIT_NS * f64::from(1_u32 << job.ib_timeout.min(31))) as u64,
        retries: job.ib_retries,
    };
    let watched = scenario.watched_hosts(map);
    let mut edges = Vec::new();
    for sender in 0..seats.ranks() {
        for (channel, ring) in (0..).zip(rings) {
            let receiver = ring.next(sender);
            let hosts = [sender, receiver].map(|rank| seats.host(rank));
            let mut network_connection = None;
            if hosts[0] != hosts[1] {
                let nics = hosts.map(|host| map.nic_of(host, seats.rail(channel)));
                let nics = nics.map(|nic| NicId(u32::try_from(nic).unwrap_or(u32::MAX)));
                let pairs = pair(network, nics, job.queue_pairs, options)?;
                let at = MEMORY + edges.len() as u64 * MEMORY_EACH;
                network_connection = Some(Connection {
                    sending: pairs.iter().map(|pair| pair[0]).collect(),
                    receiving: pairs.iter().map(|pair| pair[1]).collect(),
                    fifo: (at + FIFO_WITHIN, random.u32(1..)),
                    buffer: (at, random.u32(1..)),
                });
            }
            let is_watched = hosts.iter().any(|host| watched.contains(host));
            edges.push(Edge::new(sender, receiver, channel, network_connection, is_watched));
        }
    }
    Ok(edges)
}

fn pair(
    network: &mut Network,
    nics: [NicId; 2],
    count: u32,
    options: QueuePairOptions,
) -> Result<Vec<[QueuePairId; 2]>, CallError> {
    let mut pairs = Vec::new();
    for _ in 0..count {
        let [one, other] = nics.map(|nic| network.create_queue_pair(nic));
        let (one, other) = (one?, other?);
        let udp_source_port = udp_source_port(one.qpn, other.qpn);
        network.connect(one, other, QueuePairOptions { udp_source_port, ..options })?;
        pairs.push([one, other]);
    }
    Ok(pairs)
}

/// The source port that Linux and mlx5 choose for a connection: a flow label of both numbers,
/// folded (`rdma_calc_flow_label` and `rdma_flow_label_to_udp_sport` of Linux,
/// `include/rdma/ib_verbs.h`).
const fn udp_source_port(one: u32, other: u32) -> u16 {
    let mut product = one as u64 * other as u64;
    product ^= product >> 20;
    product ^= product >> 40;
    let label = (product & 0xf_ffff) as u32;
    ((label & 0x3fff) ^ ((label & 0xf_c000) >> 14) | 0xc000) as u16
}

#[cfg(test)]
mod tests {
    use super::udp_source_port;

    #[test]
    fn ports_are_those_of_rocev2_and_alike_both_ways() {
        for (one, other) in [(0x100, 0x100), (0x123, 0x45678), (0xff_ffff, 0xff_fffe)] {
            let port = udp_source_port(one, other);
            assert!(port >= 0xc000);
            assert_eq!(port, udp_source_port(other, one));
        }
        assert_ne!(udp_source_port(0x100, 0x100), udp_source_port(0x101, 0x100));
    }
}
