//! Common questions about a job, as PromQL over the catalogue's metrics.

/// A question and its query.
#[derive(Debug)]
pub struct Query {
    /// What an operator asks: `How fast are collectives?`.
    pub question: &'static str,
    /// How to read the answer.
    pub reading: &'static str,
    /// The query.
    pub promql: &'static str,
}

/// The queries of the documentation.
pub static ALL: &[Query] = &[
    Query {
        question: "How long does a training step take?",
        reading: "Mean, in seconds.",
        promql: "sum(rate(nccl_training_step_duration_seconds_sum[5m]))\n  \
                 / sum(rate(nccl_training_step_duration_seconds_count[5m]))",
    },
    Query {
        question: "How long do the slowest training steps take?",
        reading: "95th percentile, in seconds.",
        promql: "histogram_quantile(0.95,\n  \
                 sum by (le) (rate(nccl_training_step_duration_seconds_bucket[5m])))",
    },
    Query {
        question: "How much of a training step is communication?",
        reading: "Share, 0 to 1.",
        promql: "sum(rate(nccl_training_step_communication_time_seconds_total[5m]))\n  \
                 / (sum(rate(nccl_training_step_communication_time_seconds_total[5m]))\n     \
                 + sum(rate(nccl_training_step_idle_time_seconds_total[5m])))",
    },
    Query {
        question: "Which rank is late, and why?",
        reading: "Seconds per second that others wait for it; by rank if ranks are exported, otherwise by cause.",
        promql: "topk(5, sum by (nccl_communicator_id, nccl_rank, nccl_straggler_cause) (\n  \
                 rate(nccl_straggler_lag_seconds_sum[5m])))",
    },
    Query {
        question: "What share of packets is CE-marked?",
        reading: "Share by destination port, 0 to 1; ports whose CE marks are not visible are left out.",
        promql: "sum by (rdma_port) (rate(rdma_flow_ecn_total{rdma_ecn=\"ce\"}[5m]))\n  \
                 / sum by (rdma_port) (rate(rdma_flow_ecn_total[5m]))",
    },
    Query {
        question: "Which ports are asked to slow down?",
        reading: "CNPs per second by port.",
        promql: "sum by (rdma_port) (rate(rdma_cnp_packets_total[5m]))",
    },
    Query {
        question: "How much time is paused?",
        reading: "Pause occupancy by station and priority, 0 to 1.",
        promql: "max by (rdma_pfc_station, rdma_priority) (rate(rdma_pfc_paused_time_seconds_total[5m]))",
    },
    Query {
        question: "Who retransmits?",
        reading: "Share of a port's packets that are retransmissions.",
        promql: "sum by (rdma_port) (rate(rdma_flow_retransmits_total[5m]))\n  \
                 / sum by (rdma_port) (rate(rdma_flow_packets_total{network_io_direction=\"transmit\"}[5m]))",
    },
    Query {
        question: "How fast are collectives?",
        reading: "Median bus bandwidth by kind, bytes per second.",
        promql: "histogram_quantile(0.5, sum by (nccl_collective_kind, le) (\n  \
                 rate(nccl_collective_bus_bandwidth_bytes_per_second_bucket[5m])))",
    },
    Query {
        question: "Where does the time of collectives go?",
        reading: "Share by wait, 0 to 1.",
        promql: "sum by (nccl_wait) (rate(nccl_wait_time_seconds_total[5m]))\n  \
                 / ignoring (nccl_wait) group_left() sum(rate(nccl_wait_time_seconds_total[5m]))",
    },
    Query {
        question: "Does a job run over sockets?",
        reading: "Communicators whose data goes over TCP, or over both TCP and RDMA.",
        promql: "sum(nccl_communicators{nccl_transport=~\"socket|mixed\"}) > 0",
    },
    Query {
        question: "Whose queue pairs are at ports that are asked to slow down?",
        reading: "Queue pairs by port, pod and Slurm job, by name where names are known; needs a NIC whose packets are visible.",
        promql: "sum by (rdma_port, k8s_namespace_name, k8s_pod_name, slurm_job_name) (rdma_queue_pairs)\n  \
                 and on (rdma_port) sum by (rdma_port) (rate(rdma_cnp_packets_total[5m])) > 0",
    },
    Query {
        question: "What is wrong?",
        reading: "Current findings by ID; the logs have each with evidence and remedy.",
        promql: "sum by (railscope_finding, railscope_finding_severity) (railscope_finding_active)",
    },
    Query {
        question: "What is not visible?",
        reading: "Sources that see nothing, with the reason; an empty answer means that all sources work.",
        promql: "railscope_source_visible == 0",
    },
];
