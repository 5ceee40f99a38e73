//! Why a training step took long, in words.

use super::job_iterations::name;
use super::label;
use super::quantity::{counted, duration, percent};
use railscope_core::report::iterations::IterationReport;
use railscope_core::report::stragglers::StragglerReport;
use railscope_core::report::words;

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

/// `the other ranks waited 61.0 ms for rank 2 (compute: its GPU was late, ...), clearest at port
/// 10.0.0.3`.
pub(in crate::export) fn straggler(late: &StragglerReport) -> String {
    let rail = late.rail.map(|rail| format!(", rail {rail}")).unwrap_or_default();
    let port = late.port.as_ref().map(|port| format!(", clearest at port {port}{rail}"));
    format!(
        "the other ranks waited {} for rank {} ({}: {}){}",
        duration(late.lag_ns),
        late.rank,
        late.cause.name(),
        words::straggler::cause(late.cause).clause,
        port.unwrap_or_default()
    )
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
