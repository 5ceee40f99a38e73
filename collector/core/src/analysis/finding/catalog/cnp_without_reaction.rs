//! A sender receives CNPs and does not slow down.

use crate::analysis::finding::claim::congestion::CongestionClaim;
use crate::analysis::finding::facts::Facts;
use crate::analysis::finding::group::by_sender;
use crate::analysis::finding::kind::{Kind, Need};
use crate::analysis::finding::observation::{CounterObservation, FlowObservation};
use crate::analysis::finding::{Finding, Proof, Subject, naming};
use crate::analysis::queue_pair::QueuePair;
use crate::analysis::severity::Severity;
use crate::decode::counter::measure::Measure;
use crate::flow::observer::Signal;
use crate::flow::rate::WINDOW_NS;

/// Fewest CNPs around which the rate is measured.
const SAMPLES: u64 = 10;
/// Share of the line rate that a sender that reacts to CNPs does not reach.
const LINE_RATE_SHARE: f64 = 0.9;

/// CNP without reaction.
pub const KIND: Kind = Kind {
    id: "cnp_without_reaction",
    about: "A sender receives CNPs and does not slow down: congestion control is off on the \
            sending NIC or for this priority. It takes bandwidth from senders that do slow down.",
    threshold: "Counters: rp_cnp_ignored rises, or CNPs were sent and no NIC's rp_cnp_handled \
                rises. Frames: after at least 10 CNPs, 1 ms apart, the flow still fills 90 % of \
                the line rate (--line-rate); at lower rates DCQCN's own saw-tooth hides the \
                answer.",
    remedy: "On the sending host, enable the reaction point for RoCE's priority: `echo 1 > \
             /sys/class/net/<dev>/ecn/roce_rp/enable/<prio>`; rp_cnp_ignored must stay 0.",
    needs: &[Need::Roce, Need::Counters],
    detect,
};

fn detect(facts: &Facts<'_>) -> Vec<Finding> {
    let amount = |flow: &QueuePair| if is_unmoved(facts, flow) { flow.cnps } else { 0 };
    let groups = by_sender(facts.flows, amount);
    let mut found: Vec<Finding> = by_counters(facts);
    found.extend(groups.iter().map(|group| {
        let claim = CongestionClaim::NotSlowed { cnps: group.sum(), flows: naming::group(group) };
        let mut finding =
            KIND.finding(Severity::Warning, claim).about(group.subject()).over(group.span());
        finding.flows = group.places();
        let Some(worst) = group.worst() else { return finding };
        let rate = FlowObservation::RateAfterCnp(rate_after_bps(worst));
        let witness = facts.first_signal(worst, |signal| *signal == Signal::Cnp);
        finding.because(Proof::flow(worst, rate, witness))
    }));
    found
}

fn rate_after_bps(flow: &QueuePair) -> f64 {
    let mean = flow.reactions.bytes_after as f64 / flow.reactions.samples.max(1) as f64;
    mean * 8.0 * 1e9 / WINDOW_NS as f64
}

fn is_unmoved(facts: &Facts<'_>, flow: &QueuePair) -> bool {
    let reactions = &flow.reactions;
    let is_measured =
        reactions.samples >= SAMPLES && reactions.bytes_after >= reactions.bytes_before;
    let rate = if is_measured { facts.line_rate_bps(flow.source) } else { None };
    rate.is_some_and(|rate| rate_after_bps(flow) >= LINE_RATE_SHARE * rate as f64)
}

fn by_counters(facts: &Facts<'_>) -> Vec<Finding> {
    let found = facts.state.counters.nics.iter().filter_map(|nic| {
        let ignored = nic.rise(Measure::CnpIgnored).filter(|rise| rise.amount > 0)?;
        let claim = CongestionClaim::NicIgnoredCnps { nic: nic.name(), cnps: ignored.amount };
        let rose = CounterObservation::Rose {
            nic: nic.name(),
            counter: "rp_cnp_ignored",
            by: ignored.amount,
        };
        let finding = KIND
            .finding(Severity::Warning, claim)
            .about(Subject { port: nic.addresses.first().copied(), ..Subject::default() })
            .over(Some(nic.span))
            .proven();
        Some(finding.because(Proof::counter(rose, ignored.witness)))
    });
    let mut found: Vec<Finding> = found.collect();
    let sum = |measure| {
        let rises = facts.state.counters.nics.iter().filter_map(|nic| nic.rise(measure));
        rises.map(|rise| rise.amount).reduce(u64::saturating_add)
    };
    if let (Some(sent @ SAMPLES..), Some(0)) = (sum(Measure::CnpSent), sum(Measure::CnpHandled)) {
        let claim = CongestionClaim::NoNicSlowed { cnps: sent };
        let proof = Proof::counter(CounterObservation::CnpsUnhandled(sent), None);
        found.push(KIND.finding(Severity::Warning, claim).because(proof));
    }
    found
}
