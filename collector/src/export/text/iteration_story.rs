//! Why a training step took long, in words.

use super::job_iterations::name;
use super::label;
use super::quantity::{counted, duration, percent};
use railscope_core::report::iterations::IterationReport;
use railscope_core::report::stragglers::StragglerReport;
use railscope_core::report::words;

/// A cost is worth a sentence from 1/`MUCH_PARTS` of the training step on.
const MUCH_PARTS: u64 = 20;

/// Longest path.
const FILE_WIDTH: usize = 48;

/// `Training step 12 (label 4812) took 431 ms, 68.0 ms longer than the median: ...`.
pub(in crate::export) fn sentence(one: &IterationReport) -> String {
    let compared = match one.excess_ns {
        Some(excess) => format!(", {} longer than the median", duration(excess)),
        None => String::new(),
    };
    let mut reasons: Vec<String> = one.straggler.iter().map(straggler).collect();
    reasons.extend(suffered(one));
    if reasons.is_empty() {
        reasons.push(format!(
            "no rank stands out; {} communicating, {} idle",
            duration(one.communication_ns),
            duration(one.idle_ns)
        ));
    }
    format!(
        "Training step {} took {}{compared}: {}",
        name(one),
        duration(one.length_ns()),
        reasons.join("; ")
    )
}

/// `Evidence: rank 2 sent its first data 61 ms after the others: node02.pcap frame 1234`.
pub(in crate::export) fn evidence(one: &IterationReport) -> Option<String> {
    let reason = one.straggler.as_ref()?.evidence.first()?;
    let file = reason.source.as_ref().map(|file| label::file(file, FILE_WIDTH));
    let place = match (file, reason.frame, reason.line) {
        (Some(file), Some(frame), _) => format!(", frame {frame} of {file}"),
        (Some(file), None, Some(line)) => format!(", line {line} of {file}"),
        _ => String::new(),
    };
    Some(format!("Evidence: {}{place}", reason.text))
}

/// `the other ranks waited 61.0 ms for rank 2 in one collective (compute: its GPU was late, ...),
/// clearest at port 10.0.0.3`.
pub(in crate::export) fn straggler(late: &StragglerReport) -> String {
    let rail = late.rail.map(|rail| format!(", rail {rail}")).unwrap_or_default();
    let port = late.port.as_ref().map(|port| format!(", clearest at port {port}{rail}"));
    format!(
        "the other ranks waited {} for rank {} in one collective ({}: {}){}",
        duration(late.lag_ns),
        late.rank,
        late.cause.name(),
        words::straggler::cause(late.cause).clause,
        port.unwrap_or_default()
    )
}

/// `without the 61.0 ms that rank 2's late call cost, the training step would have taken about 370 ms`: of
/// its greatest cost; `None` if that is little, or if it was not seen completely.
pub(in crate::export) fn without(one: &IterationReport) -> Option<String> {
    let greatest = one.costs.first().filter(|_| one.complete)?;
    let is_much = greatest.ns.saturating_mul(MUCH_PARTS) >= one.length_ns();
    is_much.then(|| {
        format!(
            "without the {} that {} cost, the training step would have taken about {}",
            duration(greatest.ns),
            words::straggler::costing(greatest.cause, greatest.rank),
            duration(one.length_ns().saturating_sub(greatest.ns))
        )
    })
}

/// Retransmissions, CE marks, CNPs and pauses during it.
pub(in crate::export) fn suffered(one: &IterationReport) -> Vec<String> {
    let mut reasons = Vec::new();
    let count = |value: Option<u64>| value.filter(|value| *value > 0);
    if let Some(packets) = count(one.retransmitted_packets) {
        reasons.push(counted(packets, "retransmission"));
    }
    if let Some(share) = one.ce_share.filter(|share| *share > 0.0) {
        reasons.push(format!("{} of its packets marked CE", percent(share)));
    }
    if let Some(cnps) = count(one.cnps) {
        reasons.push(counted(cnps, "CNP"));
    }
    if let Some(paused) = count(one.paused_ns) {
        reasons.push(format!("ports paused for {}", duration(paused)));
    }
    reasons
}
