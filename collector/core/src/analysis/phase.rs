//! Phases of the job: from the rendezvous to the training and its pauses.
//!
//! * Rendezvous: from the first frame to a TCPStore to the first bootstrap; without a bootstrap its
//!   end is unknown.
//! * Bootstrap, by communicator: from the first check-in to the end of the gathers.
//! * Parameter broadcast, by communicator: the Broadcasts before its first other collective.
//! * Training, by communicator: from the first collective after these Broadcasts to the last.
//! * Idle, by communicator: a pause in its training longer than `IDLE_NS` and longer than
//!   `IDLE_FACTOR` times its median pause.

use super::collective::Collective;
use crate::link::control::facts::{StreamFacts, StreamKind};
use crate::link::job::{CommunicatorId, Job};
use crate::model::nccl::CollectiveKind;
use crate::model::spread::upper_median;
use crate::model::time::{Span, Timestamp};

/// Nanoseconds without a collective that make a pause idle.
const IDLE_NS: u64 = 1_000_000_000;
/// How many times longer than the median pause an idle one is.
const IDLE_FACTOR: u64 = 10;

/// What a job does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PhaseKind {
    /// Processes find each other over a TCPStore.
    Rendezvous,
    /// Ranks of a communicator find each other.
    Bootstrap,
    /// Rank 0 sends its parameters to the others.
    ParameterBroadcast,
    /// Collectives.
    Training,
    /// Training without collectives, for longer than usual.
    Idle,
}

/// A period of the job in which it did one kind of thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Phase {
    /// Rendezvous, bootstrap, training, ...
    pub kind: PhaseKind,
    /// Start and end.
    pub span: Span,
    /// Its communicator; `None` for phases before any communicator.
    pub communicator: Option<CommunicatorId>,
}

impl PhaseKind {
    /// The name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rendezvous => "rendezvous",
            Self::Bootstrap => "bootstrap",
            Self::ParameterBroadcast => "parameter_broadcast",
            Self::Training => "training",
            Self::Idle => "idle",
        }
    }
}

/// The phases in order of time.
#[must_use]
pub fn phases(job: &Job, streams: &[StreamFacts], collectives: &[Collective]) -> Vec<Phase> {
    let bootstraps =
        job.communicators.iter().filter_map(|one| one.bootstrap.map(|it| it.span.first));
    let mut phases: Vec<Phase> = rendezvous(streams, bootstraps.min()).into_iter().collect();
    for (place, communicator) in (0..).zip(&job.communicators) {
        let id = CommunicatorId(place);
        let bootstrap = communicator.bootstrap.map(|bootstrap| bootstrap.span);
        phases.extend(bootstrap.map(|span| Phase {
            kind: PhaseKind::Bootstrap,
            span,
            communicator: Some(id),
        }));
        let mut own: Vec<&Collective> =
            collectives.iter().filter(|one| one.communicator == id).collect();
        own.sort_by_key(|one| one.span.first);
        of_communicator(id, &own, &mut phases);
    }
    phases.sort_by_key(|phase| (phase.span.first, phase.kind, phase.communicator));
    phases
}

/// The time from the first frame to a TCPStore to the first bootstrap.
fn rendezvous(streams: &[StreamFacts], bootstrap: Option<Timestamp>) -> Option<Phase> {
    let to_store = streams.iter().filter(|stream| stream.kind == StreamKind::TcpStore);
    let first = to_store.filter_map(|stream| Some(stream.totals?.span.first)).min()?;
    let last = bootstrap.filter(|last| *last >= first)?;
    let span = Span { first, last };
    Some(Phase { kind: PhaseKind::Rendezvous, span, communicator: None })
}

fn of_communicator(id: CommunicatorId, collectives: &[&Collective], phases: &mut Vec<Phase>) {
    let is_broadcast = |one: &&&Collective| one.kind == CollectiveKind::Broadcast;
    let count = collectives.iter().take_while(is_broadcast).count();
    // If only Broadcasts follow, they are the training. If the capture missed the first collective,
    // what came before is unknown, so no Broadcast counts as parameter broadcast.
    let is_from_init = collectives.first().is_some_and(|first| first.is_counted_from_init);
    let count = if is_from_init && count < collectives.len() { count } else { 0 };
    let (broadcasts, training) = collectives.split_at(count);
    let communicator = Some(id);
    let mut add = |kind, span| phases.push(Phase { kind, span, communicator });
    if let Some(span) = hull(broadcasts) {
        add(PhaseKind::ParameterBroadcast, span);
    }
    if let Some(span) = hull(training) {
        add(PhaseKind::Training, span);
    }
    for span in idle(training) {
        add(PhaseKind::Idle, span);
    }
}

/// From the first to the last packet of all.
fn hull(collectives: &[&Collective]) -> Option<Span> {
    let first = collectives.iter().map(|one| one.span.first).min()?;
    let last = collectives.iter().map(|one| one.span.last).max()?;
    Some(Span { first, last })
}

/// The pauses that are much longer than usual.
fn idle(collectives: &[&Collective]) -> Vec<Span> {
    let mut pauses: Vec<Span> = Vec::new();
    let mut latest: Option<Timestamp> = None;
    for one in collectives {
        if let Some(first) = latest.filter(|latest| *latest < one.span.first) {
            pauses.push(Span { first, last: one.span.first });
        }
        latest = latest.max(Some(one.span.last));
    }
    let nanos = |pause: &Span| pause.last.nanos_since(pause.first);
    let median = upper_median(pauses.iter().map(nanos)).unwrap_or(0);
    let limit = IDLE_NS.max(median.saturating_mul(IDLE_FACTOR));
    pauses.retain(|pause| nanos(pause) > limit);
    pauses
}
