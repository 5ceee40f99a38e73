//! Builds a rank's records of the truth file.

use std::net::{IpAddr, Ipv6Addr};

use super::network::Network;
use crate::bootstrap::identity;
use crate::collective::{Kind, Operation};
use crate::fault::Iterations;
use crate::fault::{Fault, PacketFault, PauseFault, SocketFault};
use crate::job::{Job, Seat, Transport};
use crate::net::{ChannelLinks, LinkFacts, Net};
use crate::rdma::soft::{Counters, FaultKind, Injection, PortPause};
use crate::report::RankReport;
use crate::truth::{self, FaultRecord, LinkRole, Record};
use crate::wire::UniqueId;
use crate::{DriveError, Result};

/// The job and the rank; rank 0 also records the faults of all.
pub(super) fn beginning(
    job: &Job,
    seat: &Seat,
    id: &UniqueId,
    network: &Network,
    report: &mut dyn RankReport,
) -> Result<()> {
    let no_root = || DriveError::Protocol {
        peer: "rank 0".to_owned(),
        what: "a unique id without an address".to_owned(),
    };
    report.record(&Record::Job(truth::Job {
        schema: truth::SCHEMA.to_owned(),
        nccl_version: job.release.to_string(),
        transport: transport(job.transport).to_owned(),
        network: network.name().to_owned(),
        ranks: seat.ranks,
        channels: job.channels,
        store: seat.store,
        unique_id: id.0.iter().map(|byte| format!("{byte:02x}")).collect(),
        magic: format!("{:#018x}", id.magic()),
        comm_hash: format!("{:#018x}", id.comm_hash(job.release)),
        root: id.root().ok_or_else(no_root)?,
    }))?;
    let device = network.device();
    report.record(&Record::Rank(truth::Rank {
        rank: seat.rank,
        host: seat.host.clone(),
        pid: std::process::id(),
        address: seat.address,
        data_address: device.map_or(seat.address, |device| address_of(device.gid)),
        interface: seat.interface.clone(),
        device: device.map(|device| device.name.clone()).unwrap_or_default(),
        bus_id: identity::bus_id_text(seat.local_rank),
    }))?;
    for fault in job.faults.iter().filter(|_| seat.rank == 0) {
        report.record(&Record::Fault(fault_record(fault)))?;
    }
    Ok(())
}

/// Both ends of the rank's links on each channel.
pub(super) fn links(seat: &Seat, links: &[ChannelLinks], net: &dyn Net) -> Vec<Record> {
    let Seat { rank, ranks, .. } = *seat;
    let (previous, next) = ((rank + ranks - 1) % ranks, (rank + 1) % ranks);
    let ends = links.iter().flat_map(|link| {
        let sender = net.sender_facts(link.send);
        let receiver = net.receiver_facts(link.receive);
        [
            end(rank, next, LinkRole::Sender, link.channel, sender),
            end(rank, previous, LinkRole::Receiver, link.channel, receiver),
        ]
    });
    ends.map(Record::Link).collect()
}

fn end(rank: u32, peer: u32, role: LinkRole, channel: u32, facts: &LinkFacts) -> truth::Link {
    truth::Link {
        rank,
        peer,
        role,
        channel,
        qpns: facts.qpns.clone(),
        peer_qpns: facts.peer_qpns.clone(),
        connector: facts.connector,
        listener: facts.listener,
        fifo_address: facts.fifo.map(|(address, _)| address),
        fifo_rkey: facts.fifo.map(|(_, rkey)| rkey),
    }
}

/// A collective, recorded by rank 0.
pub(super) fn collective(
    sequence: u64,
    operation: &Operation,
    ranks: u32,
    iteration: Option<u32>,
    is_warmup: bool,
) -> Record {
    let is_reduced = matches!(operation.kind, Kind::AllReduce | Kind::ReduceScatter);
    Record::Collective(truth::Collective {
        sequence,
        kind: operation.kind.name().to_owned(),
        algorithm: "ring".to_owned(),
        protocol: "simple".to_owned(),
        bytes: operation.total_bytes(ranks) as u64,
        data_type: operation.data_type.name().to_owned(),
        operator: if is_reduced { operation.operator.name() } else { "none" }.to_owned(),
        root: (operation.kind == Kind::Broadcast).then_some(operation.root),
        iteration,
        is_warmup,
    })
}

pub(super) fn injected(rank: u32, packet: &Injection) -> Record {
    Record::Injected(truth::Injected {
        kind: injected_kind(packet.kind).to_owned(),
        rank,
        ns: packet.ns,
        qpn: packet.qpn,
        psn: packet.psn,
    })
}

pub(super) fn paused(rank: u32, pause: &PortPause) -> Record {
    Record::Pause(truth::Pause {
        rank,
        is_asked: pause.is_asked,
        class: pause.class,
        start_ns: pause.start_ns,
        end_ns: pause.end_ns,
    })
}

pub(super) fn adapter(rank: u32, counters: &Counters) -> Record {
    Record::Adapter(truth::Adapter {
        rank,
        packets_sent: counters.packets_sent,
        packets_received: counters.packets_received,
        retransmitted: counters.retransmitted,
        timeouts: counters.timeouts,
        sequence_naks_sent: counters.sequence_naks_sent,
        rnr_naks_sent: counters.rnr_naks_sent,
        ce_received: counters.ce_received,
        cnps_sent: counters.cnps_sent,
        cnps_received: counters.cnps_received,
        overflowed: counters.overflowed,
        unsent: counters.unsent,
        icrc_errors: counters.icrc_errors,
    })
}

const fn injected_kind(kind: FaultKind) -> &'static str {
    match kind {
        FaultKind::Loss => "loss",
        FaultKind::Reorder => "reorder",
        FaultKind::MarkCe => "mark_ce",
    }
}

const fn transport(transport: Transport) -> &'static str {
    match transport {
        Transport::Soft => "soft",
        Transport::Verbs => "verbs",
        Transport::Socket => "socket",
    }
}

fn fault_record(fault: &Fault) -> FaultRecord {
    let first = |range: Option<&Iterations>| range.map(|range| range.start);
    let last = |range: Option<&Iterations>| range.map(|range| range.end.saturating_sub(1));
    let late = |kind, rank: u32, delay: std::time::Duration, iterations: Option<&Iterations>| {
        FaultRecord {
            rank: Some(rank),
            delay_ns: u64::try_from(delay.as_nanos()).ok(),
            first_iteration: first(iterations),
            last_iteration: last(iterations),
            ..FaultRecord::plain(kind)
        }
    };
    let packets = |kind, PacketFault { edge, share, iterations }: &PacketFault| FaultRecord {
        from: edge.map(|(from, _)| from),
        to: edge.map(|(_, to)| to),
        share: Some(*share),
        first_iteration: first(iterations.as_ref()),
        last_iteration: last(iterations.as_ref()),
        ..FaultRecord::plain(kind)
    };
    match fault {
        Fault::Straggler { rank, delay, iterations } => {
            late("straggler", *rank, *delay, iterations.as_ref())
        }
        Fault::LateGpu { rank, delay, iterations } => FaultRecord {
            cause: Some("compute".to_owned()),
            ..late("straggler", *rank, *delay, iterations.as_ref())
        },
        Fault::LateReceiver { rank, delay, iterations } => {
            late("late_receiver", *rank, *delay, iterations.as_ref())
        }
        Fault::Loss(which) => packets("loss", which),
        Fault::Reorder(which) => packets("reorder", which),
        Fault::MarkCe(which) => packets("mark_ce", which),
        Fault::Pause(PauseFault { edge, share, iterations }) => packets(
            "pause",
            &PacketFault { edge: Some(*edge), share: *share, iterations: iterations.clone() },
        ),
        Fault::SocketFallback => FaultRecord::plain("socket_fallback"),
        Fault::SlowSocket(SocketFault { edge: (from, to), bits_per_second, iterations }) => {
            FaultRecord {
                from: Some(*from),
                to: Some(*to),
                bits_per_second: Some(*bits_per_second),
                first_iteration: first(iterations.as_ref()),
                last_iteration: last(iterations.as_ref()),
                ..FaultRecord::plain("slow_socket")
            }
        }
        Fault::PathMtu { rank, bytes } => {
            FaultRecord { rank: Some(*rank), mtu: Some(*bytes), ..FaultRecord::plain("path_mtu") }
        }
        Fault::MissingRank { rank } => {
            FaultRecord { rank: Some(*rank), ..FaultRecord::plain("missing_rank") }
        }
    }
}

/// The address in a GID: IPv4 is mapped.
fn address_of(gid: [u8; 16]) -> IpAddr {
    let address = Ipv6Addr::from(gid);
    address.to_ipv4_mapped().map_or(IpAddr::V6(address), IpAddr::V4)
}
