//! Senders waited until their ACK timer expired.

use std::net::IpAddr;

use crate::analysis::finding::claim::transport::TransportClaim;
use crate::analysis::finding::facts::Facts;
use crate::analysis::finding::group::{Group, by_known_ports};
use crate::analysis::finding::kind::{Kind, Need};
use crate::analysis::finding::observation::{CounterObservation, FlowObservation, LogObservation};
use crate::analysis::finding::{Finding, Proof, Subject, naming};
use crate::analysis::queue_pair::QueuePair;
use crate::analysis::severity::Severity;
use crate::decode::counter::measure::Measure;
use crate::decode::nccl_log::fault::Cause;
use crate::flow::episode::Trigger;
use crate::link::counter::{NicCounters, Rise};

/// Timeouts without NAKs.
pub const KIND: Kind = Kind {
    id: "timeouts",
    about: "A sender got no answer and retransmitted when its ACK timer expired. There was no NAK: \
            the last packets of a message or the ACKs were lost, or the path was dead for a while \
            (link flap, route change). A timeout stalls the queue pair for at least 4.096 µs x \
            2^NCCL_IB_TIMEOUT (1.1 s with 18, 4.3 s with 20), unless the NIC's adaptive \
            retransmission shortens it.",
    threshold: "Any retransmission after a silence of at least 4 x the 99th percentile of the \
                round-trip time and at least 1 ms, without a NAK and with the return path \
                captured; without it, after at least 656 ms, longer than a receiver may ask to wait. Counters: local_ack_timeout_err rises.",
    remedy: "Check the links of this port for flaps (ethtool -S: link_down_events_phy; dmesg; \
             switch log) and the route for black holes. Higher values of NCCL_IB_TIMEOUT \
             or NCCL_IB_RETRY_CNT let the job survive longer; they do not repair the path.",
    needs: &[Need::Roce, Need::Counters],
    detect,
};

fn detect(facts: &Facts<'_>) -> Vec<Finding> {
    let down = facts.state.counters.nics.iter().filter(|nic| went_down(nic).is_some());
    let down: Vec<IpAddr> = down.flat_map(|nic| nic.addresses.iter().copied()).collect();
    let timeouts = |flow: &QueuePair| flow.recoveries(Trigger::Timeout).count;
    let groups = by_known_ports(&down, facts.flows, timeouts);
    let mut found: Vec<Finding> = groups.iter().map(|group| finding(facts, group)).collect();
    if found.is_empty() {
        found.extend(by_counters(facts));
    }
    found
}

fn finding(facts: &Facts<'_>, group: &Group<'_>) -> Finding {
    let recovery_ns = group.total(|flow| flow.recoveries(Trigger::Timeout).recovery_ns);
    let link_down = link_down(facts, group);
    let claim = TransportClaim::TimedOut {
        resends: group.sum(),
        flows: naming::group(group),
        is_link_down: link_down.is_some(),
    };
    let mut finding = KIND
        .finding(Severity::Warning, claim)
        .caused_by(if link_down.is_some() { "link_down" } else { "silence" })
        .about(group.subject())
        .over(group.span_of_recoveries(&[Trigger::Timeout]));
    finding.flows = group.places();
    if let Some(worst) = group.worst() {
        let timeouts = FlowObservation::Timeouts {
            recovery_ns: worst.recoveries(Trigger::Timeout).recovery_ns,
            of_ns: recovery_ns,
        };
        let witness = worst.first_resend(facts.state, Trigger::Timeout);
        finding = finding.because(Proof::flow(worst, timeouts, witness));
    }
    finding.evidence.extend(link_down);
    finding
}

/// Evidence that a link of these flows went down, from counters or logs.
fn link_down(facts: &Facts<'_>, group: &Group<'_>) -> Option<Proof> {
    let ends = group.flows.iter().flat_map(|(flow, _)| [flow.source, flow.destination]);
    for nic in ends.flat_map(|port| facts.state.counters.of_port(port)) {
        if let Some(rise) = went_down(nic) {
            let down = CounterObservation::LinkDown { nic: nic.name(), times: rise.amount };
            return Some(Proof::counter(down, rise.witness));
        }
    }
    let mut warnings =
        facts.state.logs.processes.iter().flat_map(|process| process.warnings.iter());
    let warning = warnings.find(|warning| warning.cause == Cause::Port)?;
    Some(Proof::log(LogObservation::Quote(warning.text.clone()), warning.first))
}

fn went_down(nic: &NicCounters) -> Option<Rise> {
    nic.rise(Measure::LinkDown).filter(|rise| rise.amount > 0)
}

fn by_counters(facts: &Facts<'_>) -> Vec<Finding> {
    let rises = facts.state.counters.nics.iter().filter_map(|nic| {
        Some((nic, nic.rise(Measure::AckTimeouts).filter(|rise| rise.amount > 0)?))
    });
    let found = rises.map(|(nic, rise)| {
        let claim = TransportClaim::NicTimers { nic: nic.name(), timers: rise.amount };
        let rose = CounterObservation::Rose {
            nic: nic.name(),
            counter: "local_ack_timeout_err",
            by: rise.amount,
        };
        KIND.finding(Severity::Warning, claim)
            .caused_by("silence")
            .about(Subject { port: nic.addresses.first().copied(), ..Subject::default() })
            .over(Some(nic.span))
            .because(Proof::counter(rose, rise.witness))
    });
    found.collect()
}
