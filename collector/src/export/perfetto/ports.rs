//! Counters of ports: payload of messages sent and received, and the share of packets received with
//! a CE mark, in buckets of time. A port that never received one has no such counter.
//!
//! Buckets are the shortest of
//! 10, 20, 50, 100, ... us that divide the capture into at most 2,000. A value applies until the next.

use std::collections::BTreeMap;

use serde_json::json;

use super::collectives::host;
use super::event::{Event, Phase, Track, arguments};
use super::processes::{Process, Processes};
use crate::export::port_traffic::{Series, Sums, sums};
use railscope_core::report::Report;

/// Most buckets of a port: a longer capture has wider ones.
const MOST_BUCKETS: u64 = 2000;

/// Narrowest bucket.
const NARROWEST_NS: u64 = 10_000;

/// The counters of every port with messages, on its host.
pub(super) fn tracks(report: &Report, processes: &mut Processes) -> Vec<Track> {
    let bucket_ns = bucket_ns(report.capture.duration_ns);
    let hosts = hosts(report);
    let mut tracks = Vec::new();
    for ((address, series), buckets) in shares(sums(report, bucket_ns)) {
        let process = hosts.get(address.as_str()).cloned().unwrap_or_else(|| address.clone());
        let place = processes.process(Process::Host(process));
        let (name, unit, factor) = match series {
            Series::Sent => ("TX payload", "Gb/s", 8.0 / bucket_ns as f64),
            Series::Received => ("RX payload", "Gb/s", 8.0 / bucket_ns as f64),
            Series::Packets | Series::Marked => ("RX CE share", "%", 100.0),
        };
        let event = |bucket: u64, value: f64| Event {
            name: format!("{address} {name}"),
            category: "port",
            phase: Phase::Counter,
            time_ns: i64::try_from(bucket.saturating_mul(bucket_ns)).unwrap_or(i64::MAX),
            place,
            arguments: arguments([(unit, json!(value))]),
        };
        let mut track = Track::new();
        for (bucket, sum) in &buckets {
            track.push(event(*bucket, sum * factor));
            if !buckets.contains_key(&(bucket + 1)) {
                track.push(event(bucket + 1, 0.0));
            }
        }
        tracks.push(track);
    }
    tracks
}

fn bucket_ns(duration_ns: u64) -> u64 {
    let mut width = NARROWEST_NS;
    let mut factors = [2, 5, 10].into_iter().cycle();
    let mut decade = NARROWEST_NS;
    while duration_ns / width >= MOST_BUCKETS {
        let factor = factors.next().unwrap_or(10);
        width = decade.saturating_mul(factor);
        if factor == 10 {
            decade = width;
        }
    }
    width
}

/// Converts marks to shares of the packets in the same bucket, and removes ports without marks.
fn shares(mut sums: Sums) -> Sums {
    let addresses: Vec<String> = sums.keys().map(|(address, _)| address.clone()).collect();
    for address in addresses {
        let Some(packets) = sums.remove(&(address.clone(), Series::Packets)) else { continue };
        let key = (address, Series::Marked);
        let Some(marks) = sums.get_mut(&key) else { continue };
        if marks.values().all(|marks| *marks == 0.0) {
            sums.remove(&key);
            continue;
        }
        for (bucket, share) in marks {
            *share /= packets.get(bucket).copied().unwrap_or(0.0).max(f64::MIN_POSITIVE);
        }
    }
    sums
}

/// The host of each address that a rank's data uses.
pub(super) fn hosts(report: &Report) -> BTreeMap<&str, String> {
    let ranks = report.communicators.iter().flat_map(|one| &one.ranks);
    let nics = ranks.flat_map(|rank| rank.nics.iter().map(move |nic| (rank, nic)));
    nics.map(|(rank, nic)| (nic.address.as_str(), host(rank))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_round_and_not_too_many() {
        assert_eq!(bucket_ns(0), 10_000);
        assert_eq!(bucket_ns(7_000_000_000), 5_000_000);
        assert_eq!(bucket_ns(100_000_000), 100_000);
        assert!(600_000_000_000 / bucket_ns(600_000_000_000) < MOST_BUCKETS);
    }
}
