//! All judgements about a job, made once. Reports, text, screens, metrics and logs only show them.

use super::collective::group::{self, CollectiveGroup};
use super::collective::{self, Collective, extract};
use super::finding::facts::Facts;
use super::finding::search::{Findings, findings};
use super::finding::settings::Settings;
use super::iteration::figures::{self, Figures, Observed};
use super::iteration::label::{self, LabelUse};
use super::iteration::pace;
use super::iteration::{self, Iteration};
use super::judged::{JudgedCollective, JudgedIteration};
use super::missed;
use super::phase::{self, Phase};
use super::port::{self, JoinedPort};
use super::queue_pair::{self, QueuePair};
use super::state::State;
use super::straggler::search::stragglers;
use super::straggler::{Straggler, within};
use super::wait;
use super::wait::arrival;
use super::wait::departure::DepartureClocks;
use super::wait::trouble::Troubles;
use crate::link::job::{CommunicatorId, Identity, Job};
use crate::model::health::Health;
use crate::model::health::event::HealthEvent;
use crate::model::time::Timestamp;

/// Everything that was judged, with the state that it was judged from.
#[derive(Clone)]
pub struct Understanding {
    /// The input; its job is linked and joined with the logs.
    pub state: State,
    /// Collectives in order of time.
    pub collectives: Vec<JudgedCollective>,
    /// Collectives by kind and size, those that took the most time in total first.
    pub collective_groups: Vec<CollectiveGroup>,
    /// Training steps in order of time.
    pub iterations: Vec<JudgedIteration>,
    /// How training steps were labelled.
    pub label_uses: Vec<LabelUse>,
    /// Phases of the job in order of time.
    pub phases: Vec<Phase>,
    /// Queue pairs as all taps saw them together, by source, destination, QPN and epoch.
    pub queue_pairs: Vec<QueuePair>,
    /// Ports joined over taps, by address.
    pub ports: Vec<JoinedPort>,
    /// Findings, and findings that could not be checked.
    pub findings: Findings,
    /// Health counters.
    pub health: Health,
}

/// Judges everything that was gathered.
#[must_use]
pub fn understand(mut state: State, settings: &Settings) -> Understanding {
    let job = state.job.take();
    let mut understanding = match &job {
        Some(job) => of_job(state, job),
        None => Understanding::new(state),
    };
    let state = &mut understanding.state;
    state.job = job;
    state.health.add(HealthEvent::TcpDroppedAttempts, state.attempts.dropped());
    let dropped = state.labels.logs.iter().map(|log| log.dropped).sum();
    state.health.add(HealthEvent::TrainLogDroppedLines, dropped);
    let state = &understanding.state;
    understanding.queue_pairs = queue_pair::join(state);
    understanding.ports = port::join(state);
    understanding.findings = findings(&Facts {
        state: &understanding.state,
        collectives: &understanding.collectives,
        iterations: &understanding.iterations,
        flows: &understanding.queue_pairs,
        settings,
    });
    understanding.health = missed::count(&understanding.state);
    understanding.health.add(HealthEvent::FindingsDropped, understanding.findings.dropped);
    understanding
}

impl Understanding {
    /// Nothing is judged yet.
    #[must_use]
    pub fn new(state: State) -> Self {
        Self {
            state,
            collectives: Vec::new(),
            collective_groups: Vec::new(),
            iterations: Vec::new(),
            label_uses: Vec::new(),
            phases: Vec::new(),
            queue_pairs: Vec::new(),
            ports: Vec::new(),
            findings: Findings::default(),
            health: Health::default(),
        }
    }

    /// What identifies a communicator.
    #[must_use]
    pub fn identity(&self, id: CommunicatorId) -> Option<Identity> {
        Some(self.state.job.as_ref()?.communicator(id)?.identity)
    }

    /// Time of the first frame, by its own tap's clock; `None` without frames.
    #[must_use]
    pub fn start(&self) -> Option<Timestamp> {
        let spans = self.state.tracker.taps().iter().filter_map(|tap| tap.span);
        spans.map(|span| span.first).min()
    }
}

/// Collectives, training steps and phases of a job.
fn of_job(mut state: State, job: &Job) -> Understanding {
    let mut collectives = extract::collectives(job);
    collectives.sort_by_key(|one| (one.span.first, one.communicator, one.sequence));
    let flows = state.tracker.flows().flows();
    let signals = (&state.signals[..], state.signals_end);
    let troubles = Troubles::new(job, flows, &state.positions, &state.clocks, signals);
    let departures = DepartureClocks::new(job, flows, &state.positions, &state.clocks);
    let waits = wait::measure(job, &troubles, &departures, &collectives);
    arrival::extend(job, &waits, &mut collectives);
    let mut iterations = iteration::iterations(job, &collectives);
    state.numbering.apply(job, &mut iterations);
    let label_uses = label::apply(&state.labels, &collectives, &mut iterations);
    let stragglers = stragglers(job, &collectives, &waits, &iterations);
    let phases = phase::phases(job, &state.streams, &collectives);
    collective::add_health(&collectives, &mut state.health);
    wait::add_health(&collectives, &waits, &mut state.health);
    let observed = Observed {
        job,
        collectives: &collectives,
        signals: &state.signals,
        signals_end: state.signals_end,
        resends: state.resends.as_deref(),
        tracker: &state.tracker,
        positions: &state.positions,
        clocks: &state.clocks,
        counters: &state.counters,
    };
    let figures = figures::measure(&iterations, &observed);
    let judged = judge_iterations(iterations, figures, &collectives, &stragglers);
    let parts = collectives.into_iter().zip(waits).zip(stragglers);
    let judge =
        |((collective, waits), straggler)| JudgedCollective { collective, waits, straggler };
    let collectives: Vec<_> = parts.map(judge).collect();
    Understanding {
        collective_groups: group::group(job, &collectives),
        collectives,
        iterations: judged,
        label_uses,
        phases,
        ..Understanding::new(state)
    }
}

fn judge_iterations(
    iterations: Vec<Iteration>,
    figures: Vec<Figures>,
    collectives: &[Collective],
    stragglers: &[Option<Straggler>],
) -> Vec<JudgedIteration> {
    let worst: Vec<Option<(Straggler, usize)>> =
        iterations.iter().map(|one| within::longest_lag(one, collectives, stragglers)).collect();
    let lag = |worst: &Option<(Straggler, usize)>| Some(worst.as_ref()?.0.lag_ns);
    let lags: Vec<Option<u64>> = worst.iter().map(lag).collect();
    let paces = pace::compare(&iterations, &lags, collectives);
    let parts = iterations.into_iter().zip(figures).zip(paces).zip(worst);
    let judge = |(((iteration, figures), pace), straggler)| JudgedIteration {
        iteration,
        figures,
        pace,
        straggler,
    };
    parts.map(judge).collect()
}
