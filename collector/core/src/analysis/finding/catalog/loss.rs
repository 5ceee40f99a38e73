//! Packets were lost and retransmitted after a NAK.

use crate::analysis::finding::claim::transport::TransportClaim;
use crate::analysis::finding::facts::Facts;
use crate::analysis::finding::group::{Group, by_port};
use crate::analysis::finding::kind::{Kind, Need};
use crate::analysis::finding::observation::{CounterObservation, FlowObservation};
use crate::analysis::finding::{Finding, Proof, Subject, naming};
use crate::analysis::queue_pair::QueuePair;
use crate::analysis::severity::Severity;
use crate::decode::counter::measure::Measure;
use crate::decode::roce::aeth::{NakCode, Syndrome};
use crate::flow::episode::Trigger;
use crate::flow::observer::Signal;

/// Share of retransmissions without a hole and without a NAK below which loss does not matter.
const NOTABLE_RESENDS: f64 = 0.001;

/// Loss with NAKs.
pub const KIND: Kind = Kind {
    id: "loss",
    about: "Packets were lost on the path. A RoCE receiver NAKs the first gap; the sender goes \
            back to it and retransmits everything from there (go-back-N). One lost packet costs a \
            round trip and a window of retransmissions, and the whole collective waits.",
    threshold: "Any gap that is not capture loss, or any NAK for a missing packet: RoCE is meant \
                to run without loss. Gaps of a flow whose packets come late without any NAK are \
                reordering. Retransmissions without gap or NAK are info below 0.1 % of \
                the packets (our choice). Counters: packet_seq_err or out_of_sequence rises.",
    remedy: "Look for drops on the path of these flows: ethtool -S (rx_discards_phy, \
             rx_prio*_discards, symbol errors), switch interface counters, optics. Check at every \
             hop that PFC is on for this priority and that the buffer has headroom.",
    needs: &[Need::Roce, Need::Counters],
    detect,
};

fn detect(facts: &Facts<'_>) -> Vec<Finding> {
    let groups = by_port(facts.flows, amount);
    let mut found: Vec<Finding> = groups.iter().map(|group| finding(facts, group)).collect();
    if found.is_empty() {
        found.extend(by_counters(facts));
    }
    found
}

/// Packets of a flow that were lost, or retransmitted because of a loss.
fn amount(flow: &QueuePair) -> u64 {
    let lost = flow.missing.saturating_sub(flow.late);
    // RNR, reordering and timeouts have findings of their own.
    let is_explained = flow.naks.rnr_naks > 0 || flow.late > 0;
    if flow.is_placed_out_of_order() {
        return 0;
    }
    let timed_out =
        flow.recoveries(Trigger::Timeout).count > 0 && flow.naks.psn_sequence_error == 0;
    if timed_out || (lost == 0 && is_explained) { 0 } else { flow.resent.max(flow.missing) }
}

fn finding(facts: &Facts<'_>, group: &Group<'_>) -> Finding {
    let (missing, late) = (group.total(|flow| flow.missing), group.total(|flow| flow.late));
    let (resent, frames) = (group.total(|flow| flow.resent), group.total(|flow| flow.frames));
    let naks = group.total(|flow| flow.naks.psn_sequence_error);
    let cause = match (missing, late) {
        (0, _) => "resends",
        (_, 0) => "loss",
        _ => "loss_or_reordering",
    };
    let flows = naming::group(group);
    let claim = TransportClaim::Lost { missing, late, resent, frames, flows };
    let is_minor = missing == 0 && naks == 0 && (resent as f64) < NOTABLE_RESENDS * frames as f64;
    let severity = if is_minor { Severity::Info } else { Severity::Warning };
    let mut finding = KIND
        .finding(severity, claim)
        .caused_by(cause)
        .about(group.subject())
        .over(group.span_of_recoveries(&[Trigger::Nak, Trigger::Unknown]));
    finding.flows = group.places();
    if naks > 0 && missing > 0 && late == 0 {
        finding = finding.proven();
    }
    finding.evidence.extend(group.worst().map(|worst| proof(facts, worst)));
    finding
}

fn proof(facts: &Facts<'_>, worst: &QueuePair) -> Proof {
    let is_nak = |signal: &Signal| *signal == Signal::Nak(Syndrome::Nak(NakCode::PsnSequenceError));
    let recoveries = worst.recoveries(Trigger::Nak);
    let observation = match worst.naks.psn_sequence_error {
        0 => FlowObservation::Resends(worst.resent),
        naks => FlowObservation::SequenceNaks {
            naks,
            recoveries: recoveries.count,
            recovery_ns: recoveries.recovery_ns,
        },
    };
    let witness = facts
        .first_signal(worst, is_nak)
        .or_else(|| worst.first_resend(facts.state, Trigger::Nak))
        .or_else(|| worst.first_resend(facts.state, Trigger::Unknown))
        .or_else(|| worst.first_frame(facts.state));
    Proof::flow(worst, observation, witness)
}

fn by_counters(facts: &Facts<'_>) -> Vec<Finding> {
    let rises = facts.state.counters.nics.iter().filter_map(|nic| {
        let naks = nic.rise(Measure::SequenceErrors).filter(|rise| rise.amount > 0);
        let gaps = nic.rise(Measure::OutOfSequence).filter(|rise| rise.amount > 0);
        Some((nic, naks.or(gaps)?, naks.is_some()))
    });
    let found = rises.map(|(nic, rise, is_sender)| {
        let (name, by) = (nic.name(), rise.amount);
        let (cause, counter, claim) = match is_sender {
            true => {
                let claim = TransportClaim::NicSequenceNaks { nic: name, naks: by };
                ("loss", "packet_seq_err", claim)
            }
            false => {
                let claim = TransportClaim::NicGaps { nic: name, gaps: by };
                ("loss_or_reordering", "out_of_sequence", claim)
            }
        };
        let rose = CounterObservation::Rose { nic: nic.name(), counter, by };
        KIND.finding(Severity::Warning, claim)
            .caused_by(cause)
            .about(Subject { port: nic.addresses.first().copied(), ..Subject::default() })
            .over(Some(nic.span))
            .because(Proof::counter(rose, rise.witness))
    });
    found.collect()
}
