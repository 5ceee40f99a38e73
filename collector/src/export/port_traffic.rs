//! Traffic of ports over time: messages of collectives, in buckets. A message's bytes are spread evenly
//! from its first packet to its last.

use std::collections::BTreeMap;

use railscope_core::report::Report;
use railscope_core::report::communicators::ConnectionReport;

/// A counter of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Series {
    /// Payload sent, bytes.
    Sent,
    /// Payload received, bytes.
    Received,
    /// Data packets received.
    Packets,
    /// Those with a CE mark.
    Marked,
}

/// Sums by bucket.
pub(super) type Buckets = BTreeMap<u64, f64>;

/// Sums by port and counter.
pub(super) type Sums = BTreeMap<(String, Series), Buckets>;

/// The messages of full detail, in buckets of `bucket_ns` from the start of the capture. Those of a
/// connection count for the ports of its first queue pair.
pub(super) fn sums(report: &Report, bucket_ns: u64) -> Sums {
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

/// Adds `amount` evenly from the first to the last nanosecond.
fn spread(buckets: &mut Buckets, bucket_ns: u64, (first_ns, last_ns): (u64, u64), amount: f64) {
    let length = (last_ns - first_ns + 1) as f64;
    for bucket in first_ns / bucket_ns..=last_ns / bucket_ns {
        let from = first_ns.max(bucket * bucket_ns);
        let to = last_ns.min(bucket * bucket_ns + (bucket_ns - 1));
        *buckets.entry(bucket).or_insert(0.0) += amount * (to - from + 1) as f64 / length;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_spread_and_none_is_lost() {
        let mut buckets = Buckets::new();
        spread(&mut buckets, 10, (5, 24), 200.0);
        assert_eq!(buckets.into_iter().collect::<Vec<_>>(), [(0, 50.0), (1, 100.0), (2, 50.0)]);
    }
}
