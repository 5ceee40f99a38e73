//! CE marks arrive, but no CNP goes back to the sender.

use crate::analysis::finding::claim::congestion::CongestionClaim;
use crate::analysis::finding::facts::Facts;
use crate::analysis::finding::group::by_port;
use crate::analysis::finding::kind::{Kind, Need};
use crate::analysis::finding::observation::{CounterObservation, FlowObservation};
use crate::analysis::finding::{Finding, Proof, Subject, naming};
use crate::analysis::queue_pair::QueuePair;
use crate::analysis::severity::Severity;
use crate::decode::counter::measure::Measure;

/// With fewer marks, the only CNP may come after the end of the capture.
const MARKS: u64 = 8;

/// CE without CNP.
pub const KIND: Kind = Kind {
    id: "ce_without_cnp",
    about: "Packets arrive with CE marks and the receiver sends no CNP: congestion control (DCQCN) \
            is off on the receiving NIC or for this priority. Senders do not slow down; queues \
            fill until PFC stops them or packets are lost.",
    threshold: "At least 8 marked packets on a flow whose return path was seen, and no CNP (a NIC \
                sends one within 50 µs: Zhu et al., SIGCOMM 2015). Not reported if counters show \
                that the NIC did send CNPs.",
    remedy: "On the receiving host: `echo 1 > /sys/class/net/<dev>/ecn/roce_np/enable/<prio>` for \
             the priority that RoCE uses, and the same trust mode (DSCP or PCP) as on the switch. \
             Linux's soft-RoCE never sends CNPs.",
    needs: &[Need::Roce, Need::Counters],
    detect,
};

fn detect(facts: &Facts<'_>) -> Vec<Finding> {
    let amount = |flow: &QueuePair| {
        let is_unanswered = flow.cnps == 0 && flow.has_way_back && flow.marks.0 >= MARKS;
        if is_unanswered && !sends_cnps(facts, flow) { flow.marks.0 } else { 0 }
    };
    let groups = by_port(facts.flows, amount);
    let found = groups.iter().map(|group| {
        let (marks, flows) = (group.sum(), naming::group(group));
        let claim = CongestionClaim::MarksUnanswered { marks, flows };
        let mut finding =
            KIND.finding(Severity::Warning, claim).about(group.subject()).over(group.span());
        finding.flows = group.places();
        let Some(worst) = group.worst() else { return finding };
        let unanswered = FlowObservation::MarksUnanswered(worst.marks.0);
        finding.because(Proof::flow(worst, unanswered, worst.first_mark(facts.state)))
    });
    let mut found: Vec<Finding> = found.collect();
    if found.is_empty() {
        found.extend(by_counters(facts));
    }
    found
}

/// Counters of the receiving NIC say that it sends CNPs, which captures on hosts may not show.
fn sends_cnps(facts: &Facts<'_>, flow: &QueuePair) -> bool {
    let rises =
        facts.state.counters.of_port(flow.destination).map(|nic| nic.rise(Measure::CnpSent));
    rises.flatten().any(|rise| rise.amount > 0)
}

fn by_counters(facts: &Facts<'_>) -> Vec<Finding> {
    let found = facts.state.counters.nics.iter().filter_map(|nic| {
        let marked = nic.rise(Measure::MarkedPackets).filter(|rise| rise.amount >= MARKS)?;
        nic.rise(Measure::CnpSent).filter(|rise| rise.amount == 0)?;
        let marks = marked.amount;
        let claim = CongestionClaim::NicSentNoCnp { nic: nic.name(), marks };
        let counters = CounterObservation::MarksWithoutCnp { nic: nic.name(), marks };
        let finding = KIND
            .finding(Severity::Warning, claim)
            .about(Subject { port: nic.addresses.first().copied(), ..Subject::default() })
            .over(Some(nic.span))
            .proven();
        Some(finding.because(Proof::counter(counters, marked.witness)))
    });
    found.collect()
}
