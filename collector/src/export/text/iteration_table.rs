//! Training steps: one line each, and the worst in words.

use std::collections::BTreeSet;
use std::io::{self, Write};

use super::communicator_names::CommunicatorNames;
use super::iteration_story;
use super::job_iterations::JobIterations;
use super::label;
use super::options::TextOptions;
use super::quantity::{bit_rate, bytes, count, counted, duration, percent};
use super::sentence;
use super::style::{Meaning, paint};
use super::table::{Column, render};
use railscope_core::report::Report;
use railscope_core::report::iterations::IterationReport;
use railscope_core::report::labels::LabelReport;
use railscope_core::report::training_jobs::TrainingJobReport;

/// Training steps described in words.
const DESCRIBED: usize = 3;

/// Writes the training steps of each job.
pub(super) fn write(
    report: &Report,
    names: CommunicatorNames,
    options: &TextOptions,
    out: &mut impl Write,
) -> io::Result<()> {
    let jobs = JobIterations::of_jobs(report);
    for job in &jobs {
        let of = match jobs.len() {
            0 | 1 => String::new(),
            _ => format!(" of {}", names.short(&job.job.communicator)),
        };
        writeln!(out, "\n{}", paint(Meaning::Heading, format!("Training steps{of}")))?;
        writeln!(out, "{}", sentence::note(&summary(job.job), options.width))?;
        let worst = job.worst();
        let shown = shown(job, &worst, options.top);
        writeln!(out, "{}", table(job, &shown, options))?;
        options.write_more(job.all.len(), out)?;
        for one in worst.iter().take(DESCRIBED) {
            writeln!(
                out,
                "{}",
                sentence::bullet(Meaning::Odd, &iteration_story::sentence(one), options.width)
            )?;
            if let Some(evidence) = iteration_story::evidence(one) {
                writeln!(out, "{}", sentence::aside(&evidence, options.width))?;
            }
        }
        if let Some(one) = worst.first().copied().or(job.all.last().copied()) {
            let hint = format!("details of one: railscope explain --step {}", one.iteration);
            writeln!(out, "{}", sentence::painted(Meaning::Aside, &hint, options.width))?;
        }
    }
    for label in &report.labels {
        writeln!(out, "{}", sentence::note(&labelled(label, options), options.width))?;
    }
    Ok(())
}

/// `labels from train.out (deepspeed), matched by time (UTC): 14 of 14 lines agree`.
fn labelled(label: &LabelReport, options: &TextOptions) -> String {
    let source = match (&label.file, label.framework) {
        (Some(file), Some(framework)) => {
            format!("{} ({framework})", label::file(file, options.path_width()))
        }
        (Some(file), None) => label::file(file, options.path_width()),
        (None, _) => "--anchor".to_owned(),
    };
    let lines = format!(
        "{} of {} agree",
        count(label.agreeing_lines),
        counted(label.compared_lines, "line")
    );
    let how = match label.method {
        None => return format!("no labels from {source}: {}", label.note.unwrap_or("unknown")),
        Some("time") => {
            let zone = label.zone_s.map(zone).unwrap_or_default();
            format!(", matched by time ({zone}): {lines}")
        }
        Some("length") => format!(", matched by duration: {lines}"),
        Some("order") => {
            ", matched in order: it and the capture have the same number from the start of the job"
                .to_owned()
        }
        Some(_) => String::new(),
    };
    let note = label.note.map(|note| format!("; {note}")).unwrap_or_default();
    format!("labels from {source}{how}{note}")
}

/// `UTC`, `+02:00`.
fn zone(seconds: i64) -> String {
    let minutes = seconds.unsigned_abs() / 60;
    let sign = if seconds < 0 { '-' } else { '+' };
    match minutes {
        0 => "UTC".to_owned(),
        _ => format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60),
    }
}

/// `20 in 11.2 s, median 366 ms; 1 stands out; 3 gaps between them (evaluation, checkpoint), the
/// longest 1.39 s after 4`.
pub(in crate::export) fn summary(job: &TrainingJobReport) -> String {
    let span = u64::try_from(job.end_ns.saturating_sub(job.start_ns)).unwrap_or(0);
    let mut text = format!("{} in {}", count(job.iterations), duration(span));
    match job.median_ns {
        None => text.push_str(", too few to compare"),
        Some(median) => {
            text.push_str(&format!(", median {}; ", duration(median)));
            text.push_str(&match job.standing_out.len() {
                0 => "none stands out".to_owned(),
                1 => "1 stands out".to_owned(),
                more => format!("{} stand out", count(more as u64)),
            });
        }
    }
    if let Some((longest, after)) = job.longest_gap_ns.zip(job.longest_gap_after) {
        text.push_str(&format!(
            "; {} between them (evaluation, checkpoint), the longest {} after {after}",
            counted(job.gaps, "gap"),
            duration(longest)
        ));
    }
    text
}

/// Indices of the training steps shown, in order of time: those described and their neighbours,
/// then the worst, then the longest.
fn shown(job: &JobIterations<'_>, worst: &[&IterationReport], top: usize) -> BTreeSet<usize> {
    let place = |one: &IterationReport| {
        job.all.binary_search_by_key(&one.iteration, |other| other.iteration).ok()
    };
    let described = worst.iter().take(DESCRIBED).filter_map(|one| place(one));
    let around = described.clone().flat_map(|at| [at.checked_sub(1), Some(at + 1)]).flatten();
    let mut longest: Vec<usize> = (0..job.all.len()).collect();
    longest.sort_by_key(|at| (std::cmp::Reverse(job.all[*at].length_ns()), *at));
    let mut shown = BTreeSet::new();
    let others = worst.iter().filter_map(|one| place(one));
    let around = around.filter(|at| *at < job.all.len());
    let wanted = described.clone().chain(around).chain(others).chain(longest);
    for at in wanted {
        if shown.len() < top {
            shown.insert(at);
        }
    }
    shown
}

fn table(job: &JobIterations<'_>, shown: &BTreeSet<usize>, options: &TextOptions) -> String {
    let rows: Vec<&IterationReport> = shown.iter().map(|at| job.all[*at]).collect();
    let column =
        |cell: &dyn Fn(&IterationReport) -> String| rows.iter().map(|one| cell(one)).collect();
    let known = |value: Option<u64>, shape: fn(u64) -> String| {
        value.filter(|value| *value > 0).map(shape).unwrap_or_default()
    };
    let columns = vec![
        Column::numbers("STEP", column(&|one| one.iteration.to_string())),
        Column::words("LABEL", column(&|one| one.label.clone().unwrap_or_default())),
        Column::numbers("TIME", column(&|one| duration(one.length_ns()))),
        Column::words("", column(&|one| mark(job, one))),
        Column::numbers("COMM", column(&|one| duration(one.communication_ns))).spare(1),
        Column::numbers("IDLE", column(&|one| duration(one.idle_ns))).spare(4),
        Column::numbers("SENT", column(&|one| known(one.bytes, bytes))).spare(3),
        Column::numbers("PEAK", column(&|one| known(one.peak_bps, |bps| bit_rate(bps as f64))))
            .spare(5),
        Column::numbers(
            "CE",
            column(&|one| {
                one.ce_share.filter(|share| *share > 0.0).map(percent).unwrap_or_default()
            }),
        ),
        Column::numbers("CNP", column(&|one| known(one.cnps, count))),
        Column::numbers("RETRANS", column(&|one| known(one.retransmitted_packets, count))),
        Column::numbers("PAUSE", column(&|one| known(one.paused_ns, duration))),
        Column::words(
            "STRAGGLER",
            column(&|one| {
                let late = one.straggler.as_ref();
                late.map(|late| format!("rank {} {}", late.rank, duration(late.lag_ns)))
                    .unwrap_or_default()
            }),
        ),
        Column::words(
            "CAUSE",
            column(&|one| one.straggler.as_ref().map_or("", |late| late.cause.name()).to_owned()),
        ),
    ];
    render(columns, options.width)
}

/// What is special about its duration.
fn mark(job: &JobIterations<'_>, one: &IterationReport) -> String {
    let is_last = job.all.last().is_some_and(|last| last.iteration == one.iteration);
    match one.excess_ns {
        Some(excess) => format!("+{}", duration(excess)),
        None if one.sets_up => "set-up".to_owned(),
        None if !one.complete && (is_last || one.iteration == 0) => "cut off".to_owned(),
        None if !one.complete => "partial".to_owned(),
        None => String::new(),
    }
}
