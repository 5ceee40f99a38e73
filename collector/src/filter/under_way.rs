//! Which collective's message a connection carries at a time.

use std::collections::BTreeMap;

use railscope_core::report::transfers::TransferReport;

/// Turning a tap's time into the report's rounds this much at most, twice.
const ROUNDING_NS: i64 = 8;

/// An ACK of the last message follows within this time; later packets belong to nothing.
const TRAILING_NS: i64 = 10_000_000;

/// The messages of all connections in order of time.
pub(super) struct UnderWay(BTreeMap<u32, Messages>);

/// The messages of one connection; times with the collective.
#[derive(Default)]
struct Messages {
    /// When its data began, ascending.
    data: Vec<(i64, u32)>,
    /// When its last data passed, by collective.
    ends: BTreeMap<u32, i64>,
    /// When a CTS was posted or arrived.
    cts: BTreeMap<i64, u32>,
}

impl UnderWay {
    pub(super) fn new(transfers: &[TransferReport]) -> Self {
        let mut connections: BTreeMap<u32, Messages> = BTreeMap::new();
        for one in transfers {
            let Some(collective) = one.collective else { continue };
            let messages = connections.entry(one.connection).or_default();
            if let Some(start_ns) = one.first_ns.or(one.last_ns) {
                messages.data.push((start_ns, collective));
                let end_ns = one.last_ns.unwrap_or(start_ns);
                let known = messages.ends.entry(collective).or_insert(end_ns);
                *known = end_ns.max(*known);
            }
            let cts = [one.cts_posted_ns, one.cts_arrived_ns].into_iter().flatten();
            messages.cts.extend(cts.map(|time_ns| (time_ns, collective)));
        }
        connections.values_mut().for_each(|one| one.data.sort_unstable());
        Self(connections)
    }

    /// Whether the messages of a connection are known.
    pub(super) fn knows(&self, connection: u32) -> bool {
        self.0.contains_key(&connection)
    }

    /// The collective whose message `connection` carries at a time, or whose CTS it carries if
    /// `is_control`. Receivers post CTSs long before the data: the time alone would give the
    /// collective before.
    pub(super) fn collective(
        &self,
        connection: u32,
        time_ns: i64,
        is_control: bool,
    ) -> Option<u32> {
        let messages = self.0.get(&connection)?;
        let near = time_ns - ROUNDING_NS..=time_ns + ROUNDING_NS;
        let requested = || messages.cts.range(near).next().map(|(_, collective)| *collective);
        let carried = || {
            let begun = messages.data.partition_point(|(start, _)| *start <= time_ns + ROUNDING_NS);
            let (_, collective) = messages.data.get(begun.checked_sub(1)?)?;
            let end_ns = messages.ends.get(collective)?;
            (time_ns <= end_ns + TRAILING_NS).then_some(*collective)
        };
        is_control.then(requested).flatten().or_else(carried)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transfer(number: u64, collective: u32, cts_ns: i64, first_ns: i64) -> TransferReport {
        TransferReport {
            connection: 1,
            number,
            collective: Some(collective),
            bytes: Some(4096),
            cts_posted_ns: Some(cts_ns),
            cts_arrived_ns: Some(cts_ns + 1000),
            first_ns: Some(first_ns),
            last_ns: Some(first_ns + 10_000),
            packets: 1,
            ce_packets: 0,
        }
    }

    #[test]
    fn each_message_counts_for_its_collective() {
        let known = UnderWay::new(&[transfer(1, 4, 0, 50_000), transfer(2, 5, 20_000, 70_000)]);
        let data = |time_ns| known.collective(1, time_ns, false);
        assert_eq!([data(40_000), data(50_000), data(69_000), data(70_000)], {
            [None, Some(4), Some(4), Some(5)]
        });
        // Long before its data, while the data of the collective before are under way.
        assert_eq!(known.collective(1, 20_000, true), Some(5));
        assert_eq!(known.collective(1, 1001, true), Some(4));
        // Its ACK.
        assert_eq!(known.collective(1, 61_000, true), Some(4));
        assert_eq!(data(1_000_000_000), None);
        assert!(known.knows(1) && !known.knows(2));
    }
}
