//! A station keeps the other end of its link paused.

use crate::analysis::finding::claim::pause::{PauseClaim, PauseSide, Station};
use crate::analysis::finding::facts::Facts;
use crate::analysis::finding::kind::{Kind, Need};
use crate::analysis::finding::observation::{CounterObservation, FrameObservation};
use crate::analysis::finding::{Finding, Proof, Subject};
use crate::analysis::severity::Severity;
use crate::decode::counter::measure::Measure;
use crate::link::counter::NicCounters;
use crate::link::counter::series::Series;
use crate::model::time::Span;

/// Least share of a storm's window that is paused, in percent.
const STORM_PERCENT: u64 = 95;
/// Shortest storm, in nanoseconds.
const STORM_WINDOW_NS: u64 = 100_000_000;

/// PFC storms.
pub const KIND: Kind = Kind {
    id: "pfc_storm",
    about: "A NIC or switch sends pause frames continuously, and its link stops for that priority. \
            The pause spreads from switch to switch until unrelated jobs stop as well. The usual \
            source is a NIC whose host stopped accepting data (hung process, PCIe, firmware).",
    threshold: "Paused for at least 95 % of 100 ms. Sources: Junos checks every 100 ms; SONiC \
                requires 80 to 99 % of its interval; NICs stop after 100 ms (Guo et al., SIGCOMM \
                2016). Counters: a pause time rises by that share, or \
                tx_pause_storm_warning_events or tx_pause_storm_error_events rises.",
    remedy: "Isolate the station that pauses: drain or reboot its host, check its PCIe and \
             firmware. Enable the PFC watchdog of the switches (SONiC `pfcwd`, Junos \
             `pfc-watchdog`) and check the NIC's own counters (ethtool -S: tx_pause_storm_*).",
    needs: &[Need::Pause, Need::Counters],
    detect,
};

fn detect(facts: &Facts<'_>) -> Vec<Finding> {
    let mut found = by_frames(facts);
    for nic in &facts.state.counters.nics {
        found.extend(by_counters(nic));
    }
    found
}

fn by_frames(facts: &Facts<'_>) -> Vec<Finding> {
    let storms = facts.pauses().into_iter().filter(|(_, state)| state.storms > 0);
    let found = storms.map(|(key, state)| {
        let port = facts.port_of_mac(key.station);
        let claim = PauseClaim::Storm {
            station: Station { mac: key.station, port },
            priority: key.priority,
            longest_ns: state.longest_ns.unwrap_or(0),
            storms: state.storms,
        };
        let storm = FrameObservation::Storm {
            paused_ns: state.paused_ns.unwrap_or(0),
            frames: state.pause_frames,
        };
        let witness = facts.frame(key.tap, state.first.frame, state.first.time);
        let span = Span { first: state.first.time, last: state.last };
        KIND.finding(Severity::Critical, claim)
            .about(Subject { port, ..Subject::default() })
            .over(Some(facts.aligned_span(key.tap, span)))
            .proven()
            .because(Proof::frames(storm, Some(witness)))
    });
    found.collect()
}

fn by_counters(nic: &NicCounters) -> Option<Finding> {
    let subject = Subject { port: nic.addresses.first().copied(), ..Subject::default() };
    let events = [Measure::StormErrors, Measure::StormWarnings];
    let event =
        events.into_iter().find_map(|measure| nic.rise(measure).filter(|rise| rise.amount > 0));
    if let Some(rise) = event {
        let claim = PauseClaim::NicStalled { nic: nic.name() };
        let finding = KIND.finding(Severity::Critical, claim).about(subject);
        let storms = CounterObservation::FirmwareStorms(rise.amount);
        return Some(
            finding.over(Some(nic.span)).proven().because(Proof::counter(storms, rise.witness)),
        );
    }
    let longest = |measure| {
        let series = nic.of_measure(measure);
        series
            .filter_map(|(reading, series)| Some((storm(series, reading.scale)?, reading)))
            .max_by_key(|(span, _)| span.last.nanos_since(span.first))
    };
    let (sent, received) = (longest(Measure::PauseSentTime), longest(Measure::PauseReceivedTime));
    let (side, (span, reading)) = match (sent, received) {
        (Some(storm), _) => (PauseSide::Sent, storm),
        (None, Some(storm)) => (PauseSide::Received, storm),
        (None, None) => return None,
    };
    let length_ns = span.last.nanos_since(span.first);
    let claim =
        PauseClaim::NicStorm { nic: nic.name(), side, priority: reading.priority, length_ns };
    let paused = CounterObservation::NearlyAlwaysPaused { percent: STORM_PERCENT, length_ns };
    let finding = KIND.finding(Severity::Critical, claim).about(subject).over(Some(span));
    Some(finding.proven().because(Proof::counter(paused, None)))
}

/// The longest time in which every interval between two samples is nearly all pause; `None` if
/// shorter than a storm.
fn storm(series: &Series, scale: u64) -> Option<Span> {
    let mut current: Option<Span> = None;
    let mut longest: Option<Span> = None;
    let length = |span: Span| span.last.nanos_since(span.first);
    for (span, rise) in series.rises() {
        let paused = u128::from(rise) * u128::from(scale) * 100;
        if paused >= u128::from(length(span)) * u128::from(STORM_PERCENT) {
            let first = current.map_or(span.first, |current| current.first);
            let whole = Span { first, last: span.last };
            current = Some(whole);
            if longest.is_none_or(|known| length(whole) > length(known)) {
                longest = Some(whole);
            }
        } else {
            current = None;
        }
    }
    longest.filter(|span| length(*span) >= STORM_WINDOW_NS)
}
