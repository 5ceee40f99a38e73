//! Attributes of metrics, each with a bound on its values.
//!
//! QPNs, PSNs, GIDs and process ids are not attributes, since they are unbounded. Reports, spans
//! and logs have them.

#![expect(missing_docs, reason = "`about` says what each attribute is")]

/// An attribute of metrics, and the bound on its values.
#[derive(Debug, PartialEq, Eq)]
pub struct Attribute {
    /// Its name in OpenTelemetry; Prometheus writes dots as underscores.
    pub name: &'static str,
    /// Its description, for the documentation.
    pub about: &'static str,
    /// Most values at a time on one host.
    pub values: u32,
    /// Only exported if the settings turn it on.
    pub is_optional: bool,
}

const fn required(name: &'static str, values: u32, about: &'static str) -> Attribute {
    Attribute { name, about, values, is_optional: false }
}

const fn optional(name: &'static str, values: u32, about: &'static str) -> Attribute {
    Attribute { name, about, values, is_optional: true }
}

pub static PORT: Attribute = required(
    "rdma.port",
    256,
    "the port: `host/device` if both are known, otherwise its address; for NIC counters without an \
     address, the parts that are known",
);
pub static DIRECTION: Attribute =
    required("network.io.direction", 2, "`transmit` or `receive`, from the port's view");
pub static ECN: Attribute = required("rdma.ecn", 4, "`not_ect`, `ect0`, `ect1` or `ce`");
pub static DSCP: Attribute =
    required("rdma.dscp", 64, "differentiated services codepoint, 0 to 63");
pub static IP_VERSION: Attribute =
    required("network.type", 2, "`ipv4` or `ipv6`: of the GIDs that the flow uses");
pub static NAK: Attribute = required(
    "rdma.nak",
    7,
    "`psn_sequence_error`, `invalid_request`, `remote_access_error`, `remote_operational_error`, \
     `invalid_rd_request`, `reserved` or `rnr`",
);
pub static TRIGGER: Attribute =
    required("rdma.recovery.trigger", 4, "`nak`, `rnr`, `timeout` or `unknown`");
pub static STATION: Attribute = required(
    "rdma.pfc.station",
    128,
    "who asked for the pause: source MAC address of the frames, or the NIC whose counters show it; \
     `switch of` the NIC if the NIC was paused",
);
pub static PRIORITY: Attribute = required(
    "rdma.priority",
    9,
    "priority 0 to 7; `all` for 802.3x pause and for figures without priority",
);
pub static PAUSE_SOURCE: Attribute =
    required("rdma.pfc.source", 2, "`frames` or `counters`: where the figure is from");
pub static BUCKET: Attribute =
    required("rdma.bucket", 2, "averaging interval of the rate: `100us` or `1ms`");
pub static COUNTER: Attribute =
    required("rdma.nic.counter", 32, "the vendor's name of the counter");
pub static MEASURE: Attribute =
    required("rdma.nic.measure", 1, "vendor-neutral name of what it counts; one per counter");
pub static COUNTED: Attribute = required(
    "rdma.nic.counted",
    1,
    "`true` if the counter adds to the total of its measure; `false` if another counter already \
     counts the same",
);
pub static COUNTER_PRIORITY: Attribute = required(
    "rdma.priority",
    1,
    "of a NIC counter: priority 0 to 7, or `all` if it has none; one per counter",
);
pub static DRIVER: Attribute =
    required("rdma.nic.driver", 1, "kernel driver, such as `mlx5_core`; one per port");
pub static MODEL: Attribute =
    required("rdma.nic.model", 1, "hardware as the driver names it (`hca_type`); one per port");
pub static FIRMWARE: Attribute = required("rdma.nic.firmware", 1, "its version; one per port");
pub static MTU: Attribute =
    required("rdma.nic.mtu", 1, "MTU of the network interface in bytes; one per port");
pub static LINK_LAYER: Attribute =
    required("rdma.nic.link_layer", 1, "`Ethernet` or `InfiniBand`; one per port");
pub static EXECUTABLE: Attribute =
    required("process.executable.name", 64, "name of the processes, as the kernel has it");
pub static POD: Attribute =
    required("k8s.pod.uid", 1, "UID of their Kubernetes pod, if any; one per name");
pub static POD_NAMESPACE: Attribute =
    required("k8s.namespace.name", 1, "namespace of that pod, if it is known; one per pod");
pub static POD_NAME: Attribute =
    required("k8s.pod.name", 1, "name of that pod, if it is known; one per pod");
pub static CONTAINER_NAME: Attribute =
    required("k8s.container.name", 1, "name of the container in it, if it is known; one per name");
pub static SLURM_JOB: Attribute =
    required("slurm.job.id", 1, "their Slurm job, if any; one per name");
pub static SLURM_JOB_NAME: Attribute =
    required("slurm.job.name", 1, "name of that job, if it is known; one per job");
pub static KIND: Attribute = required(
    "nccl.collective.kind",
    8,
    "`all_reduce`, `all_gather`, `reduce_scatter`, `broadcast`, `reduce`, `all_to_all`, `send_recv` or \
     `unknown`",
);
pub static CALL: Attribute = required(
    "nccl.call",
    10,
    "NCCL function: `all_reduce`, `reduce_scatter`, `all_gather`, `all_to_all`, `broadcast`, `reduce`, \
     `gather`, `scatter`, `send` or `receive`",
);
pub static CAUSE: Attribute = required(
    "nccl.straggler.cause",
    9,
    "`enqueue` (its CPU), `compute` (its GPU), `sender` (either), `receiver`, `congestion`, `loss`, \
     `pause` or `unknown`; `socket` is reserved and not exported yet",
);
pub static WAIT: Attribute = required(
    "nccl.wait",
    7,
    "`start`, `sender`, `receiver`, `input`, `transfer`, `recovery` or `pause`, as defined by the report",
);
pub static TRANSFER_WAIT: Attribute = required(
    "nccl.transfer.wait",
    6,
    "`send_gpu`, `peer`, `send`, `recv`, `flush` or `recv_gpu`, as docs/PROFILER.md explains them",
);
pub static ACTIVITY: Attribute = required(
    "nccl.activity",
    3,
    "`data_sent`, `data_received`, or `clear_to_send_sent`: the rank asked for data",
);
pub static TRANSPORT: Attribute =
    required("nccl.transport", 4, "`ib`, `socket`, `mixed` or `unknown`");
pub static COMMUNICATOR: Attribute =
    optional("nccl.communicator.id", 64, "hash of the communicator; exported with ranks");
pub static RANK: Attribute =
    optional("nccl.rank", 1024, "rank in the communicator; exported with ranks");
pub static PEER: Attribute =
    optional("nccl.peer", 1024, "the rank at the other end; exported only with labels.peer");
pub static CHANNEL: Attribute =
    optional("nccl.channel", 64, "NCCL's channel; exported only with labels.channel");
pub static FINDING: Attribute =
    required("railscope.finding", 64, "ID of the finding, as in docs/FINDINGS.md");
pub static SEVERITY: Attribute =
    required("railscope.finding.severity", 3, "`info`, `warning` or `critical`");
pub static VERDICT: Attribute = required(
    "railscope.verdict",
    16,
    "ID of the verdict: a class such as `late_rank`, `loss` or `path_dead`, or the ID of a finding",
);
pub static VERDICT_SEVERITY: Attribute =
    required("railscope.verdict.severity", 2, "`warning` or `critical`");
pub static VERDICT_DIRECTION: Attribute = required(
    "railscope.verdict.direction",
    3,
    "packets `towards` the port, `from` it, or `both`; absent if it has none",
);
pub static VERDICT_ALTERNATIVE: Attribute = required(
    "railscope.verdict.alternative",
    5,
    "another class that the evidence leaves; absent if it leaves none",
);
pub static REASON: Attribute =
    required("railscope.reason", 2, "reason as text; empty if there is no problem");
pub static SOURCE: Attribute = required(
    "railscope.source",
    16,
    "source of data: `ebpf`, `af_packet`, `capture`, `counters`, `calls`, `connections`, `nccl_log` and \
     others",
);
pub static DEVICE: Attribute =
    required("railscope.device", 64, "interface, device or file that the source reads");
pub static TAP: Attribute =
    required("railscope.tap", 64, "interface, preceded by the file, if any");
pub static HEALTH: Attribute = required(
    "railscope.health",
    192,
    "name of the counter, as in the report's `health`; docs/HEALTH.md explains each",
);
pub static REFUSAL: Attribute =
    required("error.type", 128, "layer and reason, as in the report's `capture.refused`");
pub static FIGURE: Attribute = required(
    "railscope.figure",
    6,
    "`bytes`, `ce_packets`, `cnps`, `paused`, `peak_rate` or `retransmits`",
);
pub static SIGNAL: Attribute = required("railscope.signal", 3, "`metrics`, `traces` or `logs`");
pub static OUTCOME: Attribute = required(
    "railscope.outcome",
    4,
    "`sent`, `rejected` (by the receiver), `dropped` (the queue was full) or `failed` (not \
     retried)",
);
pub static LOST_BY: Attribute =
    required("railscope.lost_by", 2, "`kernel` (its ring was full) or `disk` (too slow, or full)");
pub static SAVE_OUTCOME: Attribute = required(
    "railscope.save.outcome",
    3,
    "`saved`, `failed` (an error) or `refused` (by record.files, or too soon after another)",
);
pub static LOG_OUTCOME: Attribute = required(
    "railscope.log.outcome",
    3,
    "`written`, `held_back` (too many of their kind at once) or `lost` (standard error took none)",
);
pub static PART: Attribute =
    required("railscope.part", 32, "`agent`, or the name of a kernel program");
pub static VERSION: Attribute = required("railscope.version", 1, "version of the agent");
pub static COMMIT: Attribute = required(
    "railscope.commit",
    1,
    "commit that it was built from, if RAILSCOPE_COMMIT was set for the build",
);

/// Every attribute, for the documentation.
pub static ALL: &[&Attribute] = &[
    &PORT,
    &DIRECTION,
    &ECN,
    &DSCP,
    &IP_VERSION,
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
    &DRIVER,
    &MODEL,
    &FIRMWARE,
    &MTU,
    &LINK_LAYER,
    &EXECUTABLE,
    &POD,
    &POD_NAMESPACE,
    &POD_NAME,
    &CONTAINER_NAME,
    &SLURM_JOB,
    &SLURM_JOB_NAME,
    &KIND,
    &CALL,
    &CAUSE,
    &WAIT,
    &TRANSFER_WAIT,
    &ACTIVITY,
    &TRANSPORT,
    &COMMUNICATOR,
    &RANK,
    &PEER,
    &CHANNEL,
    &FINDING,
    &SEVERITY,
    &VERDICT,
    &VERDICT_SEVERITY,
    &VERDICT_DIRECTION,
    &VERDICT_ALTERNATIVE,
    &REASON,
    &SOURCE,
    &DEVICE,
    &TAP,
    &HEALTH,
    &REFUSAL,
    &FIGURE,
    &SIGNAL,
    &OUTCOME,
    &LOST_BY,
    &SAVE_OUTCOME,
    &LOG_OUTCOME,
    &PART,
    &VERSION,
    &COMMIT,
];
