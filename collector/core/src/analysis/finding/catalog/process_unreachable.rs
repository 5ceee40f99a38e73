//! Processes that give RAS no answer, or that left no dump.

use super::recorded::{self, only_rank};
use crate::analysis::finding::claim::calls::CallsClaim;
use crate::analysis::finding::facts::Facts;
use crate::analysis::finding::kind::{Kind, Need};
use crate::analysis::finding::{Finding, Subject};
use crate::analysis::roll_call::flight::Outcome;
use crate::analysis::roll_call::ras::RasOutcome;
use crate::analysis::severity::Severity;

/// Processes that do not answer.
pub const KIND: Kind = Kind {
    id: "process_unreachable",
    about: "RAS gave up a process (no answer for 60 s) or got no answer of it in time, or the ranks \
            of a group wait and there is no dump of one of them: it died, its host did, it is \
            stopped, or cannot be reached. Or its dump was not collected.",
    threshold: "RAS: `considered_dead` is critical, `unresponsive` (5 s) a warning. Flight \
                recorder: ranks of the group without a dump, no more than with one, while all \
                others wait in one call. A dump that cannot be read is not missing.",
    remedy: "Is the process alive on its host (ps, dmesg for the OOM killer and Xid, the scheduler's \
             events)? Does the host answer on the management network?",
    needs: &[Need::CallRecords],
    detect,
};

fn detect(facts: &Facts<'_>) -> Vec<Finding> {
    let by_ras = facts.rolls.ras.iter().filter_map(|roll| {
        let RasOutcome::Silent(processes, is_dead) = &roll.outcome else { return None };
        let (id, communicator) = roll.hash.map(|hash| recorded::communicator(facts, hash)).unzip();
        let rank = processes.first().and_then(|one| one.rank).filter(|_| processes.len() == 1);
        let severity = if *is_dead { Severity::Critical } else { Severity::Warning };
        let (processes, is_dead) = (processes.clone(), *is_dead);
        let claim = CallsClaim::Silent { communicator, processes, is_dead };
        let subject = Subject { communicator: id.flatten(), rank, ..Subject::default() };
        let finding = KIND.finding(severity, claim).about(subject);
        Some(recorded::with_answers(facts, finding))
    });
    let by_dumps = facts.rolls.flight.iter().filter_map(|roll| {
        let Outcome::NoDump(ranks) = &roll.outcome else { return None };
        let claim = CallsClaim::NoDump {
            ranks: ranks.clone(),
            call: recorded::named(roll),
            waiting: roll.waiting.clone(),
        };
        let subject = Subject { rank: only_rank(ranks), ..Subject::default() };
        let finding = KIND.finding(Severity::Critical, claim).about(subject);
        Some(recorded::with_calls(facts, finding, roll))
    });
    by_ras.chain(by_dumps).collect()
}
