//! Rounds as spans, with the times at which things happened.
//!
//! ```text
//! trace of a training step: training step      trace of a collective: (railscope's span of it)
//!                           +- compute                                +- ncclAllReduce, one per rank
//! ```
//!
//! The spans of collectives link to their training step, and it links to them.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use opentelemetry::trace::{Link, Span as _, SpanContext, TraceContextExt as _, Tracer as _};
use opentelemetry::{Context, KeyValue};
use opentelemetry_sdk::trace::{SdkTracer, Span};

use super::ids::CallIds;
use super::round::{Call, Round};
use crate::collective::Kind;

/// Makes spans.
#[derive(Debug)]
pub(super) struct Tracer {
    sdk: SdkTracer,
    ended: u64,
}

impl Tracer {
    pub(super) const fn new(sdk: SdkTracer) -> Self {
        Self { sdk, ended: 0 }
    }

    /// Spans given to the SDK so far, those that its sampler left out aside.
    pub(super) const fn ended(&self) -> u64 {
        self.ended
    }

    /// Reports what a rank did in a round.
    pub(super) fn report(&mut self, round: &Round) {
        let iteration = self.training_step(round);
        let within = iteration.as_ref().map(|(span, _)| span.span_context().clone());
        if let Some(times) = round.compute {
            let parent = within.clone().unwrap_or(SpanContext::NONE);
            let span = self.start("compute", &parent, times.0, who(round), Vec::new());
            self.end(span, times.1);
        }
        let calls: Vec<_> =
            round.calls.iter().map(|call| self.call(round, call, within.clone())).collect();
        if let Some((mut span, end_ns)) = iteration {
            for call in calls {
                span.add_link(call, Vec::new());
            }
            self.end(span, end_ns);
        }
    }

    /// The span of the whole round, and its end; `None` if the round is no training step.
    fn training_step(&self, round: &Round) -> Option<(Span, u64)> {
        let (start_ns, _) = round.compute.filter(|_| round.is_training_step)?;
        let (_, end_ns) = round.calls.last()?.times;
        let attributes = who(round);
        let span =
            self.start("training step", &SpanContext::NONE, start_ns, attributes, Vec::new());
        Some((span, end_ns))
    }

    /// One collective as its rank called it.
    fn call(&mut self, round: &Round, call: &Call, iteration: Option<SpanContext>) -> SpanContext {
        let (start_ns, end_ns) = call.times;
        let ids = CallIds::new(&round.communicator, call.sequence);
        let mut attributes = who(round);
        attributes.extend([
            KeyValue::new("nccl.communicator.id", round.communicator.clone()),
            KeyValue::new("nccl.collective.sequence", integer(call.sequence)),
            KeyValue::new("nccl.collective.kind", kind(call.kind)),
            KeyValue::new("nccl.collective.size", integer(call.bytes)),
        ]);
        let links =
            iteration.into_iter().map(|iteration| Link::new(iteration, Vec::new(), 0)).collect();
        let span = self.start(function(call.kind), &ids.parent(), start_ns, attributes, links);
        let context = span.span_context().clone();
        self.end(span, end_ns);
        context
    }

    fn start(
        &self,
        name: &'static str,
        parent: &SpanContext,
        start_ns: u64,
        attributes: Vec<KeyValue>,
        links: Vec<Link>,
    ) -> Span {
        let builder = self.sdk.span_builder(name).with_start_time(date(start_ns));
        let builder = builder.with_attributes(attributes).with_links(links);
        let context = Context::new();
        let context = if parent.is_valid() {
            context.with_remote_span_context(parent.clone())
        } else {
            context
        };
        builder.start_with_context(&self.sdk, &context)
    }

    fn end(&mut self, mut span: Span, end_ns: u64) {
        self.ended += u64::from(span.span_context().is_sampled());
        span.end_with_timestamp(date(end_ns));
    }
}

/// Attributes of all spans of a rank's round.
fn who(round: &Round) -> Vec<KeyValue> {
    let mut attributes = vec![KeyValue::new("nccl.rank", i64::from(round.rank))];
    if let Some((host, pid)) = &round.host {
        attributes.push(KeyValue::new("host.name", host.clone()));
        attributes.push(KeyValue::new("process.pid", i64::from(*pid)));
    }
    if let Some(iteration) = round.iteration {
        attributes.push(KeyValue::new("nccl.training_step.label", iteration.to_string()));
    }
    if !round.is_measured {
        attributes.push(KeyValue::new("drive.is_measured", false));
    }
    attributes
}

/// The name of a kind in railscope's spans and metrics.
pub(super) const fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::AllReduce => "all_reduce",
        Kind::AllGather => "all_gather",
        Kind::ReduceScatter => "reduce_scatter",
        Kind::Broadcast => "broadcast",
    }
}

/// The function that an application calls.
const fn function(kind: Kind) -> &'static str {
    match kind {
        Kind::AllReduce => "ncclAllReduce",
        Kind::AllGather => "ncclAllGather",
        Kind::ReduceScatter => "ncclReduceScatter",
        Kind::Broadcast => "ncclBroadcast",
    }
}

/// OpenTelemetry has only signed integers.
fn integer(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn date(ns: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_nanos(ns)
}
