//! A report, read back from JSON: the keys that are compared. Keys may be missing, as in reports of
//! earlier releases, and there may be others.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::IgnoredAny;

/// The contract of the reports that can be compared.
pub const CONTRACT: &str = "railscope.report/1";

/// A report.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Document {
    schema: String,
    pub(super) tool: Tool,
    pub(super) capture: Capture,
    pub(super) taps: Vec<IgnoredAny>,
    pub(super) ports: Vec<Port>,
    pub(super) flows: Vec<Flow>,
    pub(super) queue_pairs: Vec<QueuePair>,
    pub(super) pfc: Vec<Pause>,
    pub(super) communicators: Vec<Communicator>,
    pub(super) collectives: Vec<Collective>,
    pub(super) iterations: Vec<Iteration>,
    pub(super) counters: Vec<Counters>,
    pub(super) logs: Logs,
    pub(super) verdicts: Vec<Verdict>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Tool {
    pub(super) version: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Capture {
    origin_ns: String,
    pub(super) duration_ns: u64,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Port {
    pub(super) line_rate_bps: Option<u64>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Flow {
    pub(super) transport: String,
    pub(super) dscp: BTreeMap<String, u64>,
    pub(super) udp_src_ports: BTreeMap<String, u64>,
    pub(super) src: String,
    pub(super) dst: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct QueuePair {
    pub(super) src: String,
    pub(super) dst: String,
    pub(super) frames: u64,
    pub(super) role: Option<String>,
    pub(super) retransmitted_packets: u64,
    pub(super) missing_packets: u64,
    pub(super) out_of_order_packets: u64,
    pub(super) rnr_naks: u64,
    pub(super) ce_packets: Option<u64>,
    pub(super) ce_among_packets: u64,
    pub(super) cnps: u64,
    pub(super) ack_rtt_p50_ns: Option<u64>,
    pub(super) path_mtu_bytes: Option<u64>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Pause {
    pub(super) paused_ns: Option<u64>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Communicator {
    pub(super) id: String,
    pub(super) nranks: Option<u64>,
    pub(super) nccl_version: Option<String>,
    pub(super) transport: String,
    pub(super) channels: Vec<IgnoredAny>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Collective {
    pub(super) id: Option<u32>,
    pub(super) communicator: String,
    pub(super) kind: String,
    pub(super) algorithm: String,
    pub(super) protocol: String,
    pub(super) bytes: Option<u64>,
    pub(super) start_ns: i64,
    pub(super) end_ns: i64,
    pub(super) unfinished: bool,
    pub(super) ranks: Vec<RankWaits>,
    pub(super) straggler: Option<Straggler>,
}

/// Where the time of a rank went in a collective, by key of the report.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct RankWaits {
    pub(super) start_wait_ns: Option<u64>,
    pub(super) sender_wait_ns: Option<u64>,
    pub(super) receiver_wait_ns: Option<u64>,
    pub(super) input_wait_ns: Option<u64>,
    pub(super) transfer_ns: Option<u64>,
    pub(super) recovery_ns: Option<u64>,
    pub(super) paused_ns: Option<u64>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Straggler {
    pub(super) cause: String,
    pub(super) lag_ns: u64,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Iteration {
    pub(super) iteration: u32,
    pub(super) communicator: Option<String>,
    pub(super) complete: Option<bool>,
    pub(super) sets_up: bool,
    pub(super) start_ns: i64,
    pub(super) end_ns: i64,
    pub(super) communication_ns: Option<u64>,
    pub(super) idle_ns: Option<u64>,
    pub(super) collectives: u64,
    pub(super) collective_ids: Vec<u32>,
    pub(super) bytes: Option<u64>,
    pub(super) ce_share: Option<f64>,
    pub(super) cnps: Option<u64>,
    pub(super) paused_ns: Option<u64>,
    pub(super) retransmitted_packets: Option<u64>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Counters {
    pub(super) driver: Option<String>,
    pub(super) rate_bps: Option<u64>,
    pub(super) first_ns: i64,
    pub(super) last_ns: i64,
    pub(super) counters: BTreeMap<String, CounterValue>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct CounterValue {
    pub(super) measure: Option<String>,
    pub(super) unit: Option<String>,
    pub(super) is_counted: bool,
    pub(super) delta: u64,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Logs {
    pub(super) processes: Vec<Process>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Process {
    pub(super) nccl_version: Option<String>,
    pub(super) network: Option<String>,
    pub(super) ofi: Option<Ofi>,
    pub(super) environment: BTreeMap<String, String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Ofi {
    pub(super) version: Option<String>,
    pub(super) libfabric_version: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Verdict {
    pub(super) id: String,
    pub(super) title: String,
    pub(super) severity: String,
    pub(super) subject: Option<Subject>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(super) struct Subject {
    pub(super) host: Option<String>,
    pub(super) port: Option<String>,
    pub(super) peer_port: Option<String>,
    pub(super) rank: Option<u32>,
}

/// Why a text is no report that can be compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotAReport {
    /// It is no JSON, or a key has a value of another kind; in the words of the parser.
    Json(String),
    /// It has another contract; its name, empty if it has none.
    Contract(String),
}

impl Document {
    /// Reads a report.
    ///
    /// # Errors
    ///
    /// When the text is not a `railscope.report/1`.
    pub fn parse(text: &[u8]) -> Result<Self, NotAReport> {
        let document: Self =
            serde_json::from_slice(text).map_err(|error| NotAReport::Json(error.to_string()))?;
        if document.schema == CONTRACT {
            Ok(document)
        } else {
            Err(NotAReport::Contract(document.schema))
        }
    }

    /// Time of the first frame, nanoseconds since 1970; `None` if it is not known.
    #[must_use]
    pub fn origin_ns(&self) -> Option<u64> {
        self.capture.origin_ns.parse().ok().filter(|origin| *origin > 0)
    }

    /// Nanoseconds from the first frame to the last.
    #[must_use]
    pub const fn duration_ns(&self) -> u64 {
        self.capture.duration_ns
    }
}
