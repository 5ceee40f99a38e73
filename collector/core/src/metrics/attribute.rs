//! What tells the series of a metric apart, and how many values each attribute has at most.
//!
//! QPNs, PSNs, GIDs and process ids are no attributes: they have no bound. They are in reports,
//! spans and logs.

/// An attribute.
#[derive(Debug, PartialEq, Eq)]
pub struct Attribute {
    /// Its name in OpenTelemetry; Prometheus writes dots as underscores.
    pub name: &'static str,
    /// What it says.
    pub about: &'static str,
    /// Values at most, beside each other on one host.
    pub values: u32,
    /// Only told where the settings turn it on.
    pub is_optional: bool,
}

const fn required(name: &'static str, values: u32, about: &'static str) -> Attribute {
    Attribute { name, about, values, is_optional: false }
}

const fn optional(name: &'static str, values: u32, about: &'static str) -> Attribute {
    Attribute { name, about, values, is_optional: true }
}

/// A port.
pub static PORT: Attribute = required(
    "rdma.port",
    256,
    "the port: `host/device` where both are known, else its address; of a NIC's counters without an \
     address, as much as is known",
);
/// A direction.
pub static DIRECTION: Attribute =
    required("network.io.direction", 2, "`transmit` or `receive`, as the port sees it");
/// An ECN codepoint.
pub static ECN: Attribute = required("rdma.ecn", 4, "`not_ect`, `ect0`, `ect1` or `ce`");
/// A kind of NAK.
pub static NAK: Attribute = required(
    "rdma.nak",
    7,
    "`psn_sequence_error`, `invalid_request`, `remote_access_error`, `remote_operational_error`, \
     `invalid_rd_request`, `reserved` or `rnr`",
);
/// What a recovery began with.
pub static TRIGGER: Attribute =
    required("rdma.recovery.trigger", 4, "`nak`, `rnr`, `timeout` or `unknown`");
/// Who asks for pause.
pub static STATION: Attribute = required(
    "rdma.pfc.station",
    128,
    "who cannot take more: the MAC address of its frames, or the NIC whose counters tell, `switch of` \
     it where the NIC was told to stop",
);
/// A priority.
pub static PRIORITY: Attribute = required(
    "rdma.priority",
    9,
    "priority 0 to 7, `all` for 802.3x pause and what is not by priority",
);
/// How a pause is known.
pub static PAUSE_SOURCE: Attribute =
    required("rdma.pfc.source", 2, "`frames` or `counters`: what tells of it");
/// Width of the buckets of bursts.
pub static BUCKET: Attribute =
    required("rdma.bucket", 2, "what rates are averaged over: `100us` or `1ms`");
/// A vendor's counter.
pub static COUNTER: Attribute =
    required("rdma.nic.counter", 32, "the vendor's own name of the counter");
/// What a counter counts.
pub static MEASURE: Attribute =
    required("rdma.nic.measure", 1, "what it counts in words of no vendor; one for each counter");
/// Whether a counter is part of its measure.
pub static COUNTED: Attribute = required(
    "rdma.nic.counted",
    1,
    "`true` where the counter is part of its measure, so that these add up; `false` where another one \
     counts the same",
);
/// The priority of a NIC's counter, which its name has as well.
pub static COUNTER_PRIORITY: Attribute = required(
    "rdma.priority",
    1,
    "of a NIC's counter: priority 0 to 7, `all` where it is not by priority; one for each counter",
);
/// A collective's kind.
pub static KIND: Attribute = required(
    "nccl.collective.kind",
    8,
    "`all_reduce`, `all_gather`, `reduce_scatter`, `broadcast`, `reduce`, `all_to_all`, `send_recv` or \
     `unknown`",
);
/// A function of NCCL that moves data.
pub static CALL: Attribute = required(
    "nccl.call",
    10,
    "function of NCCL: `all_reduce`, `reduce_scatter`, `all_gather`, `all_to_all`, `broadcast`, `reduce`, \
     `gather`, `scatter`, `send` or `receive`",
);
/// Why a rank is late.
pub static CAUSE: Attribute = required(
    "nccl.straggler.cause",
    9,
    "`enqueue` (its CPU), `compute` (its GPU), `sender` (either), `receiver`, `congestion`, `loss`, \
     `pause`, `socket` or `unknown`",
);
/// What a connection waited for.
pub static WAIT: Attribute = required(
    "nccl.wait",
    6,
    "`start`, `sender`, `receiver`, `input`, `transfer` or `recovery`: the report defines them",
);
/// What carries a communicator's data.
pub static TRANSPORT: Attribute =
    required("nccl.transport", 4, "`ib`, `socket`, `mixed` or `unknown`");
/// A communicator.
pub static COMMUNICATOR: Attribute =
    optional("nccl.communicator.id", 64, "hash of the communicator; with ranks turned on");
/// A rank.
pub static RANK: Attribute =
    optional("nccl.rank", 1024, "rank in the communicator; with ranks turned on");
/// The rank at the other end.
pub static PEER: Attribute =
    optional("nccl.peer", 1024, "the rank at the other end; turned on apart");
/// A channel.
pub static CHANNEL: Attribute = optional("nccl.channel", 64, "NCCL's channel; turned on apart");
/// A finding.
pub static FINDING: Attribute =
    required("railscope.finding", 64, "its name, as in docs/FINDINGS.md");
/// How bad a finding is.
pub static SEVERITY: Attribute =
    required("railscope.finding.severity", 3, "`info`, `warning` or `critical`");
/// Why something cannot be seen.
pub static REASON: Attribute =
    required("railscope.reason", 2, "why not, in words; empty where it can");
/// A source.
pub static SOURCE: Attribute = required(
    "railscope.source",
    16,
    "what delivers: `ebpf`, `af_packet`, `capture`, `counters`, `calls`, `connections`, `nccl_log` and the \
     like",
);
/// A device that a source reads.
pub static DEVICE: Attribute =
    required("railscope.device", 64, "interface, device or file that it reads");
/// A tap.
pub static TAP: Attribute =
    required("railscope.tap", 64, "interface, with the file before it, if any");
/// A counter of what was missed.
pub static HEALTH: Attribute = required(
    "railscope.health",
    128,
    "name of the counter, as in the report's `health`; docs/HEALTH.md explains each",
);
/// Why a layer was not read.
pub static REFUSAL: Attribute =
    required("error.type", 128, "layer and reason, as in the report's `capture.refused`");
/// A figure of a training step.
pub static FIGURE: Attribute = required(
    "railscope.figure",
    6,
    "`bytes`, `ce_packets`, `cnps`, `paused`, `peak_rate` or `retransmits`",
);
/// What is exported.
pub static SIGNAL: Attribute = required("railscope.signal", 3, "`metrics`, `traces` or `logs`");
/// What became of it.
pub static OUTCOME: Attribute = required(
    "railscope.outcome",
    4,
    "`sent`, `rejected` (by the receiver), `dropped` (the queue was full) or `failed` (not to be sent \
     again)",
);
/// What takes CPU time.
pub static PART: Attribute =
    required("railscope.part", 32, "`agent`, or the name of a program in the kernel");

/// All of them, for the documentation.
pub static ALL: &[&Attribute] = &[
    &PORT,
    &DIRECTION,
    &ECN,
    &NAK,
    &TRIGGER,
    &STATION,
    &PRIORITY,
    &PAUSE_SOURCE,
    &BUCKET,
    &COUNTER,
    &MEASURE,
    &COUNTED,
    &COUNTER_PRIORITY,
    &KIND,
    &CALL,
    &CAUSE,
    &WAIT,
    &TRANSPORT,
    &COMMUNICATOR,
    &RANK,
    &PEER,
    &CHANNEL,
    &FINDING,
    &SEVERITY,
    &REASON,
    &SOURCE,
    &DEVICE,
    &TAP,
    &HEALTH,
    &REFUSAL,
    &FIGURE,
    &SIGNAL,
    &OUTCOME,
    &PART,
];
