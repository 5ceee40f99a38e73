//! Pause of any length.

use crate::analysis::finding::claim::pause::{PauseClaim, PauseSide, PauseTime, Station};
use crate::analysis::finding::facts::Facts;
use crate::analysis::finding::kind::{Kind, Need};
use crate::analysis::finding::observation::{CounterObservation, FrameObservation};
use crate::analysis::finding::{Finding, Proof, Subject};
use crate::analysis::severity::Severity;
use crate::decode::counter::measure::Measure;
use crate::link::counter::NicCounters;
use crate::model::time::Span;

/// Pause.
pub const KIND: Kind = Kind {
    id: "pause",
    about: "Ports were paused (PFC, or 802.3x pause of the whole link). Nothing is lost, so \
            drop counters stay at 0 while the job runs at the speed of the port that pauses. Pause \
            means that ECN did not reduce the load in time.",
    threshold: "Warning from 10 % of the time paused (pause_share). No vendor publishes a limit. \
                One field report describes a job slowed down at 21.7 % without drops; we use half \
                of that. Info below that, or if the line rate is unknown: pause times need it \
                (--line-rate).",
    remedy: "The station that pauses cannot keep up: a NIC (PCIe: outbound_pci_stalled_wr, GPU far \
             away, slow receiver) or a switch with an incast behind it. ECN must act before PFC: \
             Kmin well below XOFF.",
    needs: &[Need::Pause, Need::Counters],
    detect,
};

fn detect(facts: &Facts<'_>) -> Vec<Finding> {
    let mut found = by_frames(facts);
    for nic in &facts.state.counters.nics {
        found.extend(by_counters(facts, nic));
    }
    found
}

fn by_frames(facts: &Facts<'_>) -> Vec<Finding> {
    let calm = facts.pauses().into_iter().filter(|(_, state)| {
        // A storm has a finding of its own; resume frames alone pause no port.
        state.storms == 0 && state.pause_frames > 0
    });
    let found = calm.filter_map(|(key, state)| {
        let tap = facts.state.tracker.tap(key.tap)?;
        let span = tap.span?;
        let whole_ns = span.last.nanos_since(span.first);
        let port = facts.port_of_mac(key.station);
        let claim = PauseClaim::Asked {
            station: Station { mac: key.station, port },
            times: state.pause_frames,
            paused: state.paused_ns.map(|paused_ns| PauseTime { paused_ns, whole_ns }),
            is_lossless: is_lossless(facts),
        };
        let paused = state.paused_ns.unwrap_or(0) as f64;
        let is_much =
            paused >= facts.settings.findings.pause_share * whole_ns as f64 && paused > 0.0;
        let severity = if is_much { Severity::Warning } else { Severity::Info };
        let pause = FrameObservation::Pause { longest_ns: state.longest_ns };
        let witness = facts.frame(key.tap, state.first.frame, state.first.time);
        let span = Span { first: state.first.time, last: state.last };
        let finding = KIND
            .finding(severity, claim)
            .about(Subject { port, ..Subject::default() })
            .over(Some(facts.aligned_span(key.tap, span)))
            .proven();
        Some(finding.because(Proof::frames(pause, Some(witness))))
    });
    found.collect()
}

/// There are flows, and none of them lost a packet.
fn is_lossless(facts: &Facts<'_>) -> bool {
    let has_lost = facts.flows.iter().any(|flow| flow.missing > flow.late);
    !has_lost && !facts.flows.is_empty()
}

fn by_counters(facts: &Facts<'_>, nic: &NicCounters) -> Vec<Finding> {
    let whole_ns = nic.span.last.nanos_since(nic.span.first);
    let is_lossless = nic.rise(Measure::Discards).is_some_and(|rise| rise.amount == 0);
    let sides = [
        (Measure::PauseSentTime, PauseSide::Sent),
        (Measure::PauseReceivedTime, PauseSide::Received),
    ];
    let found = sides.into_iter().filter_map(|(measure, side)| {
        // Each priority pauses separately: the worst one counts.
        let of_priority = nic.of_measure(measure);
        let paused = of_priority.map(|(reading, series)| {
            (series.rise().saturating_mul(reading.scale), reading.priority, series.first_rise())
        });
        let (paused_ns, priority, witness) = paused.max_by_key(|(paused, ..)| *paused)?;
        let is_much = paused_ns as f64 >= facts.settings.findings.pause_share * whole_ns as f64;
        if paused_ns == 0 {
            return None;
        }
        let claim = PauseClaim::Nic {
            nic: nic.name(),
            side,
            priority,
            paused: PauseTime { paused_ns, whole_ns },
            is_lossless,
        };
        let severity = if is_much { Severity::Warning } else { Severity::Info };
        let paused = CounterObservation::Paused { measure, paused_ns };
        let finding = KIND
            .finding(severity, claim)
            .about(Subject { port: nic.addresses.first().copied(), ..Subject::default() })
            .over(Some(nic.span))
            .proven();
        Some(finding.because(Proof::counter(paused, witness)))
    });
    found.collect()
}
