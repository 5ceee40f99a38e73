//! Counters of ports: payload of messages sent and received, and the share of packets received with
//! a CE mark, in buckets of time. A port that never received one has no such counter.
//!
//! A message's bytes are spread evenly from its first packet to its last. Buckets are the shortest of
//! 10, 20, 50, 100, ... us that divide the capture into at most 2,000. A value applies until the next.

use std::collections::BTreeMap;

use serde_json::json;

use super::collectives::host;
use super::event::{Event, Phase, Track, arguments};
use super::processes::{Process, Processes};
use railscope_core::report::Report;
use railscope_core::report::communicators::ConnectionReport;

/// Most buckets of a port: a longer capture has wider ones.
const MOST_BUCKETS: u64 = 2000;

/// Narrowest bucket.
const NARROWEST_NS: u64 = 10_000;

/// A counter of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Series {
    Sent,
    Received,
    Packets,
    Marked,
}

/// Sums by bucket.
type Buckets = BTreeMap<u64, f64>;

/// Sums by port and counter.
type Sums = BTreeMap<(String, Series), Buckets>;

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

fn sums(report: &Report, bucket_ns: u64) -> Sums {
    let all = report.communicators.iter().flat_map(|one| &one.connections);
    let connections: BTreeMap<u32, &ConnectionReport> = all.map(|one| (one.id, one)).collect();
    let mut sums = Sums::new();
    for transfer in report.transfers.iter().flatten() {
        let pair = connections.get(&transfer.connection).and_then(|one| one.queue_pairs.first());
        let (Some(pair), Some((first_ns, last_ns))) =
            (pair, transfer.first_ns.zip(transfer.last_ns))
        else {
            continue;
        };
        let first_ns = u64::try_from(first_ns).unwrap_or(0);
        let last_ns = u64::try_from(last_ns).unwrap_or(0).max(first_ns);
        for (address, series) in [(&pair.src, Series::Sent), (&pair.dst, Series::Received)] {
            let buckets = sums.entry((address.clone(), series)).or_default();
            spread(buckets, bucket_ns, (first_ns, last_ns), transfer.bytes.unwrap_or(0) as f64);
        }
        let packets = transfer.packets.max(transfer.ce_packets);
        for (count, series) in [(packets, Series::Packets), (transfer.ce_packets, Series::Marked)] {
            let buckets = sums.entry((pair.dst.clone(), series)).or_default();
            spread(buckets, bucket_ns, (first_ns, last_ns), f64::from(count));
        }
    }
    sums
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

/// Adds `amount` evenly from the first to the last nanosecond.
fn spread(buckets: &mut Buckets, bucket_ns: u64, (first_ns, last_ns): (u64, u64), amount: f64) {
    let length = (last_ns - first_ns + 1) as f64;
    for bucket in first_ns / bucket_ns..=last_ns / bucket_ns {
        let from = first_ns.max(bucket * bucket_ns);
        let to = last_ns.min(bucket * bucket_ns + (bucket_ns - 1));
        *buckets.entry(bucket).or_insert(0.0) += amount * (to - from + 1) as f64 / length;
    }
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

    #[test]
    fn bytes_are_spread_and_none_is_lost() {
        let mut buckets = Buckets::new();
        spread(&mut buckets, 10, (5, 24), 200.0);
        assert_eq!(buckets.into_iter().collect::<Vec<_>>(), [(0, 50.0), (1, 100.0), (2, 50.0)]);
    }
}
