//! Pause, much or little.

use crate::analysis::finding::facts::Facts;
use crate::analysis::finding::kind::{Kind, Need};
use crate::analysis::finding::{Finding, Proof, Severity, Subject};
use crate::decode::counter::measure::Measure;
use crate::link::counter::NicCounters;
use crate::model::quantity::{counted, duration, share};
use crate::model::time::Span;

/// Pause.
pub const KIND: Kind = Kind {
    id: "pause",
    about: "Ports were told to stop (PFC, or 802.3x pause of the whole link). Nothing is lost, so drop \
            counters stay at 0 while the job runs at the speed of the port that pauses: pause is load \
            that ECN did not take off in time.",
    threshold: "Warning from 10 % of the time paused (pause_share). No vendor publishes a limit; a field \
                report has 21.7 % without a drop hurting a job, and we take half of it. Info below, and \
                where the line rate is not known, which times need (--line-rate).",
    remedy: "The station that pauses is too slow for what it gets: a NIC (PCIe: \
             outbound_pci_stalled_wr, GPU far away, slow receiver) or a switch with an incast behind \
             it. ECN must act before PFC: Kmin well below XOFF.",
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
        // A storm has a finding of its own; resumes alone stopped nobody.
        state.storms == 0 && state.pause_frames > 0
    });
    let found = calm.filter_map(|(key, state)| {
        let tap = facts.state.tracker.taps().get(key.tap.0 as usize)?;
        let span = tap.span?;
        let whole = span.last.nanos_since(span.first);
        let port = facts.port_of_mac(key.station);
        let of = port.map_or_else(String::new, |port| format!(" ({port})"));
        let asked =
            format!("{}{of} asked to stop {}", key.station, counted(state.pause_frames, "time"));
        let title = match state.paused_ns {
            Some(paused) => format!(
                "pause: {asked}: {}, {} of the capture{}",
                duration(paused),
                share(paused, whole),
                no_drops(facts)
            ),
            None => format!("pause: {asked}; for how long needs the line rate (--line-rate 100G)"),
        };
        let paused = state.paused_ns.unwrap_or(0) as f64;
        let is_much = paused >= facts.settings.findings.pause_share * whole as f64 && paused > 0.0;
        let severity = if is_much { Severity::Warning } else { Severity::Info };
        let text = match state.longest_ns {
            Some(longest) => format!("longest pause {}", duration(longest)),
            None => "pause frames".to_owned(),
        };
        let witness = facts.frame(key.tap, state.first.frame, state.first.time);
        let span = Span { first: state.first.time, last: state.last };
        let finding = Finding::new(&KIND, severity, title)
            .about(Subject { port, ..Subject::default() })
            .over(Some(facts.aligned_span(key.tap, span)))
            .proven();
        Some(finding.because(Proof::frame(text, Some(witness))))
    });
    found.collect()
}

/// `, and nothing was dropped` where that is so.
fn no_drops(facts: &Facts<'_>) -> &'static str {
    let has_lost = facts.flows.iter().any(|flow| flow.missing > flow.late);
    if has_lost || facts.flows.is_empty() { "" } else { ", and nothing was lost" }
}

fn by_counters(facts: &Facts<'_>, nic: &NicCounters) -> Vec<Finding> {
    let whole = nic.span.last.nanos_since(nic.span.first);
    let drops = nic.rise(Measure::Discards).map(|rise| rise.amount);
    let drops = if drops == Some(0) { ", and nothing was dropped" } else { "" };
    let name = nic.name();
    let sides = [
        (Measure::PauseSentTime, "paused its switch for"),
        (Measure::PauseReceivedTime, "was paused for"),
    ];
    let found = sides.into_iter().filter_map(|(measure, what)| {
        // Priorities pause one by one: the worst of them.
        let of_priority = nic.of_measure(measure);
        let paused = of_priority.map(|(reading, series)| {
            (series.rise().saturating_mul(reading.scale), reading.priority, series.first_rise())
        });
        let (paused, priority, witness) = paused.max_by_key(|(paused, ..)| *paused)?;
        let is_much = paused as f64 >= facts.settings.findings.pause_share * whole as f64;
        if paused == 0 {
            return None;
        }
        let priority = priority.map_or_else(String::new, |one| format!(" on priority {one}"));
        let title = format!(
            "pause: {name} {what} {}{priority}, {} of the time{drops}",
            duration(paused),
            share(paused, whole)
        );
        let severity = if is_much { Severity::Warning } else { Severity::Info };
        let text = format!("{} rose by {}", measure.name(), duration(paused));
        let finding = Finding::new(&KIND, severity, title)
            .about(Subject { port: nic.addresses.first().copied(), ..Subject::default() })
            .over(Some(nic.span))
            .proven();
        Some(finding.because(Proof::counter(text, witness)))
    });
    found.collect()
}
