//! Counters of a switch's interface, from counter samples.

use crate::decode::sflow::{EthernetCounters, InterfaceCounters};
use crate::model::time::Timestamp;

/// What the counters of an interface rose by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InterfaceState {
    /// The latest generic ones.
    pub latest: Option<InterfaceCounters>,
    /// Time between readings that could be compared, in nanoseconds; 0 if it was read once.
    pub covered_ns: u64,
    /// Of that, the time in which octets that came in, and went out, were counted.
    pub counted_ns: [u64; 2],
    /// What they rose by in that time.
    pub rise: Rise,
    /// Bits per second in the busiest time between two readings: in, out.
    pub peak_bps: [Option<u64>; 2],
    at: Option<(Timestamp, u32)>,
    ethernet: Option<EthernetCounters>,
}

/// Rises of counters; `None` where the switch does not have one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names of the MIB")]
pub struct Rise {
    pub in_octets: Option<u64>,
    pub out_octets: Option<u64>,
    pub in_discards: Option<u64>,
    pub out_discards: Option<u64>,
    pub in_errors: Option<u64>,
    pub out_errors: Option<u64>,
    pub fcs_errors: Option<u64>,
    pub symbol_errors: Option<u64>,
}

impl InterfaceState {
    /// Takes a reading; the agent has been running for `uptime_ms`.
    pub(super) fn observe(
        &mut self,
        time: Timestamp,
        uptime_ms: u32,
        generic: InterfaceCounters,
        ethernet: Option<EthernetCounters>,
    ) {
        let before = self.latest.replace(generic).zip(self.at.replace((time, uptime_ms)));
        let ethernet_before = std::mem::replace(&mut self.ethernet, ethernet);
        let Some((before, (at, uptime))) = before else { return };
        let elapsed_ns = time.nanos_since(at);
        // The uptime wraps after 49 days; a restart is less than a reading's rest away from 0.
        if uptime_ms < uptime || elapsed_ns == 0 {
            return;
        }
        let octets = [
            long(before.in_octets, generic.in_octets),
            long(before.out_octets, generic.out_octets),
        ];
        self.covered_ns = self.covered_ns.saturating_add(elapsed_ns);
        for (counted_ns, _) in self.counted_ns.iter_mut().zip(octets).filter(|(_, it)| it.is_some())
        {
            *counted_ns = counted_ns.saturating_add(elapsed_ns);
        }
        for (peak, octets) in self.peak_bps.iter_mut().zip(octets) {
            let bits = octets.map(|octets| u128::from(octets) * 8_000_000_000);
            let rate = bits.map(|bits| u64::try_from(bits / u128::from(elapsed_ns)));
            *peak = (*peak).max(rate.and_then(Result::ok));
        }
        let [into, out] = octets;
        let rise = &mut self.rise;
        add(&mut rise.in_octets, into);
        add(&mut rise.out_octets, out);
        add(&mut rise.in_discards, short(before.in_discards, generic.in_discards));
        add(&mut rise.out_discards, short(before.out_discards, generic.out_discards));
        add(&mut rise.in_errors, short(before.in_errors, generic.in_errors));
        add(&mut rise.out_errors, short(before.out_errors, generic.out_errors));
        if let (Some(before), Some(after)) = (ethernet_before, ethernet) {
            add(&mut rise.fcs_errors, short(before.fcs_errors, after.fcs_errors));
            add(&mut rise.symbol_errors, short(before.symbol_errors, after.symbol_errors));
        }
    }
}

fn add(sum: &mut Option<u64>, rise: Option<u64>) {
    if let Some(rise) = rise {
        *sum = Some(sum.unwrap_or(0).saturating_add(rise));
    }
}

/// Growth of a counter of 64 bits; `None` if it went back.
fn long(before: Option<u64>, after: Option<u64>) -> Option<u64> {
    after?.checked_sub(before?)
}

/// Growth of a counter of 32 bits, which may wrap; `None` if it seems to have gone back.
fn short(before: Option<u32>, after: Option<u32>) -> Option<u64> {
    let rise = after?.wrapping_sub(before?);
    (rise < 1 << 31).then_some(u64::from(rise))
}
