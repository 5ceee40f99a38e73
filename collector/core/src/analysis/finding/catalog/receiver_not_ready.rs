//! A receiver had no buffer posted.

use crate::analysis::finding::claim::transport::TransportClaim;
use crate::analysis::finding::facts::Facts;
use crate::analysis::finding::group::{Group, by_port};
use crate::analysis::finding::kind::{Kind, Need};
use crate::analysis::finding::observation::{CounterObservation, FlowObservation};
use crate::analysis::finding::{Finding, Proof, Subject, naming};
use crate::analysis::severity::Severity;
use crate::decode::counter::measure::Measure;
use crate::decode::roce::aeth::Syndrome;
use crate::flow::episode::Trigger;
use crate::flow::observer::Signal;

/// RNR NAKs.
pub const KIND: Kind = Kind {
    id: "receiver_not_ready",
    about: "A receiver refused data because no receive was posted (RNR NAK). NCCL posts a receive \
            on every queue pair before it requests data, so under NCCL this is a software fault or \
            a hung process; other RDMA programs post too few receives.",
    threshold: "Any RNR NAK (NCCL net_ib.cc posts the receive before its clear-to-send). Counters: \
                rnr_nak_retry_err rises.",
    remedy: "Look at the process on the receiving host: is it hung or starved of CPU? Do these \
             queue pairs belong to a program other than NCCL? perftest: post more receives \
             (--rx-depth).",
    needs: &[Need::Roce, Need::Counters],
    detect,
};

fn detect(facts: &Facts<'_>) -> Vec<Finding> {
    let groups = by_port(facts.flows, |flow| flow.naks.rnr_naks);
    if groups.is_empty() {
        return by_counters(facts);
    }
    groups.iter().map(|group| finding(facts, group)).collect()
}

fn finding(facts: &Facts<'_>, group: &Group<'_>) -> Finding {
    let claim = TransportClaim::NotReady { naks: group.sum(), flows: naming::group(group) };
    let mut finding =
        KIND.finding(Severity::Warning, claim).about(group.subject()).over(group.span()).proven();
    finding.flows = group.places();
    let Some(worst) = group.worst() else { return finding };
    let waits = worst.recoveries(Trigger::Rnr);
    let waits = FlowObservation::RnrWaits {
        resent: worst.resent,
        waits: waits.count,
        waited_ns: waits.recovery_ns,
    };
    let is_rnr = |signal: &Signal| matches!(signal, Signal::Nak(Syndrome::RnrNak { .. }));
    finding.because(Proof::flow(worst, waits, facts.first_signal(worst, is_rnr)))
}

fn by_counters(facts: &Facts<'_>) -> Vec<Finding> {
    let rises =
        facts.state.counters.nics.iter().filter_map(|nic| {
            Some((nic, nic.rise(Measure::RnrNaks).filter(|rise| rise.amount > 0)?))
        });
    let found = rises.map(|(nic, rise)| {
        let claim = TransportClaim::NicNotReady { nic: nic.name(), naks: rise.amount };
        let rose = CounterObservation::Rose {
            nic: nic.name(),
            counter: "rnr_nak_retry_err",
            by: rise.amount,
        };
        KIND.finding(Severity::Warning, claim)
            .about(Subject { port: nic.addresses.first().copied(), ..Subject::default() })
            .over(Some(nic.span))
            .because(Proof::counter(rose, rise.witness))
    });
    found.collect()
}
