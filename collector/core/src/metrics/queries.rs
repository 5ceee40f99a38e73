//! Common questions about a job, as PromQL over the catalogue's metrics.

/// A question and its query.
#[derive(Debug)]
pub struct Query {
    /// The question.
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
        reading: "Seconds, the mean.",
        promql: "sum(rate(nccl_training_step_duration_seconds_sum[5m]))\n  \
                 / sum(rate(nccl_training_step_duration_seconds_count[5m]))",
    },
    Query {
        question: "How long do the slowest training steps take?",
        reading: "Seconds that 95 % of them keep to.",
        promql: "histogram_quantile(0.95,\n  \
                 sum by (le) (rate(nccl_training_step_duration_seconds_bucket[5m])))",
    },
    Query {
        question: "How much of a training step is communication?",
        reading: "A share of 1.",
        promql: "sum(rate(nccl_training_step_communication_time_seconds_total[5m]))\n  \
                 / (sum(rate(nccl_training_step_communication_time_seconds_total[5m]))\n     \
                 + sum(rate(nccl_training_step_idle_time_seconds_total[5m])))",
    },
    Query {
        question: "Which rank is late, and why?",
        reading: "Seconds per second that others wait for it; with ranks turned on by rank, else by cause.",
        promql: "topk(5, sum by (nccl_communicator_id, nccl_rank, nccl_straggler_cause) (\n  \
                 rate(nccl_straggler_lag_seconds_sum[5m])))",
    },
    Query {
        question: "Which share of packets has a CE mark?",
        reading: "By port that they go to, 0 to 1; ports of which CE marks cannot be seen are left out.",
        promql: "sum by (rdma_port) (rate(rdma_flow_ecn_total{rdma_ecn=\"ce\"}[5m]))\n  \
                 / sum by (rdma_port) (rate(rdma_flow_ecn_total[5m]))",
    },
    Query {
        question: "Who is told to slow down?",
        reading: "CNPs per second by port.",
        promql: "sum by (rdma_port) (rate(rdma_cnp_packets_total[5m]))",
    },
    Query {
        question: "How much of the time is paused?",
        reading: "Pause occupancy by station and priority, 0 to 1.",
        promql: "max by (rdma_pfc_station, rdma_priority) (rate(rdma_pfc_paused_time_seconds_total[5m]))",
    },
    Query {
        question: "Who sends again?",
        reading: "Share of the packets of a port that are sent again.",
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
        question: "What does the time of collectives go into?",
        reading: "Share of each wait, 0 to 1.",
        promql: "sum by (nccl_wait) (rate(nccl_wait_time_seconds_total[5m]))\n  \
                 / ignoring (nccl_wait) group_left() sum(rate(nccl_wait_time_seconds_total[5m]))",
    },
    Query {
        question: "Does a job run over sockets?",
        reading: "Communicators whose data goes over TCP, or over both.",
        promql: "sum(nccl_communicators{nccl_transport=~\"socket|mixed\"}) > 0",
    },
    Query {
        question: "What is wrong?",
        reading: "Findings that hold, by name; each is in the logs with its evidence and remedy.",
        promql: "sum by (railscope_finding, railscope_finding_severity) (railscope_finding_active)",
    },
    Query {
        question: "What can nobody see?",
        reading: "Sources without sight, with the reason; an empty answer means that all see.",
        promql: "railscope_source_visible == 0",
    },
];
