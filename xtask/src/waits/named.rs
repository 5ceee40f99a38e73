//! Whom a report names, and why.

use std::fmt;

use super::report::Report;

/// The cause of what a job waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Named {
    Nobody,
    LateCpu(u32),
    LateGpu(u32),
    /// Late, by CPU or GPU.
    Late(u32),
    SlowReceiver(u32),
    /// Loss, congestion, pause, reordering.
    Network,
    Other,
}

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nobody => f.write_str("nobody"),
            Self::LateCpu(rank) => write!(f, "CPU of {rank}"),
            Self::LateGpu(rank) => write!(f, "GPU of {rank}"),
            Self::Late(rank) => write!(f, "rank {rank}"),
            Self::SlowReceiver(rank) => write!(f, "receiver {rank}"),
            Self::Network => f.write_str("network"),
            Self::Other => f.write_str("other"),
        }
    }
}

/// The first verdict on a problem.
pub(super) fn by_packets(report: &Report) -> Named {
    let Some(verdict) = report.verdicts.iter().find(|one| one.severity != "info") else {
        return Named::Nobody;
    };
    let cause = verdict.cause.as_deref();
    match (verdict.id.as_str(), verdict.subject.rank) {
        ("late_rank", Some(rank)) if cause == Some("enqueue") => Named::LateCpu(rank),
        ("late_rank", Some(rank)) if cause == Some("compute") => Named::LateGpu(rank),
        ("late_rank", Some(rank)) => Named::Late(rank),
        ("slow_receiver", Some(rank)) => Named::SlowReceiver(rank),
        ("loss" | "congestion" | "pause" | "reordering", _) => Named::Network,
        _ => Named::Other,
    }
}

/// What the profiles alone show.
pub(super) fn by_plugin(report: &Report) -> Named {
    let records = &report.call_records;
    if let Some(late) = records.late_by_proxies.first() {
        return match late.why.as_str() {
            "enqueue" => Named::LateCpu(late.rank),
            "gpu" => Named::LateGpu(late.rank),
            _ => Named::Late(late.rank),
        };
    }
    let judged = records.judged_by_proxies.first();
    match judged.map(|one| (&one.slow_receiver, &one.slow_path)) {
        Some((Some(edge), _)) => Named::SlowReceiver(edge.to),
        Some((None, Some(_))) => Named::Network,
        _ => Named::Nobody,
    }
}
