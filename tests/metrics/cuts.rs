//! Reports on a run come now and then and overlap. Whenever they come, and however much of the past
//! they still contain, every training step, collective, packet and pause counts once.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use proptest::prelude::*;
use railscope::ingest::file::CaptureSet;
use railscope::ingest::file::event::SourceEvent;
use railscope_core::flow::tracker::FlowConfig;
use railscope_core::metrics::Settings;
use railscope_core::metrics::accumulator::Accumulator;
use railscope_core::metrics::point::{Point, Value};
use railscope_core::model::time::Timestamp;
use railscope_core::pipeline::{MESSAGE_CAPACITY, Pipeline, PipelineConfig};
use railscope_core::report::collectives::CollectiveReport;
use railscope_core::report::flows::FlowReport;
use railscope_core::report::iterations::IterationReport;
use railscope_core::report::ledger::Ending;
use railscope_core::report::stragglers::StragglerReport;
use railscope_core::report::{Report, ReportContext};

use crate::support::fixture;
use crate::support::recording::Recording;

const CONFIG: PipelineConfig = PipelineConfig {
    flow: FlowConfig { flow_capacity: 1024, line_rate_bps: None, keeps_details: false },
    message_capacity: Some(MESSAGE_CAPACITY as usize),
};

/// Makes a report after every `every` frames, and one on everything at the end.
fn report_every(files: &[std::path::PathBuf], every: u64, mut told: impl FnMut(&Report, Ending)) {
    look_every(files, [every, u64::MAX], |look| {
        if let Look::Report(report, ending) = look {
            told(report, ending);
        }
    });
}

/// What is observed while frames are read.
enum Look<'a> {
    Report(&'a Report, Ending),
    /// Only the state, and the time at which it began.
    State(&'a Pipeline, Option<Timestamp>),
}

/// A report every so many frames, and the state at another interval.
fn look_every(
    files: &[std::path::PathBuf],
    [report, state]: [u64; 2],
    mut look: impl FnMut(Look<'_>),
) {
    let mut pipeline = Pipeline::new(CONFIG);
    let mut captures = CaptureSet::open(files).unwrap();
    let mut origin = None;
    let mut frames = 0;
    while let Some(event) = captures.next_event() {
        match event {
            SourceEvent::Tap(_, tap) => pipeline.add_tap(tap.clone()),
            SourceEvent::Frame(frame) => {
                origin = origin.or(Some(frame.time));
                pipeline.handle_frame(&frame);
                frames += 1;
                if frames % report == 0 {
                    let context = ReportContext { origin, ..ReportContext::default() };
                    look(Look::Report(&pipeline.report(context), Ending::Open));
                } else if frames % state == 0 {
                    look(Look::State(&pipeline, origin));
                }
            }
            _ => {}
        }
    }
    let whole = pipeline.finish(ReportContext { origin, ..ReportContext::default() });
    look(Look::Report(&whole, Ending::Closed));
}

fn settings() -> Settings {
    Settings { ranks: true, peers: true, channels: true, ports: None }
}

/// Totals of counters and histograms. Gauges, and what analysis counts afresh each time (`health`),
/// come from the last report.
fn totals(points: Vec<Point>) -> Vec<(String, Value)> {
    let name = |point: &Point| format!("{} {:?}", point.metric.name, point.attributes);
    points.into_iter().map(|point| (name(&point), point.value)).collect()
}

#[test]
fn a_recorded_job_has_the_same_totals_however_often_reports_come() {
    for run in ["async-straggler-2.27.5", "loss1pct-2.27.5"] {
        let job = Recording::unpack(run);
        // Two taps of one host, so they share a clock.
        let files: Vec<_> = job.captures().iter().map(|file| job.folder().join(file)).collect();
        let come_to = |every| {
            let mut all = Accumulator::new(settings(), Timestamp::EPOCH);
            let mut reports = 0;
            report_every(&files, every, |report, ending| {
                all.observe(report, ending);
                reports += 1;
            });
            (reports, all.points(Timestamp::EPOCH))
        };
        let (_, whole) = come_to(u64::MAX);
        let (reports, cut) = come_to(1500);
        assert!(reports > 5, "{run}: {reports}");
        assert_eq!(without_owner(&cut), without_owner(&whole), "{run}");
        // With flow counters in between, and few reports, each covering the time from one look to
        // the next.
        let (mut looks, mut same) = (0, 0);
        let mut all = Accumulator::new(settings(), Timestamp::EPOCH);
        let mut ordered: Option<Report> = None;
        look_every(&files, [u64::MAX, 700], |look| match look {
            Look::Report(report, ending) => _ = all.observe(report, ending),
            Look::State(pipeline, origin) if looks % 4 == 0 && ordered.is_none() => {
                let context = ReportContext { origin, ..ReportContext::default() };
                ordered = Some(pipeline.report(context));
            }
            Look::State(pipeline, origin) => {
                if let Some(earlier) = ordered.take() {
                    all.observe(&earlier, Ending::Open);
                }
                all.observe_traffic(pipeline.tracker());
                let told = without_owner(&flow_points(&all.points(Timestamp::EPOCH)));
                let context = ReportContext { origin, ..ReportContext::default() };
                let mut now = Accumulator::new(settings(), Timestamp::EPOCH);
                now.observe(&pipeline.report(context), Ending::Open);
                let now = without_owner(&flow_points(&now.points(Timestamp::EPOCH)));
                for (name, number) in &told {
                    assert!(now.get(name) >= Some(number), "{run}: {name} {number} {now:?}");
                }
                looks += 1;
                same += u32::from(told == now);
            }
        });
        let between = all.points(Timestamp::EPOCH);
        assert_eq!(without_owner(&between), without_owner(&whole), "{run}");
        assert!(looks > 20 && same * 3 > looks * 2, "{run}: {same} of {looks}");
    }
}

/// Sums over flows and taps. A flow's rank may become known only during the job, so flows are keyed
/// by port alone.
fn without_owner(points: &[Point]) -> BTreeMap<String, u64> {
    let is_sum = |name: &str| name.starts_with("rdma.") || name.starts_with("railscope.tap");
    let sums = points.iter().filter(|point| is_sum(point.metric.name)).cloned();
    let mut by_port = BTreeMap::new();
    for (name, value) in totals(sums.collect()) {
        let Value::Number(number) = value else { continue };
        let kept = name.split("(\"").filter(|part| !part.starts_with("nccl."));
        *by_port.entry(kept.collect::<Vec<_>>().join(" ")).or_insert(0) += number;
    }
    by_port
}

/// The points that change between reports.
fn flow_points(points: &[Point]) -> Vec<Point> {
    let of_flows = |point: &&Point| point.metric.name.starts_with("rdma.flow");
    points.iter().filter(of_flows).cloned().collect()
}

/// A made-up run: consecutive training steps with one collective each, flows that continue or are
/// followed by another of the same name, pauses.
#[derive(Clone, Debug)]
struct Run {
    /// Durations in nanoseconds.
    iterations: Vec<u64>,
    flows: Vec<MadeUpFlow>,
}

#[derive(Clone, Debug)]
struct MadeUpFlow {
    qpn: u32,
    start: i64,
    end: i64,
    frames: u64,
}

impl MadeUpFlow {
    fn at(&self, time: i64, template: &FlowReport) -> Option<FlowReport> {
        (time >= self.start).then(|| {
            let past = (time.min(self.end) - self.start) as u64;
            let frames = 1 + self.frames * past / ((self.end - self.start) as u64).max(1);
            let mut flow = template.clone();
            flow.dest_qpn = self.qpn;
            (flow.first_ns, flow.last_ns) = (self.start, time.min(self.end));
            (flow.frames, flow.wire_bytes) = (frames, frames * 1000);
            flow.ecn.ce = (frames > 3).then_some(frames / 3);
            flow.psn.retransmitted_packets = Some(frames / 7);
            flow.cnps = frames / 5;
            flow
        })
    }
}

/// A report with nothing in it, and a flow.
static TEMPLATES: LazyLock<(Report, FlowReport)> = LazyLock::new(|| {
    let mut whole = None;
    report_every(&[fixture::path("write_bw_rc_s128.pcap.gz")], u64::MAX, |report, _| {
        whole = Some(report.clone());
    });
    let mut empty = whole.unwrap();
    let flow = empty.flows.first().unwrap().clone();
    empty.flows.clear();
    empty.health.clear();
    empty.findings.clear();
    (empty, flow)
});

impl Run {
    /// Starts of the training steps, and the end of the last one.
    fn starts(&self) -> Vec<i64> {
        let ends = self.iterations.iter().scan(0, |at, length| {
            *at += *length as i64;
            Some(*at)
        });
        std::iter::once(0).chain(ends).collect()
    }

    fn end(&self) -> i64 {
        let flows = self.flows.iter().map(|flow| flow.end).max().unwrap_or(0);
        flows.max(*self.starts().last().unwrap())
    }

    /// What is known at `time` about everything that began at `since` or later.
    fn report(&self, since: i64, time: i64) -> Report {
        let (empty, flow) = &*TEMPLATES;
        let mut report = empty.clone();
        report.capture.duration_ns = time as u64;
        let starts = self.starts();
        let begun = starts.windows(2).enumerate().filter(|(_, span)| span[0] <= time);
        for (at, span) in begun.filter(|(_, span)| span[0] >= since) {
            let number = report.iterations.len() as u32;
            // The last one ends at the last observed time.
            let end = span[1].min(time);
            report.iterations.push(iteration(number, at, (span[0], end)));
            report.collectives.push(collective(number, at, (span[0], end - (end - span[0]) / 2)));
        }
        report.flows.extend(self.flows.iter().filter_map(|one| one.at(time, flow)));
        report.health.insert("flow.unpaired".to_owned(), time as u64);
        report
    }
}

fn straggler(rank: u32, lag_ns: u64) -> StragglerReport {
    StragglerReport {
        rank,
        lag_ns,
        cause: if rank == 0 { "compute" } else { "loss" },
        flow: None,
        port: None,
        rail: None,
        grade: "proven",
        evidence: Vec::new(),
    }
}

fn iteration(number: u32, at: usize, (start_ns, end_ns): (i64, i64)) -> IterationReport {
    let length = (end_ns - start_ns) as u64;
    IterationReport {
        iteration: number,
        label: None,
        communicator: Some("c".to_owned()),
        complete: !at.is_multiple_of(3),
        start_ns,
        end_ns,
        communication_ns: length / 2,
        idle_ns: length - length / 2,
        collectives: 1,
        collective_ids: vec![number],
        bytes: Some(length * 10),
        peak_bps: Some(length * 80),
        ce_packets: at.is_multiple_of(2).then_some(length / 9),
        ce_share: Some(0.25),
        cnps: Some(length / 11),
        paused_ns: None,
        retransmitted_packets: Some(at as u64),
        straggler: (at % 4 == 1).then(|| straggler(at as u32 % 2, length / 3)),
        straggler_collective: None,
        sets_up: false,
        median_ns: None,
        excess_ns: None,
        stands_out: false,
        grade: "inferred",
    }
}

fn collective(id: u32, at: usize, (start_ns, end_ns): (i64, i64)) -> CollectiveReport {
    CollectiveReport {
        id,
        communicator: "c".to_owned(),
        sequence: at as u64,
        sequence_origin: "init",
        kind: if at.is_multiple_of(2) { "all_reduce" } else { "all_gather" },
        alternatives: Vec::new(),
        algorithm: "ring",
        protocol: "simple",
        bytes: Some(1 << 20),
        estimated: false,
        channels: 1,
        messages: 2,
        start_ns,
        end_ns,
        algbw_bytes_per_s: None,
        busbw_bytes_per_s: Some(5_000_000_000),
        iteration: Some(id),
        grade: "proven",
        evidence: Vec::new(),
        parts: Vec::new(),
        ranks: Vec::new(),
        straggler: (at % 4 == 1).then(|| straggler(at as u32 % 2, (end_ns - start_ns) as u64)),
        connections: Vec::new(),
    }
}

fn flows() -> impl Strategy<Value = Vec<MadeUpFlow>> {
    let flow = (0..3_u32, 0..2_000_i64, 1..3_000_i64, 0..5_000_u64);
    prop::collection::vec(flow, 0..6).prop_map(|flows| {
        let mut next = [0; 3];
        let mut all = Vec::new();
        for (qpn, rest, length, frames) in flows {
            // A QPN is reused after its last use has ended.
            let start = next[qpn as usize] + rest;
            next[qpn as usize] = start + length + 1;
            all.push(MadeUpFlow { qpn, start, end: start + length, frames });
        }
        all
    })
}

proptest! {
    #[test]
    fn every_way_of_cutting_ends_in_the_same_totals(
        iterations in prop::collection::vec(1..1_000_u64, 1..12),
        flows in flows(),
        mut cuts in prop::collection::vec((0.0..1.0_f64, 0.0..=1.0_f64), 0..10),
    ) {
        let run = Run { iterations, flows };
        let end = run.end();
        let look = |since, time| keep_last_uses(run.report(since, time));
        let mut whole = Accumulator::new(settings(), Timestamp::EPOCH);
        // Earlier uses of a QPN are in no later report: each is observed before the next begins.
        let mut looks: Vec<(i64, f64)> =
            cuts.drain(..).map(|(at, kept)| ((at * end as f64) as i64, kept)).collect();
        let mut ends: Vec<i64> = run.flows.iter().map(|flow| flow.end).collect();
        ends.sort_unstable();
        looks.extend(ends.iter().map(|at| (*at, 0.0)));
        looks.sort_by_key(|(at, _)| *at);
        for at in ends {
            whole.observe(&look(0, at), Ending::Open);
        }
        whole.observe(&look(0, end), Ending::Closed);
        let mut cut = Accumulator::new(settings(), Timestamp::EPOCH);
        let mut unsettled = 0;
        for (time, kept) in looks {
            // Exported data may be gone; data that may still grow is kept.
            cut.observe(&look((unsettled as f64 * kept) as i64, time), Ending::Open);
            unsettled = run.starts().into_iter().rfind(|start| *start <= time).unwrap().min(time);
            unsettled = unsettled.min(*run.starts().iter().rev().nth(1).unwrap());
        }
        cut.observe(&look(unsettled, end), Ending::Closed);
        let points = cut.points(Timestamp::EPOCH);
        let sum = |name: &str| -> u64 {
            let of_name = points.iter().filter(|point| point.metric.name == name);
            of_name.map(|point| match &point.value {
                Value::Number(number) => *number,
                Value::Distribution(values) => values.sum,
            }).sum()
        };
        let all: u64 = run.iterations.iter().sum();
        prop_assert_eq!(sum("nccl.training_step.io"), all * 10);
        let complete = run.iterations.iter().enumerate().filter(|(at, _)| at % 3 > 0);
        let complete: u64 = complete.map(|(_, length)| length).sum();
        prop_assert_eq!(sum("nccl.training_step.duration"), complete);
        prop_assert_eq!(sum("nccl.collective.io"), run.iterations.len() as u64 * (1 << 20));
        // Sent once and received once.
        let frames: u64 = run.flows.iter().map(|flow| flow.frames + 1).sum();
        prop_assert_eq!(sum("rdma.flow.packets"), 2 * frames);
        prop_assert_eq!(totals(points), totals(whole.points(Timestamp::EPOCH)));
    }
}

/// Without epochs, a report has only the last of the flows with the same name.
fn keep_last_uses(mut report: Report) -> Report {
    for flow in std::mem::take(&mut report.flows) {
        report.flows.retain(|other| other.dest_qpn != flow.dest_qpn);
        report.flows.push(flow);
    }
    report
}

#[test]
fn a_pipeline_after_another_counts_on_top() {
    let run = Run {
        iterations: vec![100, 100],
        flows: vec![MadeUpFlow { qpn: 1, start: 0, end: 200, frames: 99 }],
    };
    let report = run.report(0, 200);
    let mut later = report.clone();
    later.capture.origin_ns = later.capture.origin_ns.plus_nanos(1000);
    let mut all = Accumulator::new(Settings::default(), Timestamp::EPOCH);
    let of = |all: &Accumulator, name: &str| {
        let points = all.points(Timestamp::EPOCH);
        let point = points.into_iter().find(|point| point.metric.name == name);
        match point.map(|point| point.value) {
            Some(Value::Number(number)) => number,
            Some(Value::Distribution(values)) => values.count(),
            None => 0,
        }
    };
    all.observe(&report, Ending::Closed);
    all.observe(&report, Ending::Closed);
    assert_eq!(of(&all, "rdma.flow.packets"), 100);
    assert_eq!(of(&all, "nccl.training_step.duration"), 1);
    assert_eq!(of(&all, "nccl.collective.duration"), 1, "of each kind");
    all.observe(&later, Ending::Closed);
    assert_eq!(of(&all, "rdma.flow.packets"), 200);
    assert_eq!(of(&all, "nccl.training_step.duration"), 2);
    assert_eq!(of(&all, "nccl.training_step.incomplete"), 2);
}
