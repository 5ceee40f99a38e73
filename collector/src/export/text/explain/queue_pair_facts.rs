//! Everything that the report has about a queue pair.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::net::IpAddr;

use serde::Serialize;

use super::missing::Missing;
use railscope_core::report::Report;
use railscope_core::report::communicators::ConnectionReport;
use railscope_core::report::flows::{EpisodeReport, FlowReport};
use railscope_core::report::processes::EndReport;
use railscope_core::report::queue_pairs::QueuePairReport;

/// Most numbers listed in the error for one that does not exist.
const LISTED: usize = 12;

/// A queue pair: its flows in both directions, and its owner.
#[derive(Clone, Debug, Serialize)]
pub struct QueuePairFacts<'a> {
    /// Address of its host.
    pub(super) address: IpAddr,
    /// Its number.
    pub(super) qpn: u32,
    /// Address of the other end's host, if known.
    pub(super) peer_address: Option<&'a str>,
    /// Number of the other end, if known.
    pub(super) peer_qpn: Option<u32>,
    /// Its process, if its host's list of queue pairs was read.
    pub(super) process: Option<&'a EndReport>,
    /// The process at the other end.
    pub(super) peer_process: Option<&'a EndReport>,
    /// Files of the taps, by tap.
    #[serde(skip)]
    pub(super) files: Vec<&'a str>,
    /// Flows in both directions, by tap.
    pub(super) flows: Vec<DirectedFlow<'a>>,
    /// Recoveries, the longest first: each once, however many taps captured it.
    pub(super) recoveries: Vec<Recovery<'a>>,
    /// `id` of the communicator, and the connection it belongs to.
    pub(super) connection: Option<(&'a str, &'a ConnectionReport)>,
}

/// A flow at one tap, and whether it goes to the queue pair.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct DirectedFlow<'a> {
    pub(super) is_incoming: bool,
    pub(super) flow: &'a FlowReport,
}

/// A recovery, as captured by the tap that captured most of its flow.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Recovery<'a> {
    pub(super) is_incoming: bool,
    pub(super) tap: u32,
    #[serde(flatten)]
    pub(super) episode: &'a EpisodeReport,
}

impl<'a> QueuePairFacts<'a> {
    /// Finds the queue pair with this number on the host with this address.
    pub(super) fn find(report: &'a Report, address: IpAddr, qpn: u32) -> Result<Self, Missing> {
        let host = address.to_string();
        let directed = |flow: &'a FlowReport| {
            let is_incoming = flow.dst == host && flow.dest_qpn == qpn;
            let is_outgoing = flow.src == host && flow.source_qpn == Some(qpn);
            (is_incoming || is_outgoing).then_some(DirectedFlow { is_incoming, flow })
        };
        let flows: Vec<DirectedFlow<'_>> = report.flows.iter().filter_map(directed).collect();
        let connection = connection(report, &host, qpn);
        let peer = flows.iter().find_map(|one| peer_of(one, qpn)).or_else(|| {
            let (_, connection) = connection?;
            let mut pairs = connection.queue_pairs.iter();
            pairs.find_map(|pair| match (pair.src_qpn, pair.dst_qpn) {
                (sender, receiver) if receiver == qpn && pair.dst == host => {
                    Some((pair.src.as_str(), sender))
                }
                (Some(sender), receiver) if sender == qpn && pair.src == host => {
                    Some((pair.dst.as_str(), Some(receiver)))
                }
                _ => None,
            })
        });
        if flows.is_empty() && connection.is_none() {
            return Err(missing(report, &host, qpn));
        }
        let mut pairs = report.queue_pairs.iter();
        let ends = pairs.find_map(|pair| {
            let (source, dest) = (pair.source_process.as_deref(), pair.dest_process.as_deref());
            match () {
                () if pair.dst == host && pair.dest_qpn == qpn => Some((dest, source)),
                () if pair.src == host && pair.source_qpn == Some(qpn) => Some((source, dest)),
                () => None,
            }
        });
        let (process, peer_process) = ends.unwrap_or_default();
        Ok(Self {
            process,
            peer_process,
            address,
            qpn,
            peer_address: peer.map(|(address, _)| address),
            peer_qpn: peer.and_then(|(_, qpn)| qpn),
            files: report.taps.iter().map(|tap| tap.file.as_str()).collect(),
            recoveries: recoveries(report, &flows),
            flows,
            connection,
        })
    }
}

/// The recoveries of each direction.
fn recoveries<'a>(report: &'a Report, flows: &[DirectedFlow<'a>]) -> Vec<Recovery<'a>> {
    let of_pair = |pair: &QueuePairReport| {
        let is_its = |one: &&DirectedFlow<'_>| {
            one.flow.dest_qpn == pair.dest_qpn && pair.flows.contains(&one.flow.id)
        };
        let is_incoming = flows.iter().find(is_its)?.is_incoming;
        Some((is_incoming, report.flow(pair.recovery_flow?)?))
    };
    let recovered = report.queue_pairs.iter().filter_map(of_pair);
    let episodes = recovered.flat_map(|(is_incoming, flow): (bool, &'a FlowReport)| {
        let episodes = flow.episodes.iter();
        episodes.map(move |episode| Recovery { is_incoming, tap: flow.tap, episode })
    });
    let mut all: Vec<Recovery<'_>> = episodes.collect();
    all.sort_by_key(|one| (Reverse(one.episode.recovery_ns), one.episode.start_ns, one.tap));
    all
}

/// The other end of a flow.
fn peer_of<'a>(one: &DirectedFlow<'a>, qpn: u32) -> Option<(&'a str, Option<u32>)> {
    let flow = one.flow;
    match one.is_incoming {
        true => Some((&flow.src, flow.source_qpn)),
        false => (flow.source_qpn == Some(qpn)).then_some((flow.dst.as_str(), Some(flow.dest_qpn))),
    }
}

/// The connection that names it.
fn connection<'a>(
    report: &'a Report,
    address: &str,
    qpn: u32,
) -> Option<(&'a str, &'a ConnectionReport)> {
    report.communicators.iter().find_map(|communicator| {
        let names = |connection: &&ConnectionReport| {
            connection.queue_pairs.iter().any(|pair| {
                (pair.src == address && pair.src_qpn == Some(qpn))
                    || (pair.dst == address && pair.dst_qpn == qpn)
            })
        };
        let connection = communicator.connections.iter().find(names)?;
        Some((communicator.id.as_str(), connection))
    })
}

/// The error for a queue pair that does not exist.
fn missing(report: &Report, address: &str, qpn: u32) -> Missing {
    let mut addresses = BTreeSet::new();
    let mut numbers = BTreeSet::new();
    for flow in &report.flows {
        addresses.extend([flow.src.as_str(), flow.dst.as_str()]);
        if flow.dst == address {
            numbers.insert(flow.dest_qpn);
        }
        if flow.src == address {
            numbers.extend(flow.source_qpn);
        }
    }
    let list = |items: Vec<String>| {
        let more = if items.len() > LISTED { ", ..." } else { "" };
        format!("{}{more}", items[..items.len().min(LISTED)].join(", "))
    };
    let text = if addresses.is_empty() {
        "no RoCEv2 in this input, so no queue pairs".to_owned()
    } else if numbers.is_empty() {
        let addresses = list(addresses.into_iter().map(str::to_owned).collect());
        format!("no RoCEv2 from or to {address}; this input has {addresses}")
    } else {
        let numbers = list(numbers.into_iter().map(|qpn| format!("{qpn:#x}")).collect());
        format!("no queue pair {qpn:#x} on {address}, which has {numbers}")
    };
    Missing(text)
}
