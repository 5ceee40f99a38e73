//! All ranks have called, and the collective does not end.

use super::recorded::{self, PATIENCE_NS};
use crate::analysis::finding::Finding;
use crate::analysis::finding::claim::calls::CallsClaim;
use crate::analysis::finding::facts::Facts;
use crate::analysis::finding::kind::{Kind, Need};
use crate::analysis::roll_call::flight::Outcome;
use crate::analysis::severity::Severity;

/// Calls that do not end.
pub const KIND: Kind = Kind {
    id: "inside_collective",
    about: "Every rank called the same collective, and it does not end: no rank is missing. Data, \
            room or a GPU is: the network, a NIC, or a kernel that does not run. If dumps of some ranks \
            were not read, one of those may not have called.",
    threshold: "Flight recorder: an entry that has not ended on any rank that waits, and is missing \
                in no dump that was read; proven if that is all; a warning if it was 5 s old when \
                the dumps were written, else info.",
    remedy: "Look at the network first: `railscope analyze` with captures or counters of the same \
             time, `rdma res show qp` for queue pairs in error. If nothing moves there, look at \
             the GPUs: nvidia-smi, dmesg for Xid, a kernel before this one in the stream.",
    needs: &[Need::CallRecords],
    detect,
};

/// What to do first where dumps of some ranks were not read.
const COLLECT: &str = "Collect the dumps of all ranks first: whose dump is not there may never have called, or be \
                       gone. If all have called, look at the network (`railscope analyze` with captures or \
                       counters of the same time), then at the GPUs.";

fn detect(facts: &Facts<'_>) -> Vec<Finding> {
    let rolls = facts.rolls.flight.iter();
    let found = rolls.filter_map(|roll| {
        let Outcome::Inside(is_begun) = roll.outcome else { return None };
        let (call, waiting) = (recorded::named(roll), roll.waiting.clone());
        let claim = CallsClaim::Inside { call, waiting, is_begun };
        let has_waited = roll.waited_ns.is_none_or(|waited| waited >= PATIENCE_NS);
        let severity = if has_waited { Severity::Warning } else { Severity::Info };
        let finding = KIND.finding(severity, claim);
        let finding = match roll.turnout.is_full() {
            true => finding.proven(),
            false => Finding { remedy: COLLECT, ..finding },
        };
        Some(recorded::with_calls(facts, finding, roll))
    });
    found.collect()
}
