//! A recorded job gives the same counts, however often it is analysed while running.

use std::collections::BTreeMap;

use railscope::ingest::file::CaptureSet;
use railscope::ingest::file::event::SourceEvent;
use railscope_core::analysis::ledger::Ending;
use railscope_core::analysis::understanding::Understanding;
use railscope_core::flow::tracker::FlowConfig;
use railscope_core::metrics::Settings;
use railscope_core::metrics::accumulator::Accumulator;
use railscope_core::metrics::point::{Point, Value};
use railscope_core::model::time::Timestamp;
use railscope_core::pipeline::{MESSAGE_CAPACITY, Pipeline, PipelineConfig};

use super::made_up::totals;
use crate::support::recording::Recording;

const CONFIG: PipelineConfig = PipelineConfig {
    flow: FlowConfig { flow_capacity: 1024, line_rate_bps: None, keeps_details: false },
    message_capacity: Some(MESSAGE_CAPACITY as usize),
};

/// Analyses after every `every` frames, and once more at the end.
fn analyse_every(
    files: &[std::path::PathBuf],
    every: u64,
    mut observe: impl FnMut(&Understanding, Ending),
) {
    look_every(files, [every, u64::MAX], |look| {
        if let Look::Analysis(understanding, ending) = look {
            observe(understanding, ending);
        }
    });
}

/// What is observed while frames are read.
enum Look<'a> {
    Analysis(&'a Understanding, Ending),
    /// The state, without an analysis.
    State(&'a Pipeline),
}

/// Calls `look` with an analysis each `analysis` frames, and with the state each `state` frames.
fn look_every(
    files: &[std::path::PathBuf],
    [analysis, state]: [u64; 2],
    mut look: impl FnMut(Look<'_>),
) {
    let mut pipeline = Pipeline::new(CONFIG);
    let mut captures = CaptureSet::open(files).unwrap();
    let mut frames = 0;
    while let Some(event) = captures.next_event() {
        match event {
            SourceEvent::Tap(_, tap) => pipeline.add_tap(tap.clone()),
            SourceEvent::Frame(frame) => {
                pipeline.handle_frame(&frame);
                frames += 1;
                if frames % analysis == 0 {
                    look(Look::Analysis(&pipeline.clone().understand(), Ending::Open));
                } else if frames % state == 0 {
                    look(Look::State(&pipeline));
                }
            }
            _ => {}
        }
    }
    look(Look::Analysis(&pipeline.understand(), Ending::Closed));
}

fn settings() -> Settings {
    Settings { ranks: true, peers: true, channels: true, ports: None }
}

#[test]
fn a_recorded_job_has_the_same_totals_however_often_reports_come() {
    for run in ["async-straggler-2.27.5", "loss1pct-2.27.5"] {
        let job = Recording::unpack(run);
        // Two taps of one host, so they share a clock.
        let files: Vec<_> = job.captures().iter().map(|file| job.folder().join(file)).collect();
        let come_to = |every| {
            let mut all = Accumulator::new(settings(), Timestamp::EPOCH);
            let mut analyses = 0;
            analyse_every(&files, every, |understanding, ending| {
                all.observe(understanding, ending);
                analyses += 1;
            });
            (analyses, all.points(Timestamp::EPOCH))
        };
        let (_, whole) = come_to(u64::MAX);
        let (analyses, cut) = come_to(1500);
        assert!(analyses > 5, "{run}: {analyses}");
        assert_eq!(without_owner(&cut), without_owner(&whole), "{run}");
        // With the traffic of flows in between, and few analyses, each taking from one look to the next.
        let (mut looks, mut same) = (0, 0);
        let mut all = Accumulator::new(settings(), Timestamp::EPOCH);
        let mut ordered: Option<Understanding> = None;
        look_every(&files, [u64::MAX, 700], |look| match look {
            Look::Analysis(understanding, ending) => _ = all.observe(understanding, ending),
            Look::State(pipeline) if looks % 4 == 0 && ordered.is_none() => {
                ordered = Some(pipeline.clone().understand());
            }
            Look::State(pipeline) => {
                if let Some(earlier) = ordered.take() {
                    all.observe(&earlier, Ending::Open);
                }
                all.observe_traffic(pipeline.tracker());
                let counted = without_owner(&flow_points(&all.points(Timestamp::EPOCH)));
                let mut now = Accumulator::new(settings(), Timestamp::EPOCH);
                now.observe(&pipeline.clone().understand(), Ending::Open);
                let now = without_owner(&flow_points(&now.points(Timestamp::EPOCH)));
                for (name, number) in &counted {
                    assert!(now.get(name) >= Some(number), "{run}: {name} {number} {now:?}");
                }
                looks += 1;
                same += u32::from(counted == now);
            }
        });
        let between = all.points(Timestamp::EPOCH);
        assert_eq!(without_owner(&between), without_owner(&whole), "{run}");
        assert!(looks > 20 && same * 3 > looks * 2, "{run}: {same} of {looks}");
    }
}

/// Sums over flows and taps, by port alone: owners become known while a job runs.
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
