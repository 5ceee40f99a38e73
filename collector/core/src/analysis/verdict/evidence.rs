//! What rules conclude from.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use super::cost::Costs;
use crate::analysis::finding::Finding;
use crate::analysis::finding::facts::Facts;
use crate::analysis::path::outage::{self, Outage};
use crate::analysis::path::place::{self, Located, Ways};
use crate::analysis::path::spraying;
use crate::analysis::path::tally::{self, Direction, FlowEnds, Tally};
use crate::analysis::proxy::Judgement;
use crate::analysis::queue_pair::QueuePair;
use crate::analysis::severity::Severity;
use crate::analysis::straggler::jitter::Jitter;
use crate::analysis::straggler::significant::SignificantStraggler;
use crate::link::job::CommunicatorId;
use crate::link::rank_ports::RankPorts;
use crate::model::time::Span;

/// How ranks differ over many training steps.
#[derive(Clone, Copy, Debug)]
pub struct Lateness<'a> {
    /// Ranks that were late more often, or by more, than chance explains.
    pub stragglers: &'a [SignificantStraggler],
    /// What training steps wait for their last rank, whichever it is.
    pub jitters: &'a [Jitter],
    /// What profiles of NCCL's proxies show, by communicator.
    pub profiles: &'a [Judgement],
}

/// Everything that rules may use.
pub struct Evidence<'a> {
    /// The facts behind the findings.
    pub facts: &'a Facts<'a>,
    /// What was found, the worst first.
    pub findings: &'a [Finding],
    /// Which ranks were late, and how much all of them vary.
    pub lateness: Lateness<'a>,
    /// The two ends of every flow.
    pub ends: FlowEnds<'a>,
    /// Packets of each direction, sent and lost.
    pub tallies: BTreeMap<Direction, Tally>,
    /// Whether the fabric sprays packets.
    pub are_sprayed: bool,
    /// Where packets were lost.
    pub lost: Vec<Located>,
    /// When nothing came back.
    pub outages: Vec<Outage>,
    /// What each cause cost.
    pub costs: Costs,
    /// Which rank is at which port.
    pub rank_ports: RankPorts,
    /// Place of the queue pair that each flow is a view of.
    queue_pair_of: BTreeMap<u32, usize>,
}

impl<'a> Evidence<'a> {
    /// Gathers it.
    #[must_use]
    pub fn new(facts: &'a Facts<'a>, findings: &'a [Finding], lateness: Lateness<'a>) -> Self {
        let ends = FlowEnds::new(facts.state);
        let tallies = ends.tallies();
        let rank_ports = RankPorts::new(facts.job());
        let stalled = findings.iter().filter(|finding| finding.id == "stalled_collective");
        let stalled: BTreeSet<CommunicatorId> =
            stalled.filter_map(|finding| finding.subject.communicator).collect();
        let is_stalled =
            |pair: &&QueuePair| pair.owner.is_some_and(|own| stalled.contains(&own.communicator));
        let stalled = facts.flows.iter().filter(is_stalled);
        let stalled = stalled.flat_map(|pair| pair.views.iter().copied()).collect();
        let are_sprayed = spraying::are_sprayed(facts.flows);
        let views = facts.flows.iter().enumerate();
        let views = views.flat_map(|(at, pair)| pair.views.iter().map(move |view| (*view, at)));
        Self {
            facts,
            findings,
            lateness,
            are_sprayed,
            lost: place::locate(&tallies, Ways::of(are_sprayed)),
            outages: outage::outages(facts.state, &ends, &tallies, &stalled),
            ends,
            tallies,
            costs: Costs::new(facts),
            rank_ports,
            queue_pair_of: views.collect(),
        }
    }

    /// How packets pass the fabric.
    #[must_use]
    pub const fn ways(&self) -> Ways {
        Ways::of(self.are_sprayed)
    }

    /// The ports of all ranks of a communicator.
    #[must_use]
    pub fn ports_of_communicator(&self, id: Option<CommunicatorId>) -> BTreeSet<IpAddr> {
        id.map(|id| ports_of(self.facts, &self.rank_ports, id)).unwrap_or_default()
    }

    /// Whether data or ACKs went from one port to another.
    #[must_use]
    pub fn sends(&self, from: IpAddr, to: IpAddr) -> bool {
        self.tallies.contains_key(&(from, to))
    }

    /// The ports with which a port exchanged packets.
    #[must_use]
    pub fn peers(&self, port: IpAddr) -> BTreeSet<IpAddr> {
        self.tallies.keys().filter_map(|direction| tally::peer_of(port, *direction)).collect()
    }

    /// Whether a rank at one port sends data to another.
    #[must_use]
    pub fn sends_data(&self, from: IpAddr, to: IpAddr) -> bool {
        let mut flows = self.facts.flows.iter();
        flows.any(|pair| pair.is_data() && (pair.source, pair.destination) == (from, to))
    }

    /// The ranks at a port that receive these flows; none if one is unknown.
    #[must_use]
    pub fn receivers(&self, port: IpAddr, flows: &BTreeSet<u32>) -> Vec<(CommunicatorId, u32)> {
        let there = self.pairs_of(flows).filter(|pair| pair.destination == port);
        let receiver = |pair: &QueuePair| {
            let owner = pair.owner?;
            Some((owner.communicator, owner.receiver?))
        };
        let all: Option<BTreeSet<(CommunicatorId, u32)>> = there.map(receiver).collect();
        all.into_iter().flatten().collect()
    }

    fn pairs_of(&self, flows: &BTreeSet<u32>) -> impl Iterator<Item = &'a QueuePair> {
        flows.iter().filter_map(|flow| self.facts.flows.get(*self.queue_pair_of.get(flow)?))
    }

    /// Queue pairs that sent requests from one port to another at that time: others may have used the ports before
    /// and since.
    #[must_use]
    pub fn senders(&self, from: IpAddr, to: IpAddr, time: Span) -> u64 {
        let is_it = |pair: &&QueuePair| {
            pair.has_requests
                && (pair.source, pair.destination) == (from, to)
                && pair.span.overlaps(time)
        };
        self.facts.flows.iter().filter(is_it).count() as u64
    }

    /// Places of the findings with this id, with them.
    pub fn named(&self, id: &'static str) -> impl Iterator<Item = (usize, &'a Finding)> {
        self.findings.iter().enumerate().filter(move |(_, finding)| finding.id == id)
    }

    /// The same of those above `info`.
    pub fn warnings(&self, id: &'static str) -> impl Iterator<Item = (usize, &'a Finding)> {
        self.named(id).filter(|(_, finding)| finding.severity > Severity::Info)
    }

    /// The queue pairs that a finding is about.
    pub fn queue_pairs<'b>(
        &'b self,
        finding: &'b Finding,
    ) -> impl Iterator<Item = &'a QueuePair> + 'b {
        let place = |view: &u32| self.facts.flows.get(*self.queue_pair_of.get(view)?);
        finding.flows.iter().filter_map(place)
    }

    /// The packets of each direction that `count` counts, among all of its packets.
    #[must_use]
    pub fn by_direction(
        &self,
        count: impl Fn(&QueuePair) -> Option<(u64, u64)>,
    ) -> BTreeMap<Direction, Tally> {
        let mut tallies: BTreeMap<Direction, Tally> = BTreeMap::new();
        for flow in self.facts.flows {
            let Some((counted, of)) = count(flow) else { continue };
            let whole = Tally { is_whole: true, ..Tally::default() };
            let tally = tallies.entry((flow.source, flow.destination)).or_insert(whole);
            tally.lost += counted;
            tally.sent += of;
        }
        tallies
    }
}

fn ports_of(facts: &Facts<'_>, ports: &RankPorts, id: CommunicatorId) -> BTreeSet<IpAddr> {
    let ranks = facts.communicator(id).into_iter().flat_map(|known| &known.ranks);
    ranks.flat_map(|rank| ports.ports_of(id, rank.rank)).collect()
}
