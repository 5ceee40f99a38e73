//! Queue pairs joined over taps: flows of requests with what comes back for them, as all taps saw
//! them together.
//!
//! Each number is the highest of all taps: a tap at the sender sees retransmissions and full round
//! trips, one at the receiver sees gaps.

use std::cmp::Reverse;
use std::net::IpAddr;

use super::severity::Severity;
use super::state::State;
use crate::flow::disorder::SequenceCounts;
use crate::flow::episode::{EpisodeTotals, Trigger};
use crate::flow::rate::Reactions;
use crate::flow::response::ResponseCounts;
use crate::flow::state::Flow;
use crate::flow::view::Missing;
use crate::link::job::{CommunicatorId, Job, NetConnection, Ownership, Role};
use crate::link::position::Position;
use crate::model::ecn::Ecn;
use crate::model::qpn::Qpn;
use crate::model::time::Span;
use crate::model::witness::Witness;

/// At least one of so many late packets makes a NIC ask again where it expects order.
pub const LATE_A_RESEND: u64 = 20;

/// One queue pair's traffic in one direction: a flow that carries requests, or one whose contents
/// are unknown.
#[derive(Clone, Debug)]
pub struct QueuePair {
    /// Place in the flow table of the view that saw most of the payload.
    pub at: u32,
    /// Places of all views, one a tap.
    pub views: Vec<u32>,
    /// Source address.
    pub source: IpAddr,
    /// Destination address.
    pub destination: IpAddr,
    /// The queue pair that it goes to.
    pub dest_qpn: Qpn,
    /// The ranks that it belongs to.
    pub owner: Option<FlowOwner>,
    /// It carries requests.
    pub has_requests: bool,
    /// The way back was seen by a tap.
    pub has_way_back: bool,
    /// First and last frame.
    pub span: Span,
    /// Frames at the tap that saw most.
    pub frames: u64,
    /// Payload of requests.
    pub payload_bytes: u64,
    /// Payload of requests and of READ responses.
    pub carried_bytes: u64,
    /// Rate of `carried_bytes` at the tap that saw most of the payload; `None` for a single moment.
    pub rate_bps: Option<u64>,
    /// Median ACK round trip, of the tap that measured the longest one.
    pub round_trip_ns: Option<u64>,
    /// Missing at first sight, less what only the capture lost; READ responses, too.
    pub missing: u64,
    /// Packets out of order.
    pub late: u64,
    /// Retransmitted packets.
    pub resent: u64,
    /// NAKs that came back.
    pub naks: ResponseCounts,
    /// Number and time of recoveries, indexed by [`Trigger`]; `None` without any.
    recoveries: Option<Box<[EpisodeTotals; Trigger::ALL.len()]>>,
    /// Place of the view that saw most recoveries: taps agree on what was retransmitted, but not on
    /// when a recovery began.
    pub recovered_at: Option<u32>,
    /// CE-marked packets, and the packets they are among.
    pub marks: (u64, u64),
    /// Every tap that saw it is next to its sender, before any switch could mark.
    pub hides_marks: bool,
    /// CNPs that came back for it.
    pub cnps: u64,
    /// Its rate around CNPs.
    pub reactions: Reactions,
    /// ICRCs that are wrong, and ICRCs that were checked.
    pub icrc: (u64, u64),
}

/// Communicator, ranks and channel of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowOwner {
    /// The communicator that its connection serves.
    pub communicator: CommunicatorId,
    /// The rank that sends it.
    pub sender: Option<u32>,
    /// The rank that receives it.
    pub receiver: Option<u32>,
    /// NCCL's channel.
    pub channel: Option<u32>,
    /// Whether it carries data, or clear-to-sends.
    pub role: Role,
}

/// One tap's view: the flow, and the flow of its answers.
#[derive(Clone, Copy)]
struct View<'a> {
    flow: &'a Flow,
    back: Option<&'a Flow>,
}

/// The flows of a table that are not merely the way back of another, by source, destination, QPN
/// and epoch.
#[must_use]
pub fn join(state: &State) -> Vec<QueuePair> {
    let flows = state.tracker.flows();
    let of_requests = |at: &u32| {
        let flow = flows.at(*at);
        has_requests(flow) || flow.reverse.is_none()
    };
    let queue_pairs = || state.flows_over_taps().filter(|views| views.iter().any(of_requests));
    let joined = |views: &[u32]| {
        QueuePair::joined(state, views.iter().copied().filter(of_requests).collect())
    };
    let mut all = Vec::with_capacity(queue_pairs().count());
    all.extend(queue_pairs().filter_map(joined));
    all
}

/// Sorts by weight, then by bytes carried; of equals, the first flow of the first tap comes first.
pub fn sort_worst_first(queue_pairs: &mut [QueuePair], state: &State) {
    let flows = state.tracker.flows().flows();
    // Stable: those of a tap are in order already.
    let tap = |one: &QueuePair| flows.get(one.at as usize).map(|flow| flow.key.tap);
    queue_pairs.sort_by_cached_key(|one| (Reverse((one.weight(), one.carried_bytes)), tap(one)));
}

fn has_requests(flow: &Flow) -> bool {
    flow.requester().requests.first().is_some()
}

impl<'a> View<'a> {
    fn new(flows: &'a [Flow], at: u32) -> Option<Self> {
        let flow = flows.get(at as usize)?;
        let back = flow.reverse.and_then(|reverse| flows.get(reverse.flow as usize));
        Some(Self { flow, back })
    }

    /// The flow that brings the answers: alone in the capture, it stands for itself.
    fn answers(&self) -> Option<&'a Flow> {
        self.back.or_else(|| (!has_requests(self.flow)).then_some(self.flow))
    }

    /// The way back where it only answers: its READ responses belong here.
    fn responses(&self) -> Option<&'a Flow> {
        self.back.filter(|back| !has_requests(back))
    }

    fn missing(&self) -> u64 {
        let answers = self.answers().and_then(Flow::missing_responses);
        let both = [self.flow.missing_requests(), answers];
        both.into_iter().flatten().map(Missing::so_far).sum()
    }

    fn marks(&self) -> (u64, u64) {
        let marked = |flow: &Flow| (flow.marks().count(Ecn::Ce), flow.frames);
        let (requests, responses) = (marked(self.flow), self.responses().map_or((0, 0), marked));
        let both = [requests, responses].into_iter().filter(|(ce, _)| *ce > 0);
        both.fold((0, 0), |(ce, frames), (more, among)| (ce + more, frames + among))
    }

    fn hides_marks(&self, state: &State) -> bool {
        let is_next_to_sender = state.position(self.flow) == Position::Sender;
        self.flow.marks().visible_ce(is_next_to_sender).is_none()
    }

    fn cnps(&self) -> u64 {
        let forth = self.responses().map_or(0, |_| self.flow.cnps);
        forth + self.answers().map_or(0, |answers| answers.cnps)
    }

    fn recoveries(&self, trigger: Trigger) -> EpisodeTotals {
        let episodes = self.flow.episodes.as_ref();
        episodes.map(|episodes| episodes.totals(trigger)).unwrap_or_default()
    }

    /// Number and time of all recoveries.
    fn all_recoveries(&self) -> (u64, u64) {
        let totals = Trigger::ALL.map(|trigger| self.recoveries(trigger));
        totals.iter().fold((0, 0), |(count, ns), one| (count + one.count, ns + one.recovery_ns))
    }

    /// Payload of requests and of READ responses.
    fn carried_bytes(&self) -> u64 {
        self.flow.payload_bytes + self.responses().map_or(0, |back| back.payload_bytes)
    }
}

/// The views of one flow at all taps that saw it, with their places in the flow table.
struct Views<'a>(Vec<(u32, View<'a>)>);

impl<'a> Views<'a> {
    fn new(flows: &'a [Flow], places: &[u32]) -> Self {
        Self(places.iter().filter_map(|at| Some((*at, View::new(flows, *at)?))).collect())
    }

    fn all(&self) -> impl DoubleEndedIterator<Item = View<'a>> {
        self.0.iter().map(|(_, view)| *view)
    }

    /// The one with the most of something, if any has more than nothing; at equal amounts the first
    /// in the order of taps.
    fn fullest<K: Ord + Default>(&self, of: impl Fn(&View<'a>) -> K) -> Option<(u32, View<'a>)> {
        let fullest = self.0.iter().rev().max_by_key(|(_, view)| of(view))?;
        (of(&fullest.1) > K::default()).then_some(*fullest)
    }

    /// The most that a view has of something.
    fn most<K: Ord + Default>(&self, of: impl Fn(View<'a>) -> K) -> K {
        self.all().map(of).max().unwrap_or_default()
    }

    /// NAKs that came back, of each kind the most that a view has.
    fn naks(&self) -> ResponseCounts {
        let counts = self.all().filter_map(|view| Some(view.answers()?.responses.counts()));
        counts.fold(ResponseCounts::default(), ResponseCounts::highest)
    }

    fn sequence(&self, of: fn(SequenceCounts) -> u64) -> u64 {
        self.most(|view| view.flow.sequence_counts().map_or(0, of))
    }

    fn recoveries(&self, trigger: Trigger) -> EpisodeTotals {
        let totals = self.all().map(|view| view.recoveries(trigger));
        totals.max_by_key(|totals| (totals.count, totals.recovery_ns)).unwrap_or_default()
    }

    /// First and last frame at any tap, aligned.
    fn span(&self, state: &State) -> Option<Span> {
        let spans = || self.all().map(|View { flow, .. }| state.aligned_span(flow));
        Some(Span {
            first: spans().map(|span| span.first).min()?,
            last: spans().map(|span| span.last).max()?,
        })
    }
}

impl QueuePair {
    fn joined(state: &State, places: Vec<u32>) -> Option<Self> {
        let views = Views::new(state.tracker.flows().flows(), &places);
        let by_payload = views.fullest(|view| view.flow.payload_bytes);
        let (at, View { flow: fullest, .. }) = by_payload.or(views.0.first().copied())?;
        let carried_bytes = views.most(|view| view.carried_bytes());
        let recovered_at = views.fullest(View::all_recoveries).map(|(at, _)| at);
        Some(Self {
            at,
            source: fullest.key.source.to_ip(),
            destination: fullest.key.destination.to_ip(),
            dest_qpn: fullest.key.dest_qpn,
            owner: places.iter().find_map(|at| owner(state.job.as_ref()?, *at)),
            has_requests: has_requests(fullest),
            has_way_back: views.all().any(|view| view.back.is_some()),
            span: views.span(state)?,
            frames: views.most(|view| view.flow.frames),
            payload_bytes: views.most(|view| view.flow.payload_bytes),
            carried_bytes,
            rate_bps: rate_bps(carried_bytes, state.aligned_span(fullest)),
            round_trip_ns: views
                .most(|view| view.flow.requester().round_trips.durations().quantile_ns(0.5)),
            missing: views.most(|view| view.missing()),
            late: views.sequence(|counts| counts.out_of_order_packets),
            resent: views.sequence(|counts| counts.retransmitted_packets),
            naks: views.naks(),
            recoveries: recovered_at
                .map(|_| Box::new(Trigger::ALL.map(|trigger| views.recoveries(trigger)))),
            recovered_at,
            marks: views.most(|view| view.marks()),
            hides_marks: has_requests(fullest) && views.all().all(|view| view.hides_marks(state)),
            cnps: views.most(|view| view.cnps()),
            reactions: views
                .all()
                .map(|view| view.flow.requester().rate.reactions())
                .max_by_key(|reactions| reactions.samples)
                .unwrap_or_default(),
            icrc: views.most(|view| (view.flow.icrc.bad, view.flow.icrc.checked)),
            views: places,
        })
    }

    /// Recoveries started by `trigger`.
    #[must_use]
    pub fn recoveries(&self, trigger: Trigger) -> EpisodeTotals {
        self.recoveries.as_ref().map_or_else(EpisodeTotals::default, |all| all[trigger as usize])
    }

    /// Its receiver places packets out of order: many came late, and nothing was asked for again. A NIC
    /// that expects order sends a NAK for each gap. What then looks like a resend or a loss came late.
    #[must_use]
    pub fn is_placed_out_of_order(&self) -> bool {
        let timeouts = self.recoveries(Trigger::Timeout).count;
        self.has_way_back
            && self.naks.psn_sequence_error == 0
            && timeouts == 0
            && LATE_A_RESEND.saturating_mul(self.resent) <= self.late
            && self.late > 0
    }

    /// NAKs that end a connection.
    #[must_use]
    pub fn fatal_naks(&self) -> u64 {
        self.naks.refusals().iter().map(|(naks, _)| naks).sum()
    }

    /// How bad it is for what it carries; `None` if nothing happened to it.
    #[must_use]
    pub fn severity(&self) -> Option<Severity> {
        let timeouts = self.recoveries(Trigger::Timeout).count;
        let lost = self.naks.rnr_naks
            + self.naks.psn_sequence_error
            + timeouts
            + self.resent
            + self.missing;
        if self.fatal_naks() > 0 {
            Some(Severity::Critical)
        } else if lost > 0 {
            Some(Severity::Warning)
        } else if self.late + self.cnps + self.marks.0 > 0 {
            Some(Severity::Info)
        } else {
            None
        }
    }

    /// The sort key of queue pairs, the worst first. What ends a connection weighs most,
    /// then what costs time: a timeout costs hundreds of milliseconds, a NAK or CNP a round trip or
    /// more, a packet little.
    #[must_use]
    pub fn weight(&self) -> u64 {
        const FATAL: u64 = 1_000_000;
        const TIMEOUT: u64 = 1000;
        const SIGNAL: u64 = 10;
        let timeouts = self.recoveries(Trigger::Timeout).count;
        let signals = self.naks.rnr_naks + self.naks.psn_sequence_error + self.cnps;
        let packets = self.resent + self.missing + self.late + self.marks.0;
        self.fatal_naks() * FATAL + timeouts * TIMEOUT + signals * SIGNAL + packets
    }

    /// CE-marked packets and the packets they are among; `None` if no tap could see any.
    #[must_use]
    pub fn visible_marks(&self) -> Option<(u64, u64)> {
        (!self.hides_marks).then_some(self.marks)
    }

    /// It carries a job's data, or its owner is unknown.
    #[must_use]
    pub fn is_data(&self) -> bool {
        self.has_requests && self.owner.is_none_or(|owner| owner.role == Role::Data)
    }

    /// Its first frame, at the tap that saw most of it.
    #[must_use]
    pub fn first_frame(&self, state: &State) -> Option<Witness> {
        let flow = state.tracker.flows().flows().get(self.at as usize)?;
        Some(state.frame(flow.key.tap, flow.first_frame, flow.span.first))
    }

    /// Its first CE mark at any tap, on the way there or among the answers to it.
    #[must_use]
    pub fn first_mark(&self, state: &State) -> Option<Witness> {
        let views = Views::new(state.tracker.flows().flows(), &self.views);
        let both = views.all().flat_map(|view| [Some(view.flow), view.responses()]).flatten();
        let marks = both.filter_map(|flow| Some((flow.key.tap, flow.first_mark()?)));
        earliest(marks.map(|(tap, mark)| state.frame(tap, mark.frame, mark.time)))
    }

    /// Its first packet that came after a later one, at any tap.
    #[must_use]
    pub fn first_late(&self, state: &State) -> Option<Witness> {
        let views = Views::new(state.tracker.flows().flows(), &self.views);
        let sequenced = views.all().map(|view| view.flow).filter(|flow| flow.has_sequence());
        let late = sequenced
            .filter_map(|flow| Some((flow.key.tap, flow.requester().requests.first_late()?)));
        earliest(late.map(|(tap, late)| state.frame(tap, late.frame, late.time)))
    }

    /// The first retransmission of a recovery started by `trigger`.
    #[must_use]
    pub fn first_resend(&self, state: &State, trigger: Trigger) -> Option<Witness> {
        let views = Views::new(state.tracker.flows().flows(), &self.views);
        let resends = views
            .all()
            .filter_map(|view| Some((view.flow.key.tap, view.recoveries(trigger).first_resend?)));
        earliest(resends.map(|(tap, resend)| state.frame(tap, resend.frame, resend.time)))
    }
}

/// Bits per second of `bytes` in `span`.
fn rate_bps(bytes: u64, span: Span) -> Option<u64> {
    let ns = span.last.nanos_since(span.first);
    (ns > 0).then(|| (bytes as f64 * 8e9 / ns as f64).round() as u64)
}

/// The earliest of frames; of those at the same time, that of the first tap.
fn earliest(frames: impl Iterator<Item = Witness>) -> Option<Witness> {
    frames.min_by_key(|frame| match frame {
        Witness::Frame { tap, time, .. } => Some((*time, *tap)),
        _ => None,
    })
}

/// Owner of the flow at index `at` of the flow table; `None` if it belongs to no connection.
#[must_use]
pub fn owner(job: &Job, at: u32) -> Option<FlowOwner> {
    let Ownership::Connection { connection, role } = job.owner(at)? else { return None };
    let connection = job.connection(connection)?;
    let (sender, receiver) = match role {
        Role::Data => (connection.sender, connection.receiver),
        Role::Control => (connection.receiver, connection.sender),
    };
    let NetConnection { communicator, channel, .. } = *connection;
    Some(FlowOwner { communicator, sender, receiver, channel, role })
}
