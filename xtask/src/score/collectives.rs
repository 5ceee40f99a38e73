//! What was called, how it was carried out, and when.

use std::collections::BTreeMap;
use std::ops::Range;

use super::cell::{Cell, Column, Tally};
use super::matching::Matching;
use super::pairing::by_overlap;
use super::report::{self, CollectiveConnection};
use super::truth::{self, Edge};

/// Tolerance of estimated bytes, as a share.
const ESTIMATE: f64 = 0.01;

/// Columns about collectives.
#[derive(Default)]
pub(super) struct Score {
    found: Tally,
    kind: Tally,
    kind_or_alternative: Tally,
    algorithm: Tally,
    protocol: Tally,
    bytes: Tally,
    channels: Tally,
    messages: Tally,
    boundaries: Tally,
    largest_boundary_error: u64,
    start_errors_ns: Vec<i64>,
    end_errors_ns: Vec<i64>,
}

/// The truth's collectives of one communicator that the capture shows.
pub(super) struct Known<'a> {
    pub(super) collective: &'a truth::Collective,
    edges: Vec<&'a Edge>,
    /// From the first message handed to the network to the last result.
    span: Range<i64>,
    /// It began before the capture: not scored.
    is_cut: bool,
}

impl Known<'_> {
    /// When its first message was handed to the network.
    pub(super) fn start_ns(&self) -> i64 {
        self.span.start
    }
}

impl Score {
    pub(super) fn new(matching: &Matching<'_>) -> Self {
        let mut score = Self::default();
        for at in 0..matching.truth.communicators.len() {
            score.count_communicator(matching, at);
        }
        let is_known = |collective: &&report::Collective| {
            matching.communicator(&collective.communicator).is_some()
        };
        let all = &matching.report.collectives;
        score.found.wrong += (all.len() - all.iter().filter(is_known).count()) as u64;
        score
    }

    pub(super) fn columns(&self) -> Vec<Column> {
        vec![
            ("collectives", self.found.into()),
            ("kind", self.kind.into()),
            ("or alternative", self.kind_or_alternative.into()),
            ("algorithm", self.algorithm.into()),
            ("protocol", self.protocol.into()),
            ("bytes", self.bytes.into()),
            ("channels", self.channels.into()),
            ("messages", self.messages.into()),
            ("boundaries", self.boundaries.into()),
            ("boundaries off by", Cell::Faults(self.largest_boundary_error)),
        ]
    }

    pub(super) fn time_columns(&self) -> Vec<Column> {
        vec![
            ("start", Cell::differences(self.start_errors_ns.clone())),
            ("end", Cell::differences(self.end_errors_ns.clone())),
        ]
    }

    fn count_communicator(&mut self, matching: &Matching<'_>, at: usize) {
        let pairs = paired(matching, at);
        let said: Vec<_> = said_spans(matching, at).into_iter().map(|(span, _)| span).collect();
        let end_ns = pairs.iter().map(|(known, _)| known.span.end).max().unwrap_or(i64::MIN);
        let is_cut_off = |span: &&Range<i64>| matching.truth.is_killed() && span.start > end_ns;
        let cut_off = said.iter().filter(is_cut_off).count();
        let found = pairs.iter().filter(|(_, said)| said.is_some()).count();
        self.found.wrong += (said.len() - found - cut_off) as u64;
        for (known, said) in pairs.iter().filter(|(known, _)| !known.is_cut) {
            self.count(matching, known, *said);
        }
    }

    fn count(
        &mut self,
        matching: &Matching<'_>,
        known: &Known<'_>,
        said: Option<&report::Collective>,
    ) {
        let kind = known.collective.op.name();
        self.found.count(said.map(|_| true));
        let named = said.filter(|said| said.kind != "unknown");
        self.kind.count(named.map(|said| said.kind == kind));
        let is_among = |said: &report::Collective| {
            said.kind == kind || said.alternatives.iter().any(|other| other == kind)
        };
        let has_kind = said.filter(|said| said.kind != "unknown" || !said.alternatives.is_empty());
        self.kind_or_alternative.count(has_kind.map(is_among));
        if let Some(algorithm) = &known.collective.algo {
            count_name(&mut self.algorithm, said.map(|said| &said.algorithm), algorithm);
        }
        if let Some(protocol) = known.collective.protocol() {
            count_name(&mut self.protocol, said.map(|said| &said.protocol), protocol);
        }
        let bytes = matching.truth.bytes_of(known.collective);
        let is_right =
            |said: &report::Collective| Some(is_about(said.bytes?, bytes, said.estimated));
        self.bytes.count(said.and_then(is_right));
        self.channels.count(said.map(|said| said.channels == known.collective.channels()));
        self.count_edges(matching, known, said);
        if let Some(said) = said {
            let origin_ns = matching.report.origin_ns();
            let last_post = known.edges.iter().map(|edge| edge.last_post_ns).max().unwrap_or(0);
            self.start_errors_ns.push((origin_ns + said.start_ns - known.span.start).abs());
            self.end_errors_ns.push((origin_ns + said.end_ns - last_post).abs());
        }
    }

    fn count_edges(
        &mut self,
        matching: &Matching<'_>,
        known: &Known<'_>,
        said: Option<&report::Collective>,
    ) {
        let said = said.map(|said| said_by_edge(matching, said)).unwrap_or_default();
        for edge in &known.edges {
            let said = said.get(&(edge.channel, edge.sender, edge.receiver));
            let is_same = |said: &&CollectiveConnection| {
                said.messages == edge.messages && said.bytes == edge.bytes
            };
            self.messages.count(said.map(is_same));
            let boundaries = &edge.phase_boundary_message_index;
            if boundaries.is_empty() {
                continue;
            }
            let said = said.map(|said| &said.part_boundaries).filter(|said| !said.is_empty());
            self.boundaries.count(said.map(|said| said == boundaries));
            if let Some(said) = said.filter(|said| said.len() == boundaries.len()) {
                let errors = said.iter().zip(boundaries).map(|(said, known)| said.abs_diff(*known));
                let largest = errors.max().unwrap_or(0);
                self.largest_boundary_error = self.largest_boundary_error.max(largest);
            }
        }
    }
}

/// The truth's collectives of one communicator, each with the report's.
pub(super) fn paired<'a>(
    matching: &Matching<'a>,
    at: usize,
) -> Vec<(Known<'a>, Option<&'a report::Collective>)> {
    let known = known(matching, at);
    let said = said_spans(matching, at);
    let spans: Vec<_> = known.iter().map(|known| known.span.clone()).collect();
    let said_spans: Vec<_> = said.iter().map(|(span, _)| span.clone()).collect();
    let pairs: BTreeMap<usize, usize> = by_overlap(&spans, &said_spans).into_iter().collect();
    let with = |(place, known)| (known, pairs.get(&place).map(|&r| said[r].1));
    known.into_iter().enumerate().map(with).collect()
}

/// Reported collectives of one of the truth's communicators, in order of time.
fn said_spans<'a>(matching: &Matching<'a>, at: usize) -> Vec<(Range<i64>, &'a report::Collective)> {
    let origin_ns = matching.report.origin_ns();
    let mut said: Vec<_> = (matching.report.collectives.iter())
        .filter(|said| matching.communicator(&said.communicator) == Some(at))
        .map(|said| (origin_ns + said.start_ns..origin_ns + said.end_ns + 1, said))
        .collect();
    said.sort_by_key(|(span, _)| span.start);
    said
}

fn known<'a>(matching: &Matching<'a>, communicator: usize) -> Vec<Known<'a>> {
    let truth = matching.truth;
    let flows = matching.report.flows.iter().filter(|_| truth.starts_mid_job);
    let first_ns = flows.map(|flow| flow.first_ns).min();
    let first_frame = first_ns.map(|ns| matching.report.origin_ns() + ns);
    let mut known = Vec::new();
    for collective in truth.collectives.iter().filter(|c| c.comm == communicator) {
        let edges: Vec<_> = truth.network_edges(collective).collect();
        let Some(start) = edges.iter().map(|edge| edge.first_post_ns).min() else { continue };
        let span = start..collective.end_ns.max(start + 1);
        if first_frame.is_none_or(|first| first < span.end) {
            let is_cut = first_frame.is_some_and(|first| first > start);
            known.push(Known { collective, edges, span, is_cut });
        }
    }
    known.sort_by_key(|known| known.collective.seq);
    known
}

/// The report by edge: channel, sender, receiver.
fn said_by_edge<'a>(
    matching: &Matching<'_>,
    said: &'a report::Collective,
) -> BTreeMap<(u32, u32, u32), &'a CollectiveConnection> {
    let connections =
        || matching.report.communicators.iter().flat_map(|communicator| &communicator.connections);
    let of_edge = |part: &'a CollectiveConnection| {
        let connection = connections().find(|connection| connection.id == part.connection)?;
        let known = matching.connection(connection)?;
        Some(((known.channel, known.sender, known.receiver), part))
    };
    said.connections.iter().filter_map(of_edge).collect()
}

/// The truth writes names in capitals; `unknown` claims nothing.
fn count_name(tally: &mut Tally, said: Option<&String>, truth: &str) {
    let said = said.filter(|said| *said != "unknown");
    tally.count(said.map(|said| said.eq_ignore_ascii_case(truth)));
}

fn is_about(said: u64, truth: u64, is_estimated: bool) -> bool {
    let margin = if is_estimated { truth as f64 * ESTIMATE } else { 0.0 };
    said.abs_diff(truth) as f64 <= margin
}
