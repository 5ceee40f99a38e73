//! Senders waited until their ACK timer expired.

use std::net::IpAddr;

use crate::analysis::finding::facts::Facts;
use crate::analysis::finding::group::{Group, by_known_ports};
use crate::analysis::finding::joined_flow::JoinedFlow;
use crate::analysis::finding::kind::{Kind, Need};
use crate::analysis::finding::{Finding, Proof, Severity, Subject, naming};
use crate::decode::counter::measure::Measure;
use crate::decode::nccl_log::fault::Cause;
use crate::flow::episode::Trigger;
use crate::link::counter::{NicCounters, Rise};
use crate::model::quantity::{count, counted, duration};

/// Timeouts without NAKs.
pub const KIND: Kind = Kind {
    id: "timeouts",
    about: "A sender heard nothing and sent again when its ACK timer expired. Nobody NAKed: the last \
            packets of a message or the ACKs were lost, or the path was dead for a while (a link that \
            flaps, a route that changes). Each costs hundreds of milliseconds (NCCL_IB_TIMEOUT).",
    threshold: "Any resend after silence of at least 4 x the 99th percentile of the round trip, and 1 \
                ms, with the way back visible and no NAK. Counters: local_ack_timeout_err rises.",
    remedy: "Check the links of this port for flaps (ethtool -S: link_down_events_phy; dmesg; switch \
             log) and the route for black holes. NCCL_IB_TIMEOUT x NCCL_IB_RETRY_CNT only decides how \
             long a job survives it.",
    needs: &[Need::Roce, Need::Counters],
    detect,
};

fn detect(facts: &Facts<'_>) -> Vec<Finding> {
    let down = facts.state.counters.nics.iter().filter(|nic| went_down(nic).is_some());
    let down: Vec<IpAddr> = down.flat_map(|nic| nic.addresses.iter().copied()).collect();
    let timeouts = |flow: &JoinedFlow| flow.recoveries(Trigger::Timeout).count;
    let groups = by_known_ports(&down, facts.flows, timeouts);
    let mut found: Vec<Finding> = groups.iter().map(|group| finding(facts, group)).collect();
    if found.is_empty() {
        found.extend(by_counters(facts));
    }
    found
}

fn finding(facts: &Facts<'_>, group: &Group<'_>) -> Finding {
    let recovery_ns = group.total(|flow| flow.recoveries(Trigger::Timeout).recovery_ns);
    let resends = counted(group.sum(), "resend");
    let mut title = format!("timeouts: {resends} after silence on {}", naming::group(group));
    let (cause, proof) = link_down(facts, group);
    if cause == "link_down" {
        title.push_str("; its link went down");
    }
    let mut finding = Finding::new(&KIND, Severity::Warning, title)
        .caused_by(cause)
        .about(group.subject())
        .over(group.span());
    finding.flows = group.places();
    if let Some(worst) = group.worst() {
        let recoveries = worst.recoveries(Trigger::Timeout);
        let text = format!(
            "{}: {} of the {} of recovery, without a NAK",
            naming::flow(worst),
            duration(recoveries.recovery_ns),
            duration(recovery_ns)
        );
        let witness = worst.first_resend(facts, Trigger::Timeout);
        finding = finding.because(Proof::frame(text, witness));
    }
    finding.evidence.extend(proof);
    finding
}

/// Whether counters or logs say that a link of these flows went down.
fn link_down(facts: &Facts<'_>, group: &Group<'_>) -> (&'static str, Option<Proof>) {
    let ends = group.flows.iter().flat_map(|(flow, _)| [flow.source, flow.destination]);
    for nic in ends.flat_map(|port| facts.state.counters.of_port(port)) {
        if let Some(rise) = went_down(nic) {
            let text = format!("{} went down {}", nic.name(), counted(rise.amount, "time"));
            return ("link_down", Some(Proof::counter(text, rise.witness)));
        }
    }
    let mut warnings =
        facts.state.logs.processes.iter().flat_map(|process| process.warnings.iter());
    match warnings.find(|warning| warning.cause == Cause::Port) {
        Some(warning) => ("link_down", Some(Proof::log(warning.text.clone(), warning.first))),
        None => ("silence", None),
    }
}

fn went_down(nic: &NicCounters) -> Option<Rise> {
    nic.rise(Measure::LinkDown).filter(|rise| rise.amount > 0)
}

fn by_counters(facts: &Facts<'_>) -> Vec<Finding> {
    let rises = facts.state.counters.nics.iter().filter_map(|nic| {
        Some((nic, nic.rise(Measure::AckTimeouts).filter(|rise| rise.amount > 0)?))
    });
    let found = rises.map(|(nic, rise)| {
        let timers = counted(rise.amount, "ACK timer");
        let text =
            format!("local_ack_timeout_err of {} rose by {}", nic.name(), count(rise.amount));
        Finding::new(
            &KIND,
            Severity::Warning,
            format!("timeouts: {timers} of {} expired", nic.name()),
        )
        .caused_by("silence")
        .about(Subject { port: nic.addresses.first().copied(), ..Subject::default() })
        .over(Some(nic.span))
        .because(Proof::counter(text, rise.witness))
    });
    found.collect()
}
