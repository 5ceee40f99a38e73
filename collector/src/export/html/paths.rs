//! Who sends to whom: the queue pairs between two ranks together, or between two ports where no rank
//! is known.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::page::Page;
use crate::export::text::quantity::{count, counted, share};
use railscope_core::report::queue_pairs::QueuePairReport;
use railscope_core::report::verdicts::VerdictReport;

/// An end of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum End<'a> {
    Rank(u32),
    Port(&'a str),
}

/// The traffic from one end to another.
#[derive(Clone, Debug, Default)]
pub(super) struct Path {
    pub(super) queue_pairs: u64,
    pub(super) payload_bytes: u64,
    pub(super) retransmitted: u64,
    pub(super) missing: u64,
    pub(super) out_of_order: u64,
    /// `None` if no tap could see marks.
    pub(super) ce: Option<u64>,
    pub(super) ce_among: u64,
    pub(super) cnps: u64,
    pub(super) rnr_naks: u64,
    /// The worst verdict is about it.
    pub(super) is_sick: bool,
}

/// The paths of one communicator, or of ports without one.
pub(super) struct Paths<'a> {
    pub(super) communicator: Option<&'a str>,
    pub(super) all: BTreeMap<(End<'a>, End<'a>), Path>,
    /// Ends that the worst verdict is about.
    pub(super) sick: BTreeSet<End<'a>>,
}

impl Path {
    fn add(&mut self, one: &QueuePairReport, is_sick: bool) {
        self.queue_pairs += 1;
        self.payload_bytes += one.payload_bytes;
        self.retransmitted += one.retransmitted_packets;
        self.missing += one.missing_packets;
        self.out_of_order += one.out_of_order_packets;
        self.ce = match (self.ce, one.ce_packets) {
            (None, None) => None,
            (known, more) => Some(known.unwrap_or(0) + more.unwrap_or(0)),
        };
        self.ce_among += one.ce_among_packets;
        self.cnps += one.cnps;
        self.rnr_naks += one.rnr_naks;
        self.is_sick |= is_sick;
    }

    /// What was seen on it, the worst first; empty if nothing.
    pub(super) fn troubles(&self) -> Vec<String> {
        let marked = self.ce.filter(|ce| *ce > 0).map(|ce| share(ce, self.ce_among));
        let counts = [
            (self.missing, "missing"),
            (self.retransmitted, "retransmitted"),
            (self.rnr_naks, "RNR"),
        ];
        let counts = counts.into_iter().filter(|(packets, _)| *packets > 0);
        let counts = counts.map(|(packets, what)| format!("{} {what}", count(packets)));
        let late =
            (self.out_of_order > 0).then(|| format!("{} reordered", count(self.out_of_order)));
        let cnps = (self.cnps > 0).then(|| counted(self.cnps, "CNP"));
        counts.chain(marked.map(|share| format!("{share} CE"))).chain(cnps).chain(late).collect()
    }

    /// Orders paths by trouble.
    pub(super) fn weight(&self) -> Reverse<(bool, u64, u64, u64)> {
        let bad = self.missing + self.retransmitted + self.rnr_naks;
        Reverse((self.is_sick, bad, self.ce.unwrap_or(0) + self.cnps, self.payload_bytes))
    }
}

impl<'a> Paths<'a> {
    /// The paths of the communicator that the worst verdict is about, else of the one with most
    /// ranks, else between ports.
    pub(super) fn new(page: &Page<'a>) -> Self {
        let verdict = page.report.verdicts.first().filter(|one| one.is_problem());
        let sick = verdict.map(|one| Sick::new(page, one)).unwrap_or_default();
        let communicator = communicator(page, verdict, &sick);
        let mut paths = Self { communicator, all: BTreeMap::new(), sick: BTreeSet::new() };
        for one in &page.queue_pairs {
            let Some(ends) = ends(one, communicator) else { continue };
            let is_sick = sick.has(one);
            paths.all.entry(ends).or_default().add(one, is_sick);
            paths.sick.extend(sick.end(one, ends));
        }
        let ranks = verdict.and_then(|one| one.subject.rank).filter(|_| sick.is_of_rank);
        let of = verdict.and_then(|one| one.subject.communicator.as_deref());
        let is_here = of.is_none() || of == communicator;
        paths.sick.extend(ranks.filter(|_| is_here && communicator.is_some()).map(End::Rank));
        paths
    }
}

/// The two ends; `None` if it is of another communicator, or carries no data.
fn ends<'a>(one: &'a QueuePairReport, communicator: Option<&str>) -> Option<(End<'a>, End<'a>)> {
    match communicator {
        Some(id) => {
            let is_its = one.communicator.as_deref() == Some(id) && one.role == Some("data");
            let (rank, peer) = one.rank.zip(one.peer_rank).filter(|_| is_its)?;
            Some((End::Rank(rank), End::Rank(peer)))
        }
        None => one.has_requests.then_some((End::Port(&one.src), End::Port(&one.dst))),
    }
}

fn communicator<'a>(
    page: &Page<'a>,
    verdict: Option<&'a VerdictReport>,
    sick: &Sick<'_>,
) -> Option<&'a str> {
    let named = verdict.and_then(|one| one.subject.communicator.as_deref());
    let of_flows = || {
        let mut known = page.queue_pairs.iter().filter(|one| sick.has(one) && one.rank.is_some());
        known.find_map(|one| one.communicator.as_deref())
    };
    let largest = || {
        let ranked = |id: &str| {
            let data = |one: &&&QueuePairReport| ends(one, Some(id)).is_some();
            page.queue_pairs.iter().filter(data).count()
        };
        let all = page.report.communicators.iter().map(|one| one.id.as_str());
        all.map(|id| (ranked(id), id)).filter(|(pairs, _)| *pairs > 0).max().map(|(_, id)| id)
    };
    let has_paths = |id: &&str| page.queue_pairs.iter().any(|one| ends(one, Some(id)).is_some());
    named.filter(has_paths).or_else(of_flows).or_else(largest)
}

/// What the worst verdict is about.
#[derive(Default)]
struct Sick<'a> {
    flows: BTreeSet<u32>,
    source: Option<&'a str>,
    destination: Option<&'a str>,
    port: Option<&'a str>,
    is_of_rank: bool,
}

impl<'a> Sick<'a> {
    fn new(page: &Page<'a>, verdict: &'a VerdictReport) -> Self {
        let subject = &verdict.subject;
        let (port, peer) = (subject.port.as_deref(), subject.peer_port.as_deref());
        let (source, destination) = match subject.direction {
            Some("towards") => (peer, port),
            Some("from") => (port, peer),
            _ => (None, None),
        };
        let has_place = source.is_some() || destination.is_some();
        let flows = page.findings(&verdict.findings).into_iter().flat_map(|one| &one.flows);
        // Flows of a finding about one rank or one station are too many to blame.
        let flows = flows.filter(|_| !has_place && port.is_none() && subject.rank.is_none());
        let is_of_rank = !has_place && subject.rank.is_some();
        Self { flows: flows.copied().collect(), source, destination, port, is_of_rank }
    }

    fn has(&self, one: &QueuePairReport) -> bool {
        if self.source.is_some() || self.destination.is_some() {
            let is_from = self.source.is_none_or(|address| address == one.src);
            return is_from && self.destination.is_none_or(|address| address == one.dst);
        }
        one.flows.iter().any(|flow| self.flows.contains(flow))
    }

    /// The end that is at the port of the verdict.
    fn end<'b>(&self, one: &QueuePairReport, (from, to): (End<'b>, End<'b>)) -> Option<End<'b>> {
        let port = self.port?;
        let source = (one.src == port).then_some(from);
        source.or((one.dst == port).then_some(to))
    }
}
