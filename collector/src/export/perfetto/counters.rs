//! NIC counters over time, on their hosts: the rate between two samples. A counter that never rose has no
//! track.

use serde_json::json;

use super::collectives::host;
use super::event::{Event, Phase, Track, arguments};
use super::processes::{Process, Processes};
use railscope_core::report::Report;
use railscope_core::report::counters::{CounterReport, CounterValueReport, RiseReport};

/// A track for each counter that rose and whose meaning is known.
pub(super) fn tracks(report: &Report, processes: &mut Processes) -> Vec<Track> {
    let mut tracks = Vec::new();
    for nic in &report.counters {
        let process = Process::Host(host_of(report, nic));
        for (name, counter) in &nic.counters {
            let rises = counter.rises.as_deref().filter(|_| counter.measure.is_some());
            let Some([_, ..]) = rises else { continue };
            let place = processes.process(process.clone());
            let unit = Unit::of_counter(counter);
            let name = format!("{} {name}", nic_name(nic));
            let event = |time_ns, value: f64| Event {
                name: name.clone(),
                category: "counter",
                phase: Phase::Counter,
                time_ns,
                place,
                arguments: arguments([(unit.name(), json!(value))]),
            };
            let mut track = Track::new();
            let mut last_end = i64::MIN;
            for rise in rises.into_iter().flatten() {
                let start_ns = unit.start_ns(rise).max(last_end);
                if last_end != start_ns && last_end != i64::MIN {
                    track.push(event(last_end, 0.0));
                }
                track.push(event(start_ns, unit.pace(rise, start_ns)));
                last_end = rise.end_ns;
            }
            track.push(event(last_end, 0.0));
            tracks.push(track);
        }
    }
    tracks
}

/// Unit of a counter's rate.
#[derive(Clone, Copy)]
enum Unit {
    ShareOfTime,
    Bits,
    Events,
}

impl Unit {
    fn of_counter(counter: &CounterValueReport) -> Self {
        match counter.unit {
            Some("ns") => Self::ShareOfTime,
            Some("bytes") => Self::Bits,
            _ => Self::Events,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::ShareOfTime => "% of the time",
            Self::Bits => "Gb/s",
            Self::Events => "per second",
        }
    }

    /// The start of the counted time: a NIC that counts a pause at its end may report more than the
    /// time between two samples.
    fn start_ns(self, rise: &RiseReport) -> i64 {
        let amount = i64::try_from(rise.amount).unwrap_or(i64::MAX);
        match self {
            Self::ShareOfTime => rise.start_ns.min(rise.end_ns.saturating_sub(amount)),
            Self::Bits | Self::Events => rise.start_ns,
        }
    }

    fn pace(self, rise: &RiseReport, start_ns: i64) -> f64 {
        let per_ns = rise.amount as f64 / rise.end_ns.saturating_sub(start_ns).max(1) as f64;
        match self {
            Self::ShareOfTime => (per_ns * 100.0).min(100.0),
            Self::Bits => per_ns * 8.0,
            Self::Events => per_ns * 1e9,
        }
    }
}

/// The host of the rank whose data it carries, else the host name in the counters.
fn host_of(report: &Report, nic: &CounterReport) -> String {
    let ranks = report.communicators.iter().flat_map(|one| &one.ranks);
    let mut owners = ranks
        .filter(|rank| rank.nics.iter().any(|known| nic.addresses.contains(&known.address)))
        .map(host);
    owners
        .next()
        .or_else(|| nic.host.clone())
        .or_else(|| nic.addresses.first().cloned())
        .unwrap_or_else(|| nic_name(nic))
}

/// `mlx5_0/1 10.0.0.3`: all known parts, so that names are unique.
fn nic_name(nic: &CounterReport) -> String {
    let device = nic.device.as_ref().map(|device| match nic.port {
        Some(port) => format!("{device}/{port}"),
        None => device.clone(),
    });
    let address = nic.addresses.first().cloned();
    let known = [device, nic.netdev.clone(), address].into_iter().flatten();
    known.collect::<Vec<_>>().join(" ")
}
