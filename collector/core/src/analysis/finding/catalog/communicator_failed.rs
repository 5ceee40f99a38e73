//! A communicator has an error, by RAS.

use super::recorded;
use crate::analysis::finding::claim::calls::CallsClaim;
use crate::analysis::finding::facts::Facts;
use crate::analysis::finding::kind::{Kind, Need};
use crate::analysis::finding::{Finding, Subject};
use crate::analysis::roll_call::ras::RasOutcome;
use crate::analysis::severity::Severity;

/// Errors of communicators.
pub const KIND: Kind = Kind {
    id: "communicator_failed",
    about: "NCCL reports an error of the communicator on some ranks: its calls fail there, and the \
            other ranks wait.",
    threshold: "RAS: an initialisation or asynchronous error other than `in progress`.",
    remedy: "The log of that rank names the call that failed (NCCL_DEBUG=WARN). A remote error is \
             the echo of another rank's: look for the first in time.",
    needs: &[Need::CallRecords],
    detect,
};

fn detect(facts: &Facts<'_>) -> Vec<Finding> {
    let rolls = facts.rolls.ras.iter();
    let found = rolls.filter_map(|roll| {
        let RasOutcome::Failed(ranks, error) = &roll.outcome else { return None };
        let (id, communicator) = recorded::communicator(facts, roll.hash?);
        let rank = ranks.first().and_then(|one| one.rank).filter(|_| ranks.len() == 1);
        let (ranks, error) = (ranks.clone(), error.clone());
        let claim = CallsClaim::Failed { communicator, ranks, error };
        let finding = KIND.finding(Severity::Critical, claim).proven();
        let finding = finding.about(Subject { communicator: id, rank, ..Subject::default() });
        Some(recorded::with_answers(facts, finding))
    });
    found.collect()
}
