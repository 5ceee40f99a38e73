//! Rules: one class of cause a file, with the findings that follow from it.

pub mod calls;
pub mod capture_stopped;
pub mod compute_varies;
pub mod congestion;
pub mod dead;
pub mod dscp;
pub mod finding;
pub mod healthy;
pub mod late_rank;
pub mod logged;
pub mod loss;
pub mod not_ready;
pub mod path_mtu_mismatch;
pub mod pause;
pub mod profiled;
pub mod queue_pair;
pub mod reordering;
pub mod slow_path;
pub mod slow_receiver;
pub mod socket;
pub mod socket_stalled;
pub mod sprayed;

use super::Verdict;
use super::evidence::Evidence;
use crate::analysis::finding::{Finding, log_cause};

/// A rule.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// Why the findings that it explains follow from its cause.
    pub reason: &'static str,
    /// The verdicts that follow from the evidence.
    pub conclude: fn(&Evidence<'_>) -> Vec<Verdict>,
}

/// All rules.
pub const ALL: &[Rule] = &[
    path_mtu_mismatch::RULE,
    dead::RULE,
    calls::RULE,
    not_ready::RULE,
    loss::RULE,
    slow_path::RULE,
    sprayed::RULE,
    reordering::RULE,
    congestion::RULE,
    pause::RULE,
    slow_receiver::RULE,
    late_rank::RULE,
    socket_stalled::RULE,
    socket::RULE,
    dscp::RULE,
    capture_stopped::RULE,
];

/// Adds the findings named in `follows` to those that `verdict` explains, where they overlap it in
/// time and `fits` accepts them.
fn explain(
    evidence: &Evidence<'_>,
    verdict: &mut Verdict,
    follows: &[&str],
    fits: impl Fn(&Finding) -> bool,
) {
    for (at, finding) in evidence.findings.iter().enumerate() {
        let overlaps = match (verdict.span, finding.span) {
            // A consequence may come after its cause, but not before. A stall that begins once the cause
            // is over has another one.
            (Some(cause), Some(seen)) => {
                let is_late = finding.id == "stalled_collective" && seen.first > cause.last;
                seen.last >= cause.first && !is_late
            }
            _ => true,
        };
        let is_new = !verdict.rests_on.contains(&at);
        // A cause that a log names is a warning of NCCL.
        let is_warned = log_cause::named(finding.id).is_some() && follows.contains(&"nccl_warning");
        let is_named = is_warned || follows.contains(&finding.id);
        if is_new && overlaps && is_named && fits(finding) {
            verdict.explains.push(at);
        }
    }
}
