//! Switches marked packets, or receivers sent CNPs.

use std::collections::BTreeSet;

use crate::analysis::finding::claim::congestion::CongestionClaim;
use crate::analysis::finding::facts::Facts;
use crate::analysis::finding::group::{End, Group, by_port};
use crate::analysis::finding::kind::{Kind, Need};
use crate::analysis::finding::observation::{CounterObservation, FlowObservation};
use crate::analysis::finding::{Finding, Proof, Subject, naming, uplink};
use crate::analysis::severity::Severity;
use crate::decode::counter::measure::Measure;
use crate::flow::observer::Signal;

/// CE marks and CNPs.
pub const KIND: Kind = Kind {
    id: "congestion",
    about: "Queues in the fabric grew: switches marked packets (ECN congestion experienced), and \
            receivers asked their senders to slow down (CNP). A little of that is DCQCN at work; a \
            lot means that too many flows meet at one port.",
    threshold: "Any CE mark or CNP. Warning from 1 % of the packets marked on the flows concerned \
                (ce_share; our choice: no vendor publishes a rate), otherwise info. Incast if \
                marked flows of several senders meet at one port.",
    remedy: "Incast: spread it (rails, ring order, NCCL_ALGO, fewer flows at once). One path: look \
             for ECMP collisions of these flows on an uplink. Everywhere: check the switches' ECN \
             thresholds (Kmin, Kmax) against the buffer.",
    needs: &[Need::Roce, Need::Counters],
    detect,
};

fn detect(facts: &Facts<'_>) -> Vec<Finding> {
    let groups = by_port(facts.flows, |flow| flow.marks.0.saturating_add(flow.cnps));
    if groups.is_empty() {
        return by_counters(facts);
    }
    groups.iter().map(|group| finding(facts, group)).collect()
}

fn finding(facts: &Facts<'_>, group: &Group<'_>) -> Finding {
    let marks = group.total(|flow| flow.marks.0);
    let packets = group.total(|flow| if flow.marks.0 > 0 { flow.marks.1 } else { 0 });
    let cnps = group.total(|flow| flow.cnps);
    let data = group.flows.iter().filter(|(flow, _)| flow.is_data());
    let senders: BTreeSet<_> = data.map(|(flow, _)| flow.source).collect();
    let is_incast =
        senders.len() > 1 && group.port.is_some_and(|(_, end)| end == Some(End::Receives));
    let claim = CongestionClaim::Congested {
        marks,
        packets,
        cnps,
        flows: naming::group(group),
        uplinks: uplink::shared_by(facts.state, &group.flows, |flow| flow.marks.0),
        incast_senders: is_incast.then_some(senders.len() as u64),
    };
    let is_much = marks as f64 >= facts.settings.findings.ce_share * packets as f64 && marks > 0;
    let severity = if is_much { Severity::Warning } else { Severity::Info };
    let mut finding = KIND
        .finding(severity, claim)
        .caused_by(if is_incast { "incast" } else { "path" })
        .about(group.subject())
        .over(group.span())
        .proven();
    finding.flows = group.places();
    let Some(worst) = group.worst() else { return finding };
    if worst.marks.0 > 0 {
        let (marks, packets) = worst.marks;
        let marked = FlowObservation::Marks { marks, packets };
        finding = finding.because(Proof::flow(worst, marked, worst.first_mark(facts.state)));
    }
    if let Some((flow, _)) = group.flows.iter().find(|(flow, _)| flow.cnps > 0) {
        let cnps = FlowObservation::Cnps(flow.cnps);
        let witness = facts.first_signal(flow, |signal| *signal == Signal::Cnp);
        finding = finding.because(Proof::flow(flow, cnps, witness));
    }
    finding
}

fn by_counters(facts: &Facts<'_>) -> Vec<Finding> {
    let found = facts.state.counters.nics.iter().filter_map(|nic| {
        let marked = nic.rise(Measure::MarkedPackets).filter(|rise| rise.amount > 0)?;
        let packets = nic.rise(Measure::RdmaReceivedPackets).filter(|rise| rise.amount > 0);
        let is_much = packets.is_some_and(|packets| {
            marked.amount as f64 >= facts.settings.findings.ce_share * packets.amount as f64
        });
        let claim = CongestionClaim::NicMarked {
            nic: nic.name(),
            marks: marked.amount,
            packets: packets.map(|packets| packets.amount),
        };
        let rose = CounterObservation::Rose {
            nic: nic.name(),
            counter: "np_ecn_marked_roce_packets",
            by: marked.amount,
        };
        let severity = if is_much { Severity::Warning } else { Severity::Info };
        let finding = KIND
            .finding(severity, claim)
            .caused_by("path")
            .about(Subject { port: nic.addresses.first().copied(), ..Subject::default() })
            .over(Some(nic.span));
        Some(finding.because(Proof::counter(rose, marked.witness)))
    });
    found.collect()
}
