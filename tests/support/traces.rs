//! Traces in which a job's own spans stand beside those that railscope made of its packets.

use std::collections::BTreeMap;

use serde_json::Value;

use super::otlp_receiver::items;

/// Service of the driver's spans.
pub const JOB: &str = "railscope-drive";

/// The spans of one collective.
#[derive(Debug, Default)]
pub struct Trace {
    /// Those of the job, one per rank.
    pub job: Vec<Value>,
    /// railscope's span of the whole.
    pub whole: Option<Value>,
    /// railscope's spans of ranks.
    pub ranks: Vec<Value>,
}

/// Spans of all requests of a service.
pub fn spans_of(requests: &[Value], service: &str) -> Vec<Value> {
    let of_service = requests.iter().filter(|one| one["resource"]["service.name"] == service);
    items(&of_service.cloned().collect::<Vec<_>>(), "traces")
}

/// The spans of collectives in the requests, by trace id.
pub fn collectives(requests: &[Value]) -> BTreeMap<String, Trace> {
    let mut traces: BTreeMap<String, Trace> = BTreeMap::new();
    let trace_of = |span: &Value| span["trace"].as_str().unwrap().to_owned();
    for span in spans_of(requests, "railscope") {
        let trace = traces.entry(trace_of(&span)).or_default();
        if span["parent"] == "" {
            let before = trace.whole.replace(span.clone());
            assert!(before.is_none(), "two spans of one collective: {before:?} {span:?}");
        } else {
            trace.ranks.push(span);
        }
    }
    for span in spans_of(requests, JOB) {
        if !span["attributes"]["nccl.collective.sequence"].is_null() {
            traces.entry(trace_of(&span)).or_default().job.push(span);
        }
    }
    traces
}

impl Trace {
    /// Checks that both sides are there, for every one of `ranks` ranks, and mean the same
    /// collective. Returns how much later each rank's call ended than its last packet came, in ns.
    ///
    /// A rank calls before it sends, and has its result after it received: railscope's span of a
    /// rank lies within the job's, except for `slack_ns` between the clocks of kernel and process.
    pub fn check(&self, ranks: u64, slack_ns: u64) -> Vec<u64> {
        let whole = self.whole.as_ref().expect("railscope has a span of the collective");
        let known = ["nccl.communicator.id", "nccl.collective.sequence", "nccl.collective.kind"];
        let number = |span: &Value, key: &str| span[key].as_u64().unwrap();
        (0..ranks)
            .map(|rank| {
                let of_rank = |spans: &[Value]| {
                    let of_rank = |span: &&Value| span["attributes"]["nccl.rank"] == rank;
                    let mut spans = spans.iter().filter(of_rank).cloned();
                    let span = spans.next().unwrap_or_else(|| panic!("rank {rank}: {self:?}"));
                    assert!(spans.next().is_none(), "rank {rank} twice: {self:?}");
                    assert_eq!(span["parent"], whole["span"]);
                    for name in known {
                        assert_eq!(span["attributes"][name], whole["attributes"][name], "{name}");
                    }
                    span
                };
                let (job, seen) = (of_rank(&self.job), of_rank(&self.ranks));
                assert_ne!(job["span"], seen["span"]);
                assert!(number(&job, "start") <= number(&seen, "start") + slack_ns, "{self:?}");
                assert!(number(&seen, "end") <= number(&job, "end") + slack_ns, "{self:?}");
                number(&job, "end").saturating_sub(number(&seen, "end"))
            })
            .collect()
    }
}
