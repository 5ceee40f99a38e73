//! From what was understood to metrics: adds what is new since the last export.

use super::Settings;
use super::activity::{self, RankActivity};
use super::catalog;
use super::flows::{self, FlowGrowth};
use super::headers::{self, HeaderGrowth};
use super::health::{self, HealthGrowth};
use super::metric::Metric;
use super::nics::{self, NicGrowth};
use super::own::{self, OwnFigures};
use super::pauses::{self, PauseGrowth};
use super::point::Point;
use super::port_names::PortNames;
use super::ports::{self, BurstGrowth};
use super::profiles::ProfileGrowth;
use super::series::SeriesTable;
use super::sockets::{self, SocketGrowth};
use super::{calls, collectives, findings, training_steps, verdicts};
use crate::analysis::ledger::{Ending, Ledger, News};
use crate::analysis::proxy::LiveProfiles;
use crate::analysis::understanding::Understanding;
use crate::flow::tracker::FlowTracker;
use crate::link::process::ProcessTracker;
use crate::model::time::Timestamp;

/// All series, and how far each source was counted.
///
/// Analyses of one pipeline come in order of time, each with everything known at its time. However
/// often that happens, the final counts are the same. When another pipeline follows, with the
/// frames after it, its counts are added on top.
#[derive(Clone, Debug)]
pub struct Accumulator {
    settings: Settings,
    start: Timestamp,
    series: SeriesTable,
    ledger: Ledger,
    /// First frame of the last analysis: a later one means another pipeline.
    origin: Option<Timestamp>,
    /// Port names as of the last analysis.
    names: PortNames,
    counted: Counted,
    ranks: RankActivity,
    profiles: ProfileGrowth,
}

/// The pipeline's own sums as of the last export.
#[derive(Clone, Debug, Default)]
struct Counted {
    flows: FlowGrowth,
    headers: HeaderGrowth,
    sockets: SocketGrowth,
    bursts: BurstGrowth,
    pauses: PauseGrowth,
    nics: NicGrowth,
    health: HealthGrowth,
}

/// Gauges that each analysis sets anew.
const GAUGES: &[&Metric] = &[
    &catalog::COMMUNICATOR_COUNT,
    &catalog::PORT_LINE_RATE,
    &catalog::PORT_PEAK_RATE,
    &catalog::PORT_FAN_IN,
    &catalog::PORT_PATH_MTU,
    &catalog::PORT_LAST_DATA,
    &catalog::RANK_LAST_ACTIVITY,
    &catalog::VERDICT_ACTIVE,
    &catalog::VERDICT_COST,
    &catalog::HANG_ACTIVE,
    &catalog::FINDING_ACTIVE,
    &catalog::FINDING_NOT_CHECKED,
    &catalog::HEALTH_EVENTS,
    &catalog::NIC_UP,
    &catalog::NIC_INFO,
];

impl Accumulator {
    /// No series yet; counters count from `start`.
    #[must_use]
    pub fn new(settings: Settings, start: Timestamp) -> Self {
        Self {
            settings,
            start,
            series: SeriesTable::default(),
            ledger: Ledger::default(),
            origin: None,
            names: PortNames::default(),
            counted: Counted::default(),
            ranks: RankActivity::default(),
            profiles: ProfileGrowth::default(),
        }
    }

    /// Adds what is new in `understanding`, and returns it for traces and logs.
    pub fn observe(&mut self, understanding: &Understanding, ending: Ending) -> News {
        let news = self.ledger.news(understanding, ending);
        self.add_news(understanding, &news);
        self.add_sums(understanding);
        news
    }

    /// Adds training steps and collectives.
    pub(super) fn add_news(&mut self, understanding: &Understanding, news: &News) {
        let Self { series, settings, profiles, .. } = self;
        profiles.observe(series, understanding, news);
        let iterations = news.iterations.iter().filter_map(|at| understanding.iterations.get(*at));
        for one in iterations {
            training_steps::add(series, settings, understanding, one);
        }
        let found = news.collectives.iter().filter_map(|at| understanding.collectives.get(*at));
        for one in found {
            collectives::add(series, settings, understanding, one);
        }
    }

    /// Adds the growth of what the pipeline sums up, and sets the gauges.
    pub(super) fn add_sums(&mut self, understanding: &Understanding) {
        let origin = understanding.start();
        if self.origin.is_some_and(|before| origin.is_some_and(|origin| before < origin)) {
            // Another pipeline: its sums begin at 0.
            self.counted = Counted::default();
        }
        self.origin = origin.or(self.origin);
        let state = &understanding.state;
        let Self { settings, series, counted, names, ranks, .. } = self;
        *names = PortNames::new(understanding, settings);
        flows::add(series, &mut counted.flows, settings, names, state);
        headers::add(series, &mut counted.headers, names, state);
        sockets::add(series, &mut counted.sockets, names, state);
        ports::add_bursts(series, &mut counted.bursts, names, &state.tracker);
        pauses::add(series, &mut counted.pauses, state);
        nics::add(series, &mut counted.nics, &state.counters);
        health::add(series, &mut counted.health, &state.tracker);
        series.clear(GAUGES);
        ports::set(series, names, &understanding.ports);
        headers::set_path_mtus(series, names, state);
        activity::set_ports(series, names, state);
        activity::set_ranks(series, ranks, settings, names, state.job.as_ref());
        collectives::set_communicators(series, state.job.as_ref());
        verdicts::set(series, settings, names, understanding);
        findings::set(series, &understanding.findings);
        health::set(series, &understanding.health);
        nics::set(series, &state.counters);
    }

    /// Adds the growth of known flows since the last analysis; flows that it did not have wait for
    /// the next one.
    ///
    /// `tracker` is later than the last analysis, and no analysis of an earlier state may follow: a
    /// flow whose counts fall is taken for another one. Its taps have one clock.
    pub fn observe_traffic(&mut self, tracker: &FlowTracker) {
        flows::add_between(&mut self.series, &mut self.counted.flows, &self.names, tracker);
    }

    /// Sets the metrics of railscope itself.
    pub fn observe_own(&mut self, own: &OwnFigures) {
        own::set(&mut self.series, own);
    }

    /// Sets the calls that processes of this host made since the start.
    pub fn observe_processes(&mut self, processes: &ProcessTracker) {
        calls::set(&mut self.series, &self.settings, processes);
    }

    /// Adds what NCCL's profiler plugin recorded in processes of this host since the last time.
    pub fn observe_profiles(&mut self, profiles: &LiveProfiles) {
        self.profiles.add(&mut self.series, &self.settings, profiles);
    }

    /// All series at `time`, by metric and attributes.
    #[must_use]
    pub fn points(&self, time: Timestamp) -> Vec<Point> {
        self.series.points(self.start, time)
    }
}
