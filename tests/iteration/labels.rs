//! Labels: the numbers that anchors and training logs give to the training steps of made-up jobs.

use railscope_core::analysis::iteration::Iteration;
use railscope_core::analysis::iteration::label::{
    Anchor, LabelMethod, LabelNote, LabelSources, LabelUse, apply,
};
use railscope_core::analysis::iteration::train_log::TrainLog;
use railscope_core::model::time::Timestamp;

use super::calls::{MS, Script, reduced};

/// The logs' clock is 2 h ahead of UTC.
const ZONE_NS: u64 = 7_200_000_000_000;

/// A job whose training steps compute for this long, in milliseconds.
fn job(computes: &[u64]) -> Script {
    let mut script = Script::new(1);
    for compute in computes {
        script.compute(compute * MS);
        script.call(reduced(512));
        script.call(reduced(4));
    }
    script
}

fn twenty() -> Script {
    job(&[150; 20])
}

/// The end of each training step's last call, by the log's clock.
fn ends(script: &Script) -> Vec<u64> {
    let last = |one: &Iteration| script.collectives()[*one.collectives.last().unwrap()].span.last;
    script.iterations().iter().map(|one| last(one).as_nanos() + ZONE_NS).collect()
}

fn stamp(local_ns: u64, format: &str) -> String {
    let time = jiff::Timestamp::from_nanosecond(local_ns.into()).unwrap();
    time.to_zoned(jiff::tz::TimeZone::UTC).strftime(format).to_string()
}

fn deepspeed(number: usize, local_ns: u64) -> String {
    let time = stamp(local_ns, "%Y-%m-%d %H:%M:%S,%3f");
    format!("[{time}] [INFO] [logging.py:96:log_dist] [Rank 0] step={number}, skipped=0, lr=[0.1]")
}

fn megatron(number: usize, length_ns: u64) -> String {
    let length = length_ns as f64 / 1e6;
    format!(
        " iteration {number:8}/    9999 | elapsed time per iteration (ms): {length:.1} | loss: 1 |"
    )
}

fn log(lines: impl IntoIterator<Item = String>) -> TrainLog {
    let mut log = TrainLog::new("train.log");
    for (number, line) in (1..).zip(lines) {
        log.observe(number, line.as_bytes());
    }
    log
}

/// Labels of the first and the last training step, and how each source was used.
fn labelled(script: &Script, sources: &LabelSources) -> (Vec<Option<String>>, Vec<LabelUse>) {
    let mut iterations = script.iterations();
    let uses = apply(sources, script.collectives(), &mut iterations);
    let ends = [iterations.first(), iterations.last()].into_iter().flatten();
    (ends.map(|one| one.label.clone()).collect(), uses)
}

fn by_log(script: &Script, log: TrainLog) -> (Vec<Option<String>>, LabelUse) {
    let sources = LabelSources { logs: vec![log], ..LabelSources::default() };
    let (labels, mut uses) = labelled(script, &sources);
    (labels, uses.remove(0))
}

fn some(labels: [&str; 2]) -> Vec<Option<String>> {
    labels.map(|label| Some(label.to_owned())).to_vec()
}

#[test]
fn logs_are_matched_by_time_in_any_zone() {
    let script = twenty();
    let lines = (4801..).zip(ends(&script)).map(|(number, end)| deepspeed(number, end + 9 * MS));
    let (labels, used) = by_log(&script, log(lines));
    assert_eq!(labels, some(["4801", "4820"]));
    assert_eq!((used.method, used.agreeing), (Some(LabelMethod::Time), (20, 20)));
    assert_eq!(used.zone_ns, Some(ZONE_NS as i64));
    // One line per five training steps is enough.
    let lines = (4801..).zip(ends(&script)).filter(|(number, _)| number % 5 == 0);
    let (labels, _) = by_log(&script, log(lines.map(|(number, end)| deepspeed(number, end + MS))));
    assert_eq!(labels, some(["4801", "4820"]));
}

#[test]
fn a_log_with_another_count_gives_no_label() {
    let script = twenty();
    let halves = ends(&script).into_iter().enumerate();
    let lines = halves.map(|(at, end)| deepspeed(1 + at / 2, end + MS));
    let (labels, used) = by_log(&script, log(lines));
    assert_eq!((labels, used.method), (vec![None, None], None));
    assert_eq!(used.note, Some(LabelNote::Drift), "{used:?}");
    let coarse = ends(&script).into_iter().enumerate().map(|(at, end)| {
        let time = stamp(end, "%Y-%m-%d %H:%M:%S");
        format!("[{time}]{}", megatron(1 + at, MS))
    });
    let (labels, used) = by_log(&script, log(coarse.take(1)));
    assert_eq!((labels, used.method), (vec![None, None], None));
    assert_eq!(used.note, Some(LabelNote::Coarse), "{used:?}");
    let (labels, used) = by_log(&script, log(["nothing of it".to_owned()]));
    assert_eq!((labels, used.method), (vec![None, None], None));
}

#[test]
fn logs_are_matched_by_iteration_lengths_that_differ() {
    let computes: Vec<u64> = (0..20).map(|at| 100 + at * 37 % 90).collect();
    let script = job(&computes);
    let starts: Vec<u64> =
        script.iterations().iter().map(|one| one.span.first.as_nanos()).collect();
    let lengths = starts.windows(2).map(|pair| pair[1] - pair[0]);
    let lines = (900..).zip(lengths).map(|(number, length)| megatron(number, length));
    let (labels, used) = by_log(&script, log(lines));
    assert_eq!((labels, used.method), (some(["900", "919"]), Some(LabelMethod::Length)));
    // Training steps of equal length fit at any difference.
    let (labels, used) = by_log(&twenty(), log((700..710).map(|at| megatron(at, 170 * MS))));
    assert_eq!((labels, used.method), (vec![None, None], None));
}

#[test]
fn a_log_without_times_is_matched_by_order() {
    let bars = |count: u64| {
        (1..=count).map(|at| format!("| {at}/20 [00:{at:02}<00:01, 1.00s/it]")).collect::<Vec<_>>()
    };
    let (labels, used) = by_log(&twenty(), log(bars(20)));
    assert_eq!((labels, used.method), (some(["1", "20"]), Some(LabelMethod::Order)));
    let (labels, used) = by_log(&twenty(), log(bars(17)));
    assert_eq!((labels, used.method), (vec![None, None], None));
    let mut late = Script::new(1).joined_late();
    for _ in 0..20 {
        late.compute(150 * MS);
        late.call(reduced(512));
        late.call(reduced(4));
    }
    assert_eq!(by_log(&late, log(bars(20))).1.method, None);
}

#[test]
fn an_anchor_labels_all_training_iterations() {
    let script = twenty();
    let inside = script.iterations()[3].span.first.plus_nanos(5 * MS);
    let anchored = |time| {
        let anchor = Some(Anchor { time, label: 4812 });
        labelled(&script, &LabelSources { anchor, ..LabelSources::default() })
    };
    let (labels, uses) = anchored(inside);
    assert_eq!((labels, uses[0].method), (some(["4809", "4828"]), Some(LabelMethod::Anchor)));
    let (labels, uses) = anchored(Timestamp::EPOCH);
    assert_eq!((labels, uses[0].method), (vec![None, None], None));
}
