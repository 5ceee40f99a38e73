//! Records of NCCL Inspector (`plugins/profiler/inspector`, formats v3 and v4): one JSON object a
//! line, or pretty-printed.

use serde::Deserialize;

use super::braces::Braces;
use super::{Output, Taken, TakesLines};
use crate::model::inspector::Record;

/// An object, until its braces are closed.
#[derive(Clone, Debug)]
pub(super) struct Inspector(Braces);

#[derive(Deserialize)]
struct Object {
    header: Header,
    #[serde(default)]
    metadata: Metadata,
    coll_perf: Performance,
}

#[derive(Deserialize)]
struct Header {
    id: String,
    rank: u32,
    n_ranks: u32,
}

#[derive(Default, Deserialize)]
struct Metadata {
    hostname: Option<String>,
}

#[derive(Deserialize)]
struct Performance {
    coll: String,
    coll_sn: u64,
    coll_msg_size_bytes: u64,
    coll_exec_time_us: u64,
    coll_busbw_gbs: f64,
    coll_timing_source: Option<String>,
}

impl Inspector {
    /// A line with the whole object, or its opening brace.
    pub(super) fn begin(line: &str) -> Option<Self> {
        let text = line.trim();
        let is_begun = text == "{" || (text.starts_with('{') && text.contains("\"coll_perf\""));
        is_begun.then(|| Self(Braces::begin(text)))
    }

    /// Whether the object is whole once its first line was read.
    pub(super) const fn is_whole(&self) -> bool {
        self.0.is_closed()
    }
}

impl TakesLines for Inspector {
    fn take(&mut self, line: &str) -> Taken {
        let text = line.trim();
        // Other objects of JSON stand in logs, and one that is not closed would take in what follows.
        let is_first = self.0.text().trim_end() == "{";
        let is_own = !is_first || text.starts_with("\"header\"");
        let is_json = text.starts_with(['"', '{', '}', '[', ']']) || text.is_empty();
        if !(is_own && is_json && self.0.add(line)) {
            return Taken::End;
        }
        if self.is_whole() { Taken::Last } else { Taken::Yes }
    }

    fn finish(self) -> Option<Output> {
        let Object { header, metadata, coll_perf } = serde_json::from_str(self.0.text()).ok()?;
        let bandwidth = coll_perf.coll_busbw_gbs;
        if !(bandwidth.is_finite() && bandwidth >= 0.0) {
            return None;
        }
        Some(Output::Inspector(Record {
            communicator: header.id,
            rank: header.rank,
            nranks: header.n_ranks,
            host: metadata.hostname,
            operation: coll_perf.coll,
            sequence: coll_perf.coll_sn,
            bytes: coll_perf.coll_msg_size_bytes,
            time_ns: coll_perf.coll_exec_time_us.saturating_mul(1000),
            bus_bandwidth: (bandwidth * 1e9) as u64,
            is_timed_on_gpu: coll_perf.coll_timing_source.map(|source| source.contains("gpu")),
        }))
    }
}
