//! Data goes over TCP.

use super::{Rule, explain};
use crate::analysis::finding::log_cause;
use crate::analysis::straggler::Cause;
use crate::analysis::verdict::Verdict;
use crate::analysis::verdict::class::Class;
use crate::analysis::verdict::evidence::Evidence;
use crate::analysis::verdict::subject::VerdictSubject;

/// What follows when NCCL uses sockets.
const FOLLOWS: &[&str] = &["socket_fallback", "nccl_warning", "straggler"];

/// Causes that logs name and that do follow from sockets: NCCL looked for another network.
const LOOKED_FOR: &[&str] = &["verbs_library_missing", "plugin_mismatch", "efa_no_provider"];

/// Findings that say why NCCL had no other network.
const REASONS: &[&str] = &["efa_no_provider", "efa_plugin_failed"];

/// Socket fallback.
pub const RULE: Rule = Rule {
    reason: "NCCL warns of each network that it could not use before it takes sockets, and every \
             collective is slow.",
    conclude,
};

fn conclude(evidence: &Evidence<'_>) -> Vec<Verdict> {
    let Some((at, finding)) = evidence.warnings("socket_fallback").next() else {
        return Vec::new();
    };
    let subject =
        VerdictSubject { communicator: finding.subject.communicator, ..VerdictSubject::default() };
    let mut verdict = Verdict::of_finding(Class::SocketFallback, subject, at, finding);
    if let Some((why, reason)) = REASONS.iter().find_map(|id| evidence.warnings(id).next()) {
        verdict.rests_on.push(why);
        verdict.remedy = reason.remedy;
    }
    // A rank may be late for other reasons, too.
    explain(evidence, &mut verdict, FOLLOWS, |finding| {
        let is_other = log_cause::named(finding.id).is_some() && !LOOKED_FOR.contains(&finding.id);
        let is_late = finding.id == "straggler" && finding.cause != Some(Cause::Socket.name());
        !is_other && !is_late
    });
    vec![verdict]
}
