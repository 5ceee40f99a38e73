//! All judgements about a job, made once. Reports, text, screens, metrics and logs only show them.

use std::collections::BTreeMap;

use super::bootstrap::{self, BootstrapProgress};
use super::burst::{self, BurstsOfWidth};
use super::collective::group::{self, CollectiveGroup};
use super::collective::{self, Collective, extract};
use super::congestion::{self, PortSignals};
use super::finding::facts::Facts;
use super::finding::search::{Findings, findings};
use super::finding::settings::Settings;
use super::hang::patience_ns;
use super::iteration::excess;
use super::iteration::figures::{self, Figures, Observed};
use super::iteration::job::TrainingJob;
use super::iteration::label::{self, LabelUse};
use super::iteration::pace;
use super::iteration::{self, Iteration};
use super::judged::{JudgedCollective, JudgedIteration};
use super::lineage;
use super::missed;
use super::phase::{self, Phase};
use super::port::{self, JoinedPort};
use super::proxy::{Judgement, ProfiledTrainingStep, judgements, training_steps};
use super::queue_pair::{self, QueuePair};
use super::rank_figures;
use super::rank_waits::{self, LateRank, RankSums};
use super::roll_call::fit;
use super::sampling::{self, switch::SampledSwitch};
use super::state::State;
use super::straggler::contribution::contributions;
use super::straggler::hold_up;
use super::straggler::jitter::{self, Jitter};
use super::straggler::room;
use super::straggler::search::{Delays, delays};
use super::straggler::significant::{self, SignificantStraggler};
use super::straggler::{Straggler, unit, within};
use super::tap::{self, JudgedTap};
use super::unlinked::{self, Unlinked};
use super::verdict::evidence::Lateness;
use super::verdict::{Verdicts, verdicts};
use super::wait;
use super::wait::CollectiveWaits;
use super::wait::arrival;
use super::wait::departure::DepartureClocks;
use super::wait::feed::Feeds;
use super::wait::pause::Pauses;
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
    /// The training steps of each job together.
    pub training_jobs: Vec<TrainingJob>,
    /// Ranks that others waited for, the one that cost most first.
    pub late_ranks: Vec<LateRank>,
    /// Waits of each rank in all collectives together.
    pub rank_sums: BTreeMap<(CommunicatorId, u32), RankSums>,
    /// How far the bootstrap of each communicator got, as far as it was captured.
    pub bootstraps: BTreeMap<CommunicatorId, BootstrapProgress>,
    /// The number that each rank has in the communicator that its own was split from.
    pub parent_ranks: BTreeMap<(CommunicatorId, u32), u32>,
    /// How training steps were labelled.
    pub label_uses: Vec<LabelUse>,
    /// Phases of the job in order of time.
    pub phases: Vec<Phase>,
    /// The taps in the order of their numbers.
    pub taps: Vec<JudgedTap>,
    /// Queue pairs as all taps saw them together, the worst first.
    pub queue_pairs: Vec<QueuePair>,
    /// Flows whose ranks are not fully known, by reason.
    pub unlinked: Vec<Unlinked>,
    /// Ports joined over taps, by address.
    pub ports: Vec<JoinedPort>,
    /// Bursts by bucket width; `None` if no line rate is known.
    pub bursts: Option<Vec<BurstsOfWidth>>,
    /// Congestion signals by receiving port, that with most marks first.
    pub congestion: Vec<PortSignals>,
    /// What switches sampled, and what that says.
    pub sampled: Vec<SampledSwitch>,
    /// Findings, and findings that could not be checked.
    pub findings: Findings,
    /// Ranks that were late more often, or by more, than chance explains.
    pub significant_stragglers: Vec<SignificantStraggler>,
    /// What the training steps of each communicator wait for their last rank, whichever it is.
    pub jitters: Vec<Jitter>,
    /// What profiles of NCCL's proxies show, by communicator.
    pub profiles: Vec<Judgement>,
    /// Training steps of calls in profiles, in order of time.
    pub profiled_training_steps: Vec<ProfiledTrainingStep>,
    /// What is the cause of it all.
    pub verdicts: Verdicts,
    /// Shortest time without progress that counts as a hang, in nanoseconds.
    pub hang_after_ns: u64,
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
    state.health.add(HealthEvent::TcpDroppedFarewells, state.farewells.dropped());
    let dropped = state.labels.logs.iter().map(|log| log.dropped).sum();
    state.health.add(HealthEvent::TrainLogDroppedLines, dropped);
    fit::drop_misfits(state);
    let state = &understanding.state;
    understanding.taps = tap::judge(state);
    understanding.queue_pairs = queue_pair::join(state);
    understanding.unlinked = unlinked::group(state);
    understanding.ports = port::join(state);
    understanding.bursts = burst::measure(state);
    understanding.congestion = congestion::signals(&understanding.queue_pairs);
    understanding.sampled = sampling::judge(&understanding.state);
    let rolls = understanding.state.roll_call.rolls();
    let facts = Facts {
        state: &understanding.state,
        collectives: &understanding.collectives,
        iterations: &understanding.iterations,
        flows: &understanding.queue_pairs,
        rolls: &rolls,
        settings,
    };
    let units = unit::by_communicator(facts.collectives, facts.iterations);
    let mut stragglers = significant::find(facts.collectives, &units);
    stragglers.extend(hold_up::find(facts.collectives, &units, &stragglers));
    let jitters = jitter::measure(&units);
    let findings = findings(&facts);
    let profiles = judgements(&understanding.state.proxies);
    let lateness = Lateness { stragglers: &stragglers, jitters: &jitters, profiles: &profiles };
    let verdicts = verdicts(&facts, &findings, lateness);
    understanding.hang_after_ns = patience_ns(&understanding.state, settings);
    understanding.findings = findings;
    understanding.significant_stragglers = stragglers;
    understanding.jitters = jitters;
    understanding.profiles = profiles;
    understanding.profiled_training_steps = training_steps(&understanding.state.proxies);
    understanding.verdicts = verdicts;
    queue_pair::sort_worst_first(&mut understanding.queue_pairs, &understanding.state);
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
            training_jobs: Vec::new(),
            late_ranks: Vec::new(),
            profiles: Vec::new(),
            profiled_training_steps: Vec::new(),
            rank_sums: BTreeMap::new(),
            bootstraps: BTreeMap::new(),
            parent_ranks: BTreeMap::new(),
            label_uses: Vec::new(),
            phases: Vec::new(),
            taps: Vec::new(),
            queue_pairs: Vec::new(),
            unlinked: Vec::new(),
            ports: Vec::new(),
            bursts: None,
            congestion: Vec::new(),
            sampled: Vec::new(),
            findings: Findings::default(),
            significant_stragglers: Vec::new(),
            jitters: Vec::new(),
            verdicts: Verdicts::default(),
            hang_after_ns: 0,
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
    let pauses = Pauses::new(job, &state);
    let feeds = Feeds::new(job, &collectives);
    let waits = wait::measure(job, (&troubles, &pauses), &departures, &feeds, &collectives);
    arrival::extend(job, &waits, &mut collectives);
    let mut iterations = iteration::iterations(job, &collectives);
    state.numbering.apply(job, &mut iterations);
    let label_uses = label::apply(&state.labels, &collectives, &mut iterations);
    let delays = delays((job, &feeds), &collectives, &waits, &iterations);
    let phases = phase::phases(job, &state.streams, &collectives);
    collective::add_health(job, &collectives, &mut state.health);
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
    let mut judged = judge_iterations(iterations, figures, &collectives, &delays);
    let parts = collectives.into_iter().zip(waits).zip(delays);
    let judge = |((collective, waits), delays): ((Collective, CollectiveWaits), Delays)| {
        let Delays { own_times, straggler, .. } = delays;
        let ranks = rank_figures::of_collective(job, &collective, &waits, straggler.as_ref());
        let room = room::costs(job, &waits);
        let contributions = contributions(job, &waits, &own_times, &room);
        JudgedCollective { collective, waits, own_times, room, contributions, straggler, ranks }
    };
    let collectives: Vec<_> = parts.map(judge).collect();
    excess::split(&mut judged, &collectives);
    Understanding {
        collective_groups: group::group(job, &collectives),
        late_ranks: rank_waits::late(&collectives),
        rank_sums: rank_waits::sums(&collectives),
        bootstraps: bootstrap::all(job),
        parent_ranks: lineage::parent_ranks(job),
        collectives,
        training_jobs: iteration::job::jobs(&judged),
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
    delays: &[Delays],
) -> Vec<JudgedIteration> {
    let worst: Vec<Option<(Straggler, usize)>> =
        iterations.iter().map(|one| within::longest_lag(one, collectives, delays)).collect();
    let lag = |worst: &Option<(Straggler, usize)>| Some(worst.as_ref()?.0.lag_ns);
    let lags: Vec<Option<u64>> = worst.iter().map(lag).collect();
    let paces = pace::compare(&iterations, &lags, collectives);
    let parts = iterations.into_iter().zip(figures).zip(paces).zip(worst);
    let judge = |(((iteration, figures), pace), straggler)| JudgedIteration {
        iteration,
        figures,
        pace,
        straggler,
        contributions: Vec::new(),
        costs: Vec::new(),
    };
    parts.map(judge).collect()
}
