//! Collectives as traces: a span for the whole, and a child span for each rank. A span ends with its last
//! packet, so traces are built afterwards.

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::trace::v1::span::{Event, SpanKind};
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};

use super::attributes::Attributes;
use super::batch::{Batch, ITEMS, Signal};
use super::resource::{self, Resource};
use super::trace_id::{TraceIds, trace_state};
use railscope_core::report::Report;
use railscope_core::report::collectives::CollectiveReport;
use railscope_core::report::stragglers::StragglerReport;
use railscope_core::report::waits::CollectiveRankReport;

/// The spans of `collectives` of `report`, as requests, sampled at `ratio`.
#[must_use]
pub fn batches(
    report: &Report,
    collectives: &[&CollectiveReport],
    ratio: f64,
    resource: &Resource,
) -> Vec<Batch> {
    let mut spans = Vec::new();
    for collective in collectives {
        let ids = TraceIds::of_collective(report, collective);
        if ids.is_sampled(ratio) {
            let trace = Trace { report, collective, ids, state: trace_state(ratio) };
            spans.push(trace.whole());
            spans.extend(collective.ranks.iter().map(|rank| trace.rank(rank)));
        }
    }
    let mut batches = Vec::new();
    let mut spans = spans.into_iter().peekable();
    while spans.peek().is_some() {
        batches.push(batch(spans.by_ref().take(ITEMS).collect(), resource));
    }
    batches
}

fn batch(spans: Vec<Span>, resource: &Resource) -> Batch {
    let items = spans.len();
    let request = ExportTraceServiceRequest {
        resource_spans: vec![ResourceSpans {
            resource: Some(resource.to_proto()),
            scope_spans: vec![ScopeSpans {
                scope: Some(resource::scope()),
                spans,
                schema_url: String::new(),
            }],
            schema_url: String::new(),
        }],
    };
    Batch::new(Signal::Traces, items, &request)
}

/// A collective with its ids.
struct Trace<'a> {
    report: &'a Report,
    collective: &'a CollectiveReport,
    ids: TraceIds,
    state: String,
}

impl Trace<'_> {
    fn whole(&self) -> Span {
        let one = self.collective;
        let mut attributes = self.common();
        let iteration = one.iteration.and_then(|number| {
            self.report.iterations.iter().find(|iteration| iteration.iteration == number)
        });
        attributes
            .text("nccl.collective.sequence_origin", one.sequence_origin)
            .text("nccl.collective.algorithm", one.algorithm)
            .text("nccl.collective.protocol", one.protocol)
            .known("nccl.collective.size", one.bytes)
            .flag("nccl.collective.size_estimated", one.estimated)
            .number("nccl.collective.channels", one.channels)
            .number("nccl.collective.messages", one.messages)
            .known("nccl.collective.bus_bandwidth", one.busbw_bytes_per_s)
            .known("nccl.training_step.number", one.iteration)
            .known_text(
                "nccl.training_step.label",
                iteration.and_then(|iteration| iteration.label.as_deref()),
            )
            .text("railscope.grade", one.grade);
        let mut events = Vec::new();
        if let Some(late) = &one.straggler {
            add_straggler(&mut attributes, late);
            let first = one.ranks.iter().find(|rank| rank.rank == late.rank);
            let at = first.and_then(|rank| rank.first_send_ns).unwrap_or(one.start_ns);
            events.push(self.event("straggler", at));
        }
        self.span(one.kind, self.ids.collective(), (one.start_ns, one.end_ns), attributes, events)
    }

    fn rank(&self, rank: &CollectiveRankReport) -> Span {
        let one = self.collective;
        let start = rank.first_send_ns.or(rank.first_cts_ns).unwrap_or(one.start_ns);
        let end = rank.last_receive_ns.unwrap_or(one.end_ns).max(start);
        let mut attributes = self.common();
        attributes
            .number("nccl.rank", rank.rank)
            .known_text("host.name", self.host(rank.rank))
            .seconds("nccl.wait.start", rank.start_wait_ns)
            .seconds("nccl.wait.sender", rank.sender_wait_ns)
            .seconds("nccl.wait.receiver", rank.receiver_wait_ns)
            .seconds("nccl.wait.input", rank.input_wait_ns)
            .seconds("nccl.wait.transfer", rank.transfer_ns)
            .seconds("nccl.wait.recovery", rank.recovery_ns)
            .seconds("nccl.wait.pause", rank.paused_ns)
            .known("rdma.flow.ce_packets", rank.ce_packets)
            .known("rdma.cnp.packets", rank.cnps)
            .known("rdma.flow.retransmits", rank.retransmitted_packets);
        if let Some(late) = one.straggler.as_ref().filter(|late| late.rank == rank.rank) {
            add_straggler(&mut attributes, late);
        }
        let events = rank.first_cts_ns.map(|at| self.event("first clear-to-send", at));
        let name = format!("{} rank {}", one.kind, rank.rank);
        let id = self.ids.rank(rank.rank);
        let events = events.into_iter().collect();
        let mut span = self.span(&name, id, (start, end), attributes, events);
        span.parent_span_id = self.ids.collective().to_vec();
        span
    }

    /// The fields that spans of collectives and of ranks share.
    fn common(&self) -> Attributes {
        let one = self.collective;
        let mut attributes = Attributes::default();
        attributes
            .text("nccl.communicator.id", one.communicator.as_str())
            .number("nccl.collective.sequence", one.sequence)
            .text("nccl.collective.kind", one.kind);
        attributes
    }

    fn host(&self, rank: u32) -> Option<&str> {
        let communicators = self.report.communicators.iter();
        let mut of_id = communicators.filter(|one| one.id == self.collective.communicator);
        of_id.find_map(|one| one.ranks.iter().find(|known| known.rank == rank)?.host.as_deref())
    }

    fn span(
        &self,
        name: &str,
        id: [u8; 8],
        (start_ns, end_ns): (i64, i64),
        mut attributes: Attributes,
        events: Vec<Event>,
    ) -> Span {
        let date = |time_ns| self.report.capture.time(time_ns).as_nanos();
        Span {
            trace_id: self.ids.trace().to_vec(),
            span_id: id.to_vec(),
            trace_state: self.state.clone(),
            name: name.to_owned(),
            kind: SpanKind::Internal as i32,
            start_time_unix_nano: date(start_ns),
            end_time_unix_nano: date(end_ns),
            attributes: attributes.take(),
            events,
            ..Span::default()
        }
    }

    fn event(&self, name: &str, at_ns: i64) -> Event {
        Event {
            time_unix_nano: self.report.capture.time(at_ns).as_nanos(),
            name: name.to_owned(),
            ..Event::default()
        }
    }
}

fn add_straggler(attributes: &mut Attributes, late: &StragglerReport) {
    attributes
        .number("nccl.straggler.rank", late.rank)
        .text("nccl.straggler.cause", late.cause.name())
        .seconds("nccl.straggler.lag", Some(late.lag_ns))
        .known_text("nccl.straggler.port", late.port.as_deref())
        .texts("nccl.straggler.evidence", late.evidence.iter().map(|reason| reason.text.clone()));
}
