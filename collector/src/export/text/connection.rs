//! A flow with the ACKs, NAKs and CNPs that come back for it: one row for people.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use railscope_core::report::Report;
use railscope_core::report::flows::FlowReport;

/// A flow that carries requests (or cannot be told), as every tap that saw it has it.
///
/// Each number is that of the tap that saw most of it: resends show at the sender's, holes at the
/// receiver's, and only the sender's round trips are whole.
pub(in crate::export) struct Connection<'a> {
    /// The view that saw most of the payload.
    pub(in crate::export) flow: &'a FlowReport,
    views: Vec<View<'a>>,
}

/// What one tap saw of a connection.
#[derive(Clone, Copy)]
struct View<'a> {
    flow: &'a FlowReport,
    back: Option<&'a FlowReport>,
}

impl<'a> View<'a> {
    /// The flow that brings the answers: alone in the capture, it stands for itself.
    fn answers(&self) -> Option<&'a FlowReport> {
        self.back.or_else(|| (!is_request(self.flow)).then_some(self.flow))
    }

    /// The way back where it only answers: its READ responses belong to this connection.
    fn responses(&self) -> Option<&'a FlowReport> {
        self.back.filter(|back| !is_request(back))
    }

    /// Payload of requests and responses.
    fn payload_bytes(&self) -> u64 {
        self.flow.payload_bytes + self.responses().map_or(0, |back| back.payload_bytes)
    }

    /// CE-marked packets of requests and responses, and the packets they are among.
    fn ce(&self) -> (u64, u64) {
        // In a tunnel the fabric marks the outer header.
        let marked = |flow: &FlowReport| {
            let outer = flow.outer_ecn.as_ref().and_then(|outer| outer.ce).unwrap_or(0);
            (flow.ecn.ce.unwrap_or(0).max(outer), flow.frames)
        };
        let (requests, responses) = (marked(self.flow), self.responses().map_or((0, 0), marked));
        let both = [requests, responses].into_iter().filter(|(ce, _)| *ce > 0);
        both.fold((0, 0), |(ce, frames), (more, among)| (ce + more, frames + among))
    }
}

/// Whether a flow has requests of its own, so that it is a row of its own.
fn is_request(flow: &FlowReport) -> bool {
    flow.psn.space == Some("request")
}

impl<'a> Connection<'a> {
    /// The taps that saw it.
    pub(in crate::export) fn taps(&self) -> impl ExactSizeIterator<Item = u32> {
        self.views.iter().map(|view| view.flow.tap)
    }

    /// `id`s of the flow in all views, and of what comes back.
    pub(in crate::export) fn ids(&self) -> impl Iterator<Item = u32> {
        let views = self.views.iter();
        views.flat_map(|view| [Some(view.flow.id), view.back.map(|back| back.id)]).flatten()
    }

    /// Payload of requests, and of READ responses.
    pub(in crate::export) fn payload_bytes(&self) -> u64 {
        self.most(View::payload_bytes)
    }

    /// Sent again.
    pub(in crate::export) fn resent(&self) -> u64 {
        self.most(|view| view.flow.psn.retransmitted_packets.unwrap_or(0))
    }

    /// Missing at first sight, less what only the capture lost; READ responses, too.
    pub(in crate::export) fn missing(&self) -> u64 {
        self.most(|view| {
            let psn = &view.flow.psn;
            let uncaptured = psn.uncaptured_packets.unwrap_or(0);
            let requests = psn.gap_packets.unwrap_or(0).saturating_sub(uncaptured);
            requests + view.answers().and_then(|back| back.psn.response_gap_packets).unwrap_or(0)
        })
    }

    /// Came after a later one.
    pub(in crate::export) fn late(&self) -> u64 {
        self.most(|view| view.flow.psn.out_of_order_packets.unwrap_or(0))
    }

    /// NAKs for a missing packet that came back.
    pub(in crate::export) fn sequence_naks(&self) -> u64 {
        self.most_answers(|answers| answers.naks.psn_sequence_error)
    }

    /// NAKs that end a connection.
    pub(in crate::export) fn fatal_naks(&self) -> u64 {
        self.fatal_nak_reasons().iter().map(|(naks, _)| naks).sum()
    }

    /// NAKs that end a connection, by reason.
    pub(in crate::export) fn fatal_nak_reasons(&self) -> [(u64, &'static str); 5] {
        [
            (
                self.most_answers(|answers| answers.naks.remote_access_error),
                "remote access error (bad R_Key, address or permission)",
            ),
            (self.most_answers(|answers| answers.naks.invalid_request), "invalid request"),
            (
                self.most_answers(|answers| answers.naks.remote_operational_error),
                "remote operational error",
            ),
            (self.most_answers(|answers| answers.naks.invalid_rd_request), "invalid RD request"),
            (self.most_answers(|answers| answers.naks.reserved), "reserved syndrome"),
        ]
    }

    /// Receiver-not-ready NAKs that came back.
    pub(in crate::export) fn rnr_naks(&self) -> u64 {
        self.most_answers(|answers| answers.rnr_naks)
    }

    /// CE-marked packets.
    pub(in crate::export) fn ce(&self) -> u64 {
        self.most(|view| view.ce().0)
    }

    /// CE-marked packets and those they are among, at the tap that saw most marks.
    pub(in crate::export) fn ce_among(&self) -> (u64, u64) {
        self.views.iter().map(View::ce).max().unwrap_or_default()
    }

    /// Whether it was seen next to its sender only, before any switch could mark.
    pub(in crate::export) fn hides_ce(&self) -> bool {
        self.carries_data() && self.views.iter().all(|view| view.flow.ecn.ce.is_none())
    }

    /// CNPs that came back; where the way back only answers, also those against its responses.
    pub(in crate::export) fn cnps(&self) -> u64 {
        self.most(|view| {
            let forth = view.responses().map_or(0, |_| view.flow.cnps);
            forth + view.answers().map_or(0, |answers| answers.cnps)
        })
    }

    /// Median ACK round trip: the longest view is the fullest one.
    pub(in crate::export) fn round_trip_ns(&self) -> Option<u64> {
        self.views.iter().filter_map(|view| view.flow.ack_rtt_ns.as_ref()).map(|rtt| rtt.p50).max()
    }

    /// Episodes with one of the triggers and their recovery time.
    pub(in crate::export) fn episodes(&self, triggers: &[&str]) -> (u64, u64) {
        let of_view = |view: &View<'_>| {
            let entries = view.flow.episodes.iter();
            entries
                .filter(|episode| triggers.contains(&episode.trigger))
                .fold((0, 0), |(count, ns), entry| (count + entry.count, ns + entry.recovery_ns))
        };
        self.views.iter().map(of_view).max().unwrap_or_default()
    }

    /// Resends after silence.
    pub(in crate::export) fn timeouts(&self) -> u64 {
        self.episodes(&["timeout"]).0
    }

    /// Whether it carries more than answers.
    pub(in crate::export) fn carries_data(&self) -> bool {
        is_request(self.flow)
    }

    /// How sick it is. What ends a connection weighs most, then what costs time.
    fn sickness(&self) -> u64 {
        self.fatal_naks() * 1_000_000
            + (self.rnr_naks() + self.sequence_naks() + self.cnps()) * 10
            + self.timeouts() * 1000
            + self.resent()
            + self.missing()
            + self.late()
            + self.ce()
    }

    fn most(&self, of: impl Fn(&View<'a>) -> u64) -> u64 {
        self.views.iter().map(of).max().unwrap_or(0)
    }

    fn most_answers(&self, of: impl Fn(&FlowReport) -> u64) -> u64 {
        self.most(|view| view.answers().map_or(0, &of))
    }
}

/// Every flow that is not merely the way back of another, the sickest first, then the largest.
pub(in crate::export) fn sickest_first(
    report: &Report,
    shows: impl Fn(&FlowReport) -> bool,
) -> Vec<Connection<'_>> {
    let rows = report.flows.iter().filter(|flow| is_request(flow) || flow.reverse.is_none());
    let mut merged: BTreeMap<_, Connection<'_>> = BTreeMap::new();
    for flow in rows {
        let back = flow.reverse.as_ref().and_then(|back| report.flow(back.flow));
        if !shows(flow) && !back.is_some_and(&shows) {
            continue;
        }
        let view = View { flow, back };
        let connection = merged
            .entry((&flow.src, &flow.dst, flow.dest_qpn, flow.epoch))
            .or_insert_with(|| Connection { flow, views: Vec::new() });
        if flow.payload_bytes > connection.flow.payload_bytes {
            connection.flow = flow;
        }
        connection.views.push(view);
    }
    let mut connections: Vec<Connection<'_>> = merged.into_values().collect();
    connections.sort_by_cached_key(|connection| {
        (Reverse((connection.sickness(), connection.payload_bytes())), connection.flow.id)
    });
    connections
}
