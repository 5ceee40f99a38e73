//! PyTorch's watchdog gave up on a collective.

use crate::analysis::finding::claim::logged::{LoggedClaim, Standing};
use crate::analysis::finding::facts::Facts;
use crate::analysis::finding::kind::{Kind, Need};
use crate::analysis::finding::log_cause::{self, Depth};
use crate::analysis::finding::observation::LogObservation;
use crate::analysis::finding::{Finding, Proof, Subject};
use crate::analysis::severity::Severity;
use crate::link::log::watchdog::RankProgress;

/// Collective timeouts.
pub const KIND: Kind = Kind {
    id: "collective_timeout",
    about: "PyTorch's watchdog ended the job because a collective was not done in time. Ranks that \
            report it waited; the rank that they wait for is behind, or reports nothing. It is not by \
            itself a fault of the network.",
    threshold: "Watchdog lines of ProcessGroupNCCL; information where the logs name a deeper cause \
                (a failed NIC, a killed process). Ranks are compared by the number of the first \
                collective that was not done.",
    remedy: "Look at the rank that is behind, or that reports nothing: its log, `py-spy dump`, the \
             flight recorder (TORCH_NCCL_TRACE_BUFFER_SIZE=2000, TORCH_NCCL_DUMP_ON_TIMEOUT=1; give \
             the dumps to railscope with --flight-recorder), dmesg for Xid. It did not call the \
             collective, called another one (TORCH_DISTRIBUTED_DEBUG=DETAIL), or its GPU hangs. RAS \
             counts launched collectives: where it shows no rank behind during the wait, all are \
             inside, and the GPU (Xid), the NIC's counters and packets show which does not move. \
             Where an epoch or a validation ends: ranks with different numbers of batches \
             (DistributedSampler, drop_last), or one that validates or saves alone.",
    needs: &[Need::Logs],
    detect,
};

/// What to do where ranks wait for no data, but for a rank that does something else.
const AT_A_BARRIER: &str = "One element is a barrier or a single value and moves no data: the others \
             wait for a rank that works alone for longer than the limit (it saves, loads or downloads a \
             model, evaluates), or left. `py-spy dump` of the rank that reports nothing, mostly rank 0, \
             shows what it does. Let it save in shards from all ranks, or give it time. The limit in \
             force is Timeout(ms) of the line, and belongs to the group from the moment it is made: \
             init_process_group(timeout=...), InitProcessGroupKwargs of accelerate, ddp_timeout of \
             transformers. 600000 is PyTorch's own for NCCL: a longer one that you set came too late, \
             the group existed. deepspeed.init_distributed(timeout=...) and DEEPSPEED_TIMEOUT (minutes; \
             30 without) count only where DeepSpeed makes the group: call it first.";

/// The limit that PyTorch sets for NCCL since 2.2, in milliseconds (`default_pg_nccl_timeout`).
const OWN_LIMIT_MS: u64 = 600_000;

/// Ranks whose lines are quoted.
const QUOTED: usize = 4;

fn detect(facts: &Facts<'_>) -> Vec<Finding> {
    let groups = facts.state.logs.watchdogs.iter();
    let is_consequence = log_cause::depth(facts).is_some_and(|depth| depth > Depth::Echo);
    let severity = if is_consequence { Severity::Info } else { Severity::Critical };
    let found = groups.filter_map(|(group, ranks)| {
        let ranks: Vec<(u32, &RankProgress)> =
            ranks.iter().map(|(rank, progress)| (*rank, progress)).collect();
        // Releases before 1.13 do not number collectives.
        let least = ranks.iter().map(|(_, one)| one.number).min()?;
        let most = ranks.iter().map(|(_, one)| one.number).max()?;
        let behind = standing(&ranks, least);
        let ahead = (most > least && least.is_some()).then(|| standing(&ranks, most));
        let (_, first) = ranks.iter().find(|(rank, _)| behind.ranks.contains(rank))?;
        let rank = behind.ranks.first().copied().filter(|_| behind.ranks.len() == 1);
        let is_one_value = ahead.is_none() && ranks.iter().all(|(_, one)| is_one_value(one));
        let claim = LoggedClaim::TimedOut {
            group: group.clone(),
            absent: absent(&ranks),
            is_even: is_even(facts),
            is_one_value,
            is_own_limit: first.limit_ms == Some(OWN_LIMIT_MS),
            behind,
            ahead,
            ran_ms: first.ran_ms,
        };
        let mut finding =
            KIND.finding(severity, claim).about(Subject { rank, ..Subject::default() }).proven();
        if is_one_value {
            finding = Finding { remedy: AT_A_BARRIER, ..finding.caused_by("one_value") };
        }
        let mut shown = ranks.clone();
        shown.sort_by_key(|(_, one)| (one.number, one.first));
        for (rank, one) in shown.into_iter().take(QUOTED) {
            let progress = LogObservation::WatchdogProgress {
                rank,
                call: one.call.clone(),
                number: one.number,
                elements: one.elements,
                enqueued: one.enqueued,
                completed: one.completed,
            };
            finding = finding.because(Proof::log(progress, one.first));
        }
        Some(finding)
    });
    found.collect()
}

/// Whether a rank waits for a barrier, which PyTorch makes of an AllReduce of one element, or for a
/// single value. What one rank hands to others in turn is no meeting of all.
fn is_one_value(one: &RankProgress) -> bool {
    one.elements == Some(1) && one.call.as_deref() == Some("ALLREDUCE")
}

/// Ranks below the highest that reports, and that report nothing: of interest where most report.
fn absent(ranks: &[(u32, &RankProgress)]) -> Vec<u32> {
    let all = ranks.iter().map(|(rank, _)| *rank).max().unwrap_or(0);
    let reports = |one: &u32| ranks.iter().any(|(rank, _)| rank == one);
    let absent = u64::from(all).saturating_add(1).saturating_sub(ranks.len() as u64);
    match absent < ranks.len() as u64 {
        true => (0..all).filter(|rank| !reports(rank)).collect(),
        false => Vec::new(),
    }
}

/// Whether RAS was asked and shows no rank that is behind, silent or failed.
fn is_even(facts: &Facts<'_>) -> bool {
    !facts.state.roll_call.statuses.is_empty() && facts.rolls.ras.is_empty()
}

/// The ranks whose first collective that was not done has this number.
fn standing(ranks: &[(u32, &RankProgress)], number: Option<u64>) -> Standing {
    let of_number = || ranks.iter().filter(|(_, one)| one.number == number);
    Standing {
        ranks: of_number().map(|(rank, _)| *rank).collect(),
        call: of_number().find_map(|(_, one)| one.call.clone()),
        number,
    }
}
