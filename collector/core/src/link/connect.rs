//! Connections: which flows make one NCCL connection, from the exchange of its queue pairs or, if
//! that was not captured, from the traffic itself.
//!
//! A connection is one direction of one channel between two ranks: its queue pairs carry data one
//! way, and clear-to-sends and ACKs the other.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use foldhash::fast::FixedState;

use super::clock::clocks::Clocks;
use super::control::facts::{ControlFacts, Endpoint, Exchange};
use super::evidence::{Evidence, EvidenceKind, add_evidence};
use super::job::{CommunicatorId, NetConnection, QueuePairEnds, Role};
use super::position::TapPosition;
use super::traffic::record::FlowTraffic;
use super::traffic::transfer::{self, ConnectionView, OVERLAPPING_OFFERS, Transfers};
use crate::decode::nccl::layout::ReleaseRange;
use crate::flow::key::FlowKey;
use crate::flow::state::{Flow, PairEvidence};
use crate::flow::table::FlowTable;
use crate::model::address::HostAddress;
use crate::model::grade::Grade;
use crate::model::qpn::Qpn;
use crate::model::tap::TapId;
use crate::model::time::{Span, Timestamp};
use crate::model::witness::Witness;

/// A connection whose ranks are not known yet.
#[derive(Clone, Debug, Default)]
pub struct Draft {
    /// Its queue pairs of which both ends are known, in NCCL's order.
    pub queue_pairs: Vec<QueuePairEnds>,
    /// Its flows at all taps.
    pub flows: Vec<DraftFlow>,
    /// The exchange, if it was captured: the sender's and the receiver's end of its TCP connection.
    pub exchange: Option<(SocketAddr, SocketAddr)>,
    /// Device names of the sender and of the receiver.
    pub devices: [Option<String>; 2],
    /// Where the sender's CTS FIFO starts.
    pub fifo_address: Option<u64>,
    /// When the exchange was complete.
    pub exchanged_at: Timestamp,
    /// Releases that match its exchange.
    pub releases: Option<ReleaseRange>,
    /// The first clear-to-send that was seen.
    pub first_cts: Option<Witness>,
    /// Its messages.
    pub traffic: Transfers,
    /// Evidence that its queue pairs are a connection.
    pub evidence: Vec<Evidence>,
}

impl Draft {
    /// The connection, of unknown ranks.
    pub(super) fn into_connection(self, communicator: CommunicatorId) -> NetConnection {
        NetConnection {
            communicator,
            sender: None,
            receiver: None,
            channel: None,
            graph: None,
            queue_pairs: self.queue_pairs,
            exchange: self.exchange,
            socket: None,
            first_cts: self.first_cts,
            matched: self.traffic.matched,
            unmatched: self.traffic.unmatched,
            transfers: self.traffic.transfers,
            unanswered: self.traffic.unanswered,
            evidence: self.evidence,
            grade: Grade::Unknown,
        }
    }
}

/// A flow of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DraftFlow {
    /// Its index in the flow table.
    pub at: u32,
    /// Index of its queue pair in the connection.
    pub queue_pair: u8,
    /// Its direction.
    pub role: Role,
}

/// The flows of a capture and their context.
#[derive(Clone, Copy)]
pub struct Traffic<'a> {
    /// All flows.
    pub table: &'a FlowTable,
    /// Where each tap is, by tap.
    pub positions: &'a [TapPosition],
    /// Their clocks: message times are aligned already, the table's are not.
    pub clocks: &'a Clocks,
}

/// What identifies a flow across taps: source, destination, QPN.
type Way = (HostAddress, HostAddress, Qpn);

/// The connections of a capture, with NCCL's messages, which `records` has by flow.
#[must_use]
pub fn drafts(
    facts: &ControlFacts,
    traffic: Traffic<'_>,
    records: Vec<Arc<FlowTraffic>>,
) -> Vec<Draft> {
    let mut finder = Finder::new(traffic, &records);
    finder.add_exchanges(facts);
    finder.add_exchanged_flows();
    finder.add_unannounced();
    let Finder { drafts, .. } = finder;
    let mut drafts = assemble(drafts, traffic, records);
    // For an exchange with one end only, no queue pair is completely known.
    drafts.retain(|draft| !draft.queue_pairs.is_empty());
    drafts
}

struct Finder<'a> {
    traffic: Traffic<'a>,
    records: &'a [Arc<FlowTraffic>],
    drafts: Vec<Draft>,
    /// Announced flows: when, and for which connection.
    announced: HashMap<Way, Vec<(Timestamp, DraftPlace)>, FixedState>,
    /// Flows that have a connection, by index.
    taken: BTreeSet<u32>,
}

#[derive(Clone, Copy, Debug)]
struct DraftPlace {
    draft: usize,
    queue_pair: u8,
    role: Role,
}

impl<'a> Finder<'a> {
    fn new(traffic: Traffic<'a>, records: &'a [Arc<FlowTraffic>]) -> Self {
        let (drafts, announced, taken) = (Vec::new(), HashMap::default(), BTreeSet::new());
        Self { traffic, records, drafts, announced, taken }
    }

    fn flow(&self, at: u32) -> &'a Flow {
        &self.traffic.table.flows()[at as usize]
    }

    /// One draft per exchange; the same exchange seen at two taps is one.
    fn add_exchanges(&mut self, facts: &ControlFacts) {
        let mut known: HashMap<(SocketAddr, SocketAddr), Merged, FixedState> = HashMap::default();
        let mut order = Vec::new();
        for exchange in &facts.exchanges {
            let ends = (exchange.connector, exchange.listener);
            known.entry(ends).or_insert_with(|| {
                order.push(ends);
                Merged::default()
            });
            if let Some(merged) = known.get_mut(&ends) {
                merged.add(exchange);
            }
        }
        for ends in order {
            if let Some(merged) = known.remove(&ends) {
                self.add_exchange(ends, merged);
            }
        }
    }

    fn add_exchange(&mut self, ends: (SocketAddr, SocketAddr), merged: Merged) {
        let Merged { sender, receiver, evidence, time, releases } = merged;
        let draft = self.drafts.len();
        let name = |end: &Option<Endpoint>| {
            end.as_ref().map(|end| end.device_name.clone()).filter(|name| !name.is_empty())
        };
        self.drafts.push(Draft {
            exchange: Some(ends),
            devices: [name(&sender), name(&receiver)],
            fifo_address: sender.as_ref().map(|sender| sender.fifo_address).filter(|at| *at != 0),
            exchanged_at: time,
            releases,
            evidence,
            ..Draft::default()
        });
        let pairs = |end: &Option<Endpoint>| {
            end.as_ref().map_or_else(Vec::new, |end| end.queue_pairs.clone())
        };
        for (at, (sender, receiver)) in (0_u8..).zip(pairs(&sender).iter().zip(&pairs(&receiver))) {
            let Some((from, to)) = sender.address.zip(receiver.address) else { continue };
            self.drafts[draft].queue_pairs.push(QueuePairEnds {
                sender: from,
                sender_qpn: Some(sender.qpn),
                receiver: to,
                receiver_qpn: receiver.qpn,
            });
            self.announce((from, to, receiver.qpn), time, draft, at, Role::Data);
            self.announce((to, from, sender.qpn), time, draft, at, Role::Control);
        }
    }

    fn announce(
        &mut self,
        (from, to, qpn): (IpAddr, IpAddr, Qpn),
        time: Timestamp,
        draft: usize,
        queue_pair: u8,
        role: Role,
    ) {
        let way = (from.into(), to.into(), qpn);
        let place = DraftPlace { draft, queue_pair, role };
        self.announced.entry(way).or_default().push((time, place));
    }

    /// Assigns announced flows to their connections: numbers are reused, so the latest exchange
    /// before a flow is the one that set it up.
    fn add_exchanged_flows(&mut self) {
        if self.announced.is_empty() {
            return;
        }
        let flows = (0..).zip(self.traffic.table.flows());
        let flows = flows.filter(|(_, flow)| self.announced.contains_key(&way_of(flow)));
        let mut flows: Vec<(u32, &Flow)> = flows.collect();
        flows.sort_unstable_by_key(|(_, flow)| (flow.key, flow.epoch));
        for (at, flow) in flows {
            let Some(announced) = self.announced.get(&way_of(flow)) else { continue };
            // The first answers to a new use may come before its first request.
            let last = match flow.requester().requests.first() {
                Some(_) => flow.requester().requests.last_time(),
                None => flow.span.last,
            };
            let last = self.traffic.clocks.aligned(flow.key.tap, last);
            let before = announced.iter().filter(|(time, _)| *time <= last);
            let latest = before.max_by_key(|(time, _)| *time);
            // Clocks of two hosts differ slightly; a flow that ended long before belongs to another
            // connection.
            let soon = last.plus_nanos(CLOCK_SLACK_NS);
            let next = announced.iter().filter(|(time, _)| *time <= soon);
            let Some((_, place)) = latest.or(next.min_by_key(|(time, _)| *time)) else { continue };
            let DraftPlace { draft, queue_pair, role } = *place;
            self.drafts[draft].flows.push(DraftFlow { at, queue_pair, role });
            self.taken.insert(at);
        }
    }

    /// Connections set up before the capture began: flows of clear-to-sends, and the flows of data
    /// that go where these point.
    fn add_unannounced(&mut self) {
        let mut uses: BTreeMap<Way, Vec<Use>> = BTreeMap::new();
        let mut draft_of: BTreeMap<(FlowKey, u32), usize> = BTreeMap::new();
        let traffic = self.traffic;
        let places = self.unannounced_places();
        for (records, at) in self.records.iter().zip(&places) {
            let Some(at) = *at else { continue };
            let Some(span) = offered_in(records, traffic.clocks) else { continue };
            let known = uses.entry(way_of(self.flow(at))).or_default();
            let tap = records.key.tap;
            let draft = match known.iter_mut().find(|one| one.may_include(tap, span)) {
                Some(one) => one.extend(tap, span),
                None => {
                    self.drafts.push(Draft::default());
                    let draft = self.drafts.len() - 1;
                    known.push(Use { span, taps: BTreeSet::from([tap]), draft });
                    draft
                }
            };
            draft_of.insert((records.key, records.epoch), draft);
            self.drafts[draft].flows.push(DraftFlow { at, queue_pair: 0, role: Role::Control });
            self.taken.insert(at);
        }
        let controls = self.controls(&places);
        let mut queue_pairs: BTreeMap<usize, Vec<Way>> = BTreeMap::new();
        for (records, at) in self.records.iter().zip(&places) {
            let Some(at) = *at else { continue };
            if records.data.is_empty() || !records.cts.is_empty() {
                continue;
            }
            let Some((control, evidence)) = best_match(records, &controls) else { continue };
            let control = (control.key, control.epoch);
            let Some(draft) = draft_of.get(&control).copied() else { continue };
            let known = queue_pairs.entry(draft).or_default();
            let way = way_of(self.flow(at));
            let queue_pair = known.iter().position(|known| *known == way).unwrap_or_else(|| {
                known.push(way);
                known.len() - 1
            });
            add_evidence(&mut self.drafts[draft].evidence, evidence);
            let queue_pair = queue_pair.min(usize::from(u8::MAX)) as u8;
            self.drafts[draft].flows.push(DraftFlow { at, queue_pair, role: Role::Data });
            self.taken.insert(at);
        }
        self.describe_unannounced();
    }

    /// By record: the flow's index, if it has no connection yet.
    fn unannounced_places(&self) -> Vec<Option<u32>> {
        let records = self.records.iter();
        if records.len() == 0 {
            return Vec::new();
        }
        let flows = (0..).zip(self.traffic.table.flows());
        let places: HashMap<(FlowKey, u32), u32, FixedState> =
            flows.map(|(at, flow)| ((flow.key, flow.epoch), at)).collect();
        let place = |records: &FlowTraffic| places.get(&(records.key, records.epoch)).copied();
        records.map(|records| place(records).filter(|at| !self.taken.contains(at))).collect()
    }

    /// Flows of clear-to-sends without an announced connection, by tap, source and destination.
    fn controls(&self, places: &[Option<u32>]) -> Controls<'a> {
        let mut controls = Controls::new();
        for (records, at) in self.records.iter().zip(places) {
            if at.is_some() && !records.cts.is_empty() {
                let FlowKey { tap, source, destination, .. } = records.key;
                let addresses = Addresses::of_offers(records);
                let control = Control { records, addresses };
                controls.entry((tap, source, destination)).or_default().push(control);
            }
        }
        controls
    }

    /// Names the queue pairs of connections without a captured exchange; drops those without data.
    fn describe_unannounced(&mut self) {
        for at in 0..self.drafts.len() {
            if self.drafts[at].exchange.is_some() {
                continue;
            }
            let flows = self.drafts[at].flows.clone();
            let has_data = flows.iter().any(|flow| flow.role == Role::Data);
            if !has_data {
                for flow in flows {
                    self.taken.remove(&flow.at);
                }
                self.drafts[at].flows.clear();
                continue;
            }
            let control = flows.iter().find(|flow| flow.role == Role::Control);
            let first_control = control.map(|flow| self.flow(flow.at).key.dest_qpn);
            let mut pairs: BTreeMap<u8, QueuePairEnds> = BTreeMap::new();
            for draft_flow in flows.iter().filter(|flow| flow.role == Role::Data) {
                let flow = self.flow(draft_flow.at);
                let own = first_control.filter(|_| draft_flow.queue_pair == 0);
                let pair = pairs.entry(draft_flow.queue_pair).or_insert(QueuePairEnds {
                    sender: flow.key.source.to_ip(),
                    sender_qpn: None,
                    receiver: flow.key.destination.to_ip(),
                    receiver_qpn: flow.key.dest_qpn,
                });
                pair.sender_qpn = pair.sender_qpn.or(flow.source_qpn()).or(own);
                let Some(reverse) = flow.reverse else { continue };
                let kind = match reverse.evidence {
                    PairEvidence::UdpPort => EvidenceKind::UdpPort,
                    PairEvidence::PsnAck => EvidenceKind::PsnAck,
                    PairEvidence::ConnectionManager => EvidenceKind::ConnectionManager,
                };
                let evidence = Evidence { kind, witness: None, count: 1 };
                add_evidence(&mut self.drafts[at].evidence, evidence);
                // The ACKs of queue pairs that carry no clear-to-send.
                let answers = reverse.flow;
                if self.taken.insert(answers) {
                    let queue_pair = draft_flow.queue_pair;
                    let flow = DraftFlow { at: answers, queue_pair, role: Role::Control };
                    self.drafts[at].flows.push(flow);
                }
            }
            self.drafts[at].queue_pairs = pairs.into_values().collect();
        }
    }
}

/// Puts the messages of each connection together. A flow belongs to one connection at most, so that its records go
/// when that is assembled: transfers take about as much memory as the records of all.
fn assemble(
    mut drafts: Vec<Draft>,
    traffic: Traffic<'_>,
    records: Vec<Arc<FlowTraffic>>,
) -> Vec<Draft> {
    let named = records.into_iter().map(|known| ((known.key, known.epoch), known));
    let mut records: HashMap<(FlowKey, u32), Arc<FlowTraffic>, FixedState> = named.collect();
    for draft in &mut drafts {
        let known = draft.flows.iter().filter_map(|flow| {
            let Flow { key, epoch, .. } = &traffic.table.flows()[flow.at as usize];
            Some((*flow, records.remove(&(*key, *epoch))?))
        });
        let flows: Vec<(DraftFlow, Arc<FlowTraffic>)> = known.collect();
        let mut views: BTreeMap<TapId, ConnectionView<'_>> = BTreeMap::new();
        for (flow, records) in &flows {
            let key = records.key;
            let (from, to) = match flow.role {
                Role::Data => (key.source, key.destination),
                Role::Control => (key.destination, key.source),
            };
            let position = traffic.positions[key.tap.0 as usize].for_flow(from, to);
            let view = views.entry(key.tap).or_insert_with(|| ConnectionView {
                position,
                data: Vec::new(),
                control: Vec::new(),
            });
            match flow.role {
                Role::Data => view.data.push((flow.queue_pair, records)),
                Role::Control => {
                    let first = records.cts.iter().next().map(|cts| Witness::Frame {
                        tap: key.tap,
                        number: u64::from(cts.number),
                        time: cts.time,
                    });
                    draft.first_cts = draft.first_cts.or(first);
                    view.control.push(records);
                }
            }
        }
        let views: Vec<ConnectionView<'_>> = views.into_values().collect();
        draft.traffic = transfer::assemble(&views, draft.fifo_address);
    }
    drafts
}

/// Largest assumed difference between the clocks of two hosts.
const CLOCK_SLACK_NS: u64 = 1_000_000_000;

/// Messages of a flow examined to find its connection.
const MATCH_SAMPLE: usize = 256;

fn way_of(flow: &Flow) -> Way {
    (flow.key.source, flow.key.destination, flow.key.dest_qpn)
}

/// One use of a queue pair's number: taps may have seen different numbers of uses, but they saw this
/// one at the same time.
struct Use {
    span: Span,
    taps: BTreeSet<TapId>,
    draft: usize,
}

impl Use {
    /// Whether the flow that `tap` saw in `span` may be a view of it: one tap sees each use once.
    fn may_include(&self, tap: TapId, span: Span) -> bool {
        !self.taps.contains(&tap)
            && span.first <= self.span.last.plus_nanos(CLOCK_SLACK_NS)
            && self.span.first <= span.last.plus_nanos(CLOCK_SLACK_NS)
    }

    /// Adds another tap's view; returns the draft.
    fn extend(&mut self, tap: TapId, span: Span) -> usize {
        self.taps.insert(tap);
        self.span.first = self.span.first.min(span.first);
        self.span.last = self.span.last.max(span.last);
        self.draft
    }
}

/// From the first clear-to-send of a flow to the last, aligned; `None` without any.
fn offered_in(records: &FlowTraffic, clocks: &Clocks) -> Option<Span> {
    let aligned = |time| clocks.aligned(records.key.tap, time);
    let first = records.cts.iter().next()?.time;
    let last = records.cts.iter().last()?.time;
    Some(Span { first: aligned(first), last: aligned(last) })
}

/// Flows of clear-to-sends by tap, source and destination.
type Controls<'a> = BTreeMap<(TapId, HostAddress, HostAddress), Vec<Control<'a>>>;

/// A flow of clear-to-sends.
struct Control<'a> {
    records: &'a FlowTraffic,
    /// Everything it offers is in this range.
    addresses: Addresses,
}

/// A memory range, both ends included.
#[derive(Clone, Copy)]
struct Addresses {
    low: u64,
    high: u64,
}

impl Addresses {
    /// The empty range.
    const NONE: Self = Self { low: u64::MAX, high: 0 };

    fn of_offers(control: &FlowTraffic) -> Self {
        control.cts.iter().fold(Self::NONE, |span, cts| {
            span.with(cts.address).with(cts.address.saturating_add(cts.capacity.into()))
        })
    }

    fn with(self, address: u64) -> Self {
        Self { low: self.low.min(address), high: self.high.max(address) }
    }

    fn meets(&self, other: &Self) -> bool {
        self.low <= other.high && other.low <= self.high
    }
}

/// The flow whose clear-to-sends the messages of `data` answer most often; of several, as where a job
/// ran again with the same numbers and addresses, the one that began last.
fn best_match<'a>(
    data: &FlowTraffic,
    controls: &Controls<'a>,
) -> Option<(&'a FlowTraffic, Evidence)> {
    let FlowKey { tap, source, destination, .. } = data.key;
    let starts = data.data.iter().take(MATCH_SAMPLE).filter_map(|message| message.start.as_ref());
    let addresses = starts.fold(Addresses::NONE, |span, start| span.with(start.address));
    let began = |control: &FlowTraffic| control.cts.iter().next().map(|cts| cts.time);
    let mut best: Option<(&FlowTraffic, Evidence)> = None;
    // Connections nearly always receive into memory of their own: few candidates need a closer
    // look.
    let controls = controls.get(&(tap, destination, source))?;
    for Control { records, .. } in controls.iter().filter(|one| one.addresses.meets(&addresses)) {
        let Some(evidence) = count_answers(records, data) else { continue };
        let is_better = |(known, of_known): (&FlowTraffic, Evidence)| {
            (of_known.count, began(known)) < (evidence.count, began(records))
        };
        if best.is_none_or(is_better) {
            best = Some((records, evidence));
        }
    }
    best
}

/// How many of the first messages of `data` go where an earlier clear-to-send of `control` pointed.
fn count_answers(control: &FlowTraffic, data: &FlowTraffic) -> Option<Evidence> {
    let mut offers = control.cts.iter().peekable();
    let mut latest = BTreeMap::new();
    let mut evidence: Option<Evidence> = None;
    for message in data.data.iter().take(MATCH_SAMPLE) {
        let first = message.first();
        while let Some(cts) = offers.next_if(|cts| cts.time <= first) {
            latest.insert(cts.address, cts);
        }
        let Some(start) = &message.start else { continue };
        let mut fitting = latest.range(..=start.address).rev().take(OVERLAPPING_OFFERS);
        if fitting.any(|(_, cts)| cts.offers(start)) {
            let (tap, number, time) = (data.key.tap, message.number.into(), message.last);
            let first = Evidence {
                kind: EvidenceKind::CtsMatch,
                witness: Some(Witness::Frame { tap, number, time }),
                count: 0,
            };
            evidence.get_or_insert(first).count += 1;
        }
    }
    evidence
}

/// One exchange, merged over all taps.
#[derive(Default)]
struct Merged {
    sender: Option<Endpoint>,
    receiver: Option<Endpoint>,
    evidence: Vec<Evidence>,
    time: Timestamp,
    releases: Option<ReleaseRange>,
}

impl Merged {
    fn add(&mut self, exchange: &Exchange) {
        self.sender = self.sender.take().or_else(|| exchange.sender.clone());
        self.receiver = self.receiver.take().or_else(|| exchange.receiver.clone());
        self.releases.get_or_insert(exchange.releases);
        if let Witness::Frame { time, .. } = exchange.witness {
            self.time = self.time.max(time);
        }
        let witness = Some(exchange.witness);
        let evidence = Evidence { kind: EvidenceKind::OobExchange, witness, count: 1 };
        add_evidence(&mut self.evidence, evidence);
    }
}
