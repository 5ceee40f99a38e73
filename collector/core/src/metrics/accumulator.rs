//! From reports to metrics: what each report adds to all that was told.

use super::Settings;
use super::catalog;
use super::flows::{self, FlowsTold};
use super::health::{self, HealthTold};
use super::metric::Metric;
use super::nics::{self, NicsTold};
use super::own::{self, OwnFigures};
use super::pauses::{self, PausesTold};
use super::point::Point;
use super::port_names::PortNames;
use super::ports::{self, BurstsTold};
use super::series::SeriesTable;
use super::{calls, collectives, findings, training_steps};
use crate::flow::tracker::FlowTracker;
use crate::link::process::ProcessTracker;
use crate::model::time::Timestamp;
use crate::report::Report;
use crate::report::ledger::{Ending, Ledger, News};

/// All that was told so far.
///
/// Reports of one pipeline come in the order of time; each tells all that is known at its time. However
/// they are cut, the same counts come out at the end. A pipeline may be followed by another one that
/// takes the frames after it: what that counts comes on top.
#[derive(Clone, Debug)]
pub struct Accumulator {
    settings: Settings,
    start: Timestamp,
    series: SeriesTable,
    ledger: Ledger,
    /// When the input of the last report began.
    origin: Option<Timestamp>,
    /// What the last report calls ports.
    names: PortNames,
    told: Told,
}

/// How far sums were told that reports keep themselves.
#[derive(Clone, Debug, Default)]
struct Told {
    flows: FlowsTold,
    bursts: BurstsTold,
    pauses: PausesTold,
    nics: NicsTold,
    health: HealthTold,
}

/// What holds at the time of a report only.
const GAUGES: &[&Metric] = &[
    &catalog::COMMUNICATOR_COUNT,
    &catalog::PORT_LINE_RATE,
    &catalog::PORT_PEAK_RATE,
    &catalog::FINDING_ACTIVE,
    &catalog::FINDING_NOT_CHECKED,
    &catalog::HEALTH_EVENTS,
    &catalog::NIC_UP,
];

impl Accumulator {
    /// Nothing is told; counters count from `start` on.
    #[must_use]
    pub fn new(settings: Settings, start: Timestamp) -> Self {
        Self {
            settings,
            start,
            series: SeriesTable::default(),
            ledger: Ledger::default(),
            origin: None,
            names: PortNames::default(),
            told: Told::default(),
        }
    }

    /// Takes the next report; what it has that was not told before, for traces and logs.
    pub fn observe<'a>(&mut self, report: &'a Report, ending: Ending) -> News<'a> {
        let news = self.ledger.news(report, ending);
        self.add_news(&news);
        self.add_sums(report);
        news
    }

    /// Adds training steps and collectives.
    pub(super) fn add_news(&mut self, news: &News<'_>) {
        for one in &news.iterations {
            training_steps::add(&mut self.series, &self.settings, one);
        }
        for one in &news.collectives {
            collectives::add(&mut self.series, &self.settings, one);
        }
    }

    /// Adds what reports sum up themselves, and sets what holds now.
    pub(super) fn add_sums(&mut self, report: &Report) {
        let origin = report.capture.time(0);
        if self.origin.is_some_and(|before| before < origin) {
            // Another pipeline: its sums begin at 0.
            self.told = Told::default();
        }
        self.origin = Some(origin);
        let Self { settings, series, told, names, .. } = self;
        *names = PortNames::new(report, settings);
        flows::add(series, &mut told.flows, settings, names, report);
        ports::add_bursts(series, &mut told.bursts, names, report);
        pauses::add(series, &mut told.pauses, report);
        nics::add(series, &mut told.nics, report);
        health::add(series, &mut told.health, report);
        series.clear(GAUGES);
        ports::set(series, names, report);
        collectives::set_communicators(series, report);
        findings::set(series, report);
        health::set(series, report);
        nics::set(series, report);
    }

    /// Takes what flows have carried by now since they were told, which the last report told of; others wait for
    /// the next one.
    ///
    /// `tracker` is that of the last report, later, and no report of an earlier state comes after it: flows
    /// that fall are taken for others. Its taps have one clock.
    pub fn observe_traffic(&mut self, tracker: &FlowTracker) {
        flows::add_between(&mut self.series, &mut self.told.flows, &self.names, tracker);
    }

    /// Takes what railscope knows of itself.
    pub fn observe_own(&mut self, own: &OwnFigures) {
        own::set(&mut self.series, own);
    }

    /// Takes what processes of this host were seen to do since it began.
    pub fn observe_processes(&mut self, processes: &ProcessTracker) {
        calls::set(&mut self.series, &self.settings, processes);
    }

    /// What all has come to at `time`, by metric and attributes.
    #[must_use]
    pub fn points(&self, time: Timestamp) -> Vec<Point> {
        self.series.points(self.start, time)
    }
}
