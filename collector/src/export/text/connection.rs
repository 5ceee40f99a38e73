//! A flow with the ACKs, NAKs and CNPs that come back for it: one row for people.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use crate::report::Report;
use crate::report::flows::FlowReport;

/// A flow that carries requests (or cannot be told), with its way back.
pub(super) struct Connection<'a> {
    pub(super) flow: &'a FlowReport,
    pub(super) back: Option<&'a FlowReport>,
    /// Taps that saw it. What several saw is shown once, as the tap with the worst view has it.
    pub(super) taps: Vec<u32>,
}

impl Connection<'_> {
    /// Sent again.
    pub(super) fn resent(&self) -> u64 {
        self.flow.psn.retransmitted_packets.unwrap_or(0)
    }

    /// Missing at first sight.
    pub(super) fn gaps(&self) -> u64 {
        self.flow.psn.gap_packets.unwrap_or(0)
    }

    /// Came after a later one.
    pub(super) fn late(&self) -> u64 {
        self.flow.psn.out_of_order_packets.unwrap_or(0)
    }

    /// NAKs for a missing packet that came back.
    pub(super) fn sequence_naks(&self) -> u64 {
        self.back.map_or(0, |back| back.naks.psn_sequence_error)
    }

    /// NAKs that end a connection.
    pub(super) fn fatal_naks(&self) -> u64 {
        self.back.map_or(0, |back| {
            let naks = &back.naks;
            naks.invalid_request
                + naks.remote_access_error
                + naks.remote_operational_error
                + naks.invalid_rd_request
                + naks.reserved
        })
    }

    /// Receiver-not-ready NAKs that came back.
    pub(super) fn rnr_naks(&self) -> u64 {
        self.back.map_or(0, |back| back.rnr_naks)
    }

    /// CE-marked packets.
    pub(super) fn ce(&self) -> u64 {
        self.flow.ecn.ce.unwrap_or(0)
    }

    /// CNPs that came back.
    pub(super) fn cnps(&self) -> u64 {
        self.back.map_or(0, |back| back.cnps)
    }

    /// Episodes with one trigger, their recovery time and packets.
    pub(super) fn episodes(&self, trigger: &str) -> (u64, u64) {
        let entries = self.flow.episodes.iter().filter(|episode| episode.trigger == trigger);
        entries.fold((0, 0), |(count, recovery_ns), episode| {
            (count + episode.count, recovery_ns + episode.recovery_ns)
        })
    }

    /// Whether it carries more than answers.
    pub(super) fn carries_data(&self) -> bool {
        self.flow.psn.space == Some("request")
    }

    /// What it is sorted by: how sick it is, then how much it carried.
    fn weight(&self) -> (u64, u64) {
        (self.sickness(), self.flow.payload_bytes)
    }

    /// How sick it is. What ends a connection weighs most, then what costs time.
    fn sickness(&self) -> u64 {
        self.fatal_naks() * 1_000_000
            + (self.rnr_naks() + self.sequence_naks() + self.cnps()) * 10
            + self.episodes("timeout").0 * 1000
            + self.resent()
            + self.gaps()
            + self.late()
            + self.ce()
    }
}

/// Every flow that is not merely the way back of another, the sickest first, then the largest.
pub(super) fn sickest_first(
    report: &Report,
    shows: impl Fn(&FlowReport) -> bool,
) -> Vec<Connection<'_>> {
    let mut merged: BTreeMap<_, Connection<'_>> = BTreeMap::new();
    for flow in report
        .flows
        .iter()
        .filter(|flow| (flow.reverse.is_none() || flow.psn.space == Some("request")) && shows(flow))
    {
        let back = flow.reverse.as_ref().and_then(|back| report.flow(back.flow));
        let seen = Connection { flow, back, taps: vec![flow.tap] };
        match merged.entry((&flow.src, &flow.dst, flow.dest_qpn, flow.epoch)) {
            Entry::Vacant(vacant) => drop(vacant.insert(seen)),
            Entry::Occupied(mut known) => {
                let known = known.get_mut();
                known.taps.push(flow.tap);
                if seen.weight() > known.weight() {
                    *known = Connection { taps: std::mem::take(&mut known.taps), ..seen };
                }
            }
        }
    }
    let mut connections: Vec<Connection<'_>> = merged.into_values().collect();
    connections.sort_by_key(|connection| (Reverse(connection.weight()), connection.flow.id));
    connections
}
