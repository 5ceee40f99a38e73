//! All metrics, one static each.
// tidy: table

#![expect(missing_docs, reason = "`about` says what each metric is")]

use super::attribute::{
    ACTIVITY, BUCKET, CALL, CAUSE, CHANNEL, COMMIT, COMMUNICATOR, CONTAINER_NAME, COUNTED, COUNTER,
    COUNTER_PRIORITY, DEVICE, DIRECTION, DRIVER, DSCP, ECN, EXECUTABLE, FIGURE, FINDING, FIRMWARE,
    HEALTH, IP_VERSION, KIND, LINK_LAYER, LOG_OUTCOME, LOST_BY, MEASURE, MODEL, MTU, NAK, OUTCOME,
    PART, PAUSE_SOURCE, PEER, POD, POD_NAME, POD_NAMESPACE, PORT, PRIORITY, RANK, REASON, REFUSAL,
    SAVE_OUTCOME, SEVERITY, SIGNAL, SLURM_JOB, SLURM_JOB_NAME, SOURCE, STATION, TAP, TRANSFER_WAIT,
    TRANSPORT, TRIGGER, VERDICT, VERDICT_ALTERNATIVE, VERDICT_DIRECTION, VERDICT_SEVERITY, VERSION,
    WAIT,
};
use super::metric::Instrument::{Counter, Gauge, Histogram};
use super::metric::{Metric, Unit};

/// Bucket bounds for times, in nanoseconds: 100 us to 10 minutes.
const DURATIONS: &[u64] = &[
    100_000,
    250_000,
    500_000,
    1_000_000,
    2_500_000,
    5_000_000,
    10_000_000,
    25_000_000,
    50_000_000,
    100_000_000,
    250_000_000,
    500_000_000,
    1_000_000_000,
    2_500_000_000,
    5_000_000_000,
    10_000_000_000,
    30_000_000_000,
    60_000_000_000,
    600_000_000_000,
];

/// Bucket bounds for rates, in bytes per second: 10 MB/s, then 10, 25, 50, 100, 200, 400 and 800 Gb/s.
const RATES: &[u64] = &[
    10_000_000,
    100_000_000,
    1_250_000_000,
    3_125_000_000,
    6_250_000_000,
    12_500_000_000,
    25_000_000_000,
    50_000_000_000,
    100_000_000_000,
];

/// Bucket bounds for shares, in billionths: 0, 0.1 % to 100 %.
const SHARES: &[u64] =
    &[0, 1_000_000, 10_000_000, 50_000_000, 100_000_000, 250_000_000, 500_000_000, 1_000_000_000];

pub static TRAINING_STEP_DURATION: Metric = Metric {
    name: "nccl.training_step.duration",
    unit: Unit::Seconds,
    instrument: Histogram(DURATIONS),
    attributes: &[],
    about: "Duration of training steps whose calls were all seen: from a step's first data packet to the next step's; pauses count only where calls alone were recorded",
};

pub static TRAINING_STEP_INCOMPLETE: Metric = Metric {
    name: "nccl.training_step.incomplete",
    unit: Unit::Things("training_step"),
    instrument: Counter,
    attributes: &[],
    about: "Training steps with missing calls: counters include them, histograms do not",
};

pub static TRAINING_STEP_COMMUNICATION_TIME: Metric = Metric {
    name: "nccl.training_step.communication_time",
    unit: Unit::Seconds,
    instrument: Counter,
    attributes: &[],
    about: "Time in training steps with at least one collective in flight",
};

pub static TRAINING_STEP_IDLE_TIME: Metric = Metric {
    name: "nccl.training_step.idle_time",
    unit: Unit::Seconds,
    instrument: Counter,
    attributes: &[],
    about: "Time in training steps with no collective in flight",
};

pub static TRAINING_STEP_COLLECTIVES: Metric = Metric {
    name: "nccl.training_step.collectives",
    unit: Unit::Things("collective"),
    instrument: Counter,
    attributes: &[],
    about: "Collectives in training steps",
};

pub static TRAINING_STEP_IO: Metric = Metric {
    name: "nccl.training_step.io",
    unit: Unit::Bytes,
    instrument: Counter,
    attributes: &[],
    about: "Message bytes of training steps, as sent on the wire",
};

pub static TRAINING_STEP_CE_PACKETS: Metric = Metric {
    name: "nccl.training_step.ce_packets",
    unit: Unit::Things("packet"),
    instrument: Counter,
    attributes: &[],
    about: "CE-marked data packets of training steps",
};

pub static TRAINING_STEP_CE_SHARE: Metric = Metric {
    name: "nccl.training_step.ce_share",
    unit: Unit::Share,
    instrument: Histogram(SHARES),
    attributes: &[],
    about: "Share of a training step's data packets that are CE-marked",
};

pub static TRAINING_STEP_CNPS: Metric = Metric {
    name: "nccl.training_step.cnps",
    unit: Unit::Things("packet"),
    instrument: Counter,
    attributes: &[],
    about: "CNPs during training steps",
};

pub static TRAINING_STEP_PAUSED_TIME: Metric = Metric {
    name: "nccl.training_step.paused_time",
    unit: Unit::Seconds,
    instrument: Counter,
    attributes: &[],
    about: "Time in training steps during which some port was paused",
};

pub static TRAINING_STEP_RETRANSMITS: Metric = Metric {
    name: "nccl.training_step.retransmits",
    unit: Unit::Things("packet"),
    instrument: Counter,
    attributes: &[],
    about: "Packets retransmitted during training steps",
};

pub static TRAINING_STEP_PEAK_RATE: Metric = Metric {
    name: "nccl.training_step.peak_rate",
    unit: Unit::BytesPerSecond,
    instrument: Histogram(RATES),
    attributes: &[],
    about: "Highest payload rate of any port during a training step, averaged over 1 ms",
};

pub static TRAINING_STEP_STRAGGLERS: Metric = Metric {
    name: "nccl.training_step.stragglers",
    unit: Unit::Things("training_step"),
    instrument: Counter,
    attributes: &[&CAUSE, &COMMUNICATOR, &RANK],
    about: "Training steps held up by a rank, by cause; only the worst rank of each step counts",
};

pub static TRAINING_STEP_UNKNOWN: Metric = Metric {
    name: "railscope.training_step.unknown",
    unit: Unit::Things("training_step"),
    instrument: Counter,
    attributes: &[&FIGURE],
    about: "Training steps for which a figure is unknown; the figure's counter leaves them out",
};

pub static COLLECTIVE_DURATION: Metric = Metric {
    name: "nccl.collective.duration",
    unit: Unit::Seconds,
    instrument: Histogram(DURATIONS),
    attributes: &[&KIND],
    about: "Duration of collectives: from first to last data packet",
};

pub static COLLECTIVE_IO: Metric = Metric {
    name: "nccl.collective.io",
    unit: Unit::Bytes,
    instrument: Counter,
    attributes: &[&KIND],
    about: "Bytes of collectives, counted as nccl-tests does",
};

pub static CALL_COUNT: Metric = Metric {
    name: "nccl.call.count",
    unit: Unit::Things("call"),
    instrument: Counter,
    attributes: &[&CALL, &RANK],
    about: "NCCL calls by processes of this host, counted when made: a call enqueues work. The rank is the process's rank in its largest communicator",
};

pub static CALL_IO: Metric = Metric {
    name: "nccl.call.io",
    unit: Unit::Bytes,
    instrument: Counter,
    attributes: &[&CALL, &RANK],
    about: "Bytes that processes of this host asked NCCL to move: element count times element size",
};

pub static COLLECTIVE_BUS_BANDWIDTH: Metric = Metric {
    name: "nccl.collective.bus_bandwidth",
    unit: Unit::BytesPerSecond,
    instrument: Histogram(RATES),
    attributes: &[&KIND],
    about: "Bus bandwidth of collectives, computed as nccl-tests does",
};

pub static STRAGGLER_LAG: Metric = Metric {
    name: "nccl.straggler.lag",
    unit: Unit::Seconds,
    instrument: Histogram(DURATIONS),
    attributes: &[&CAUSE, &COMMUNICATOR, &RANK],
    about: "How long the ranks of a collective waited for the rank that held them up",
};

pub static WAIT_TIME: Metric = Metric {
    name: "nccl.wait.time",
    unit: Unit::Seconds,
    instrument: Counter,
    attributes: &[&WAIT, &COMMUNICATOR, &RANK, &PEER],
    about: "Time that ranks spent in collectives, by kind of wait, measured at each rank's own NIC; `start` and `receiver` from the profiler plugin where no packet shows them. For each rank, only the connection that finished last counts. The peer is the rank that it waited for: the receiver for `receiver` and `recovery`, the sender for `input`",
};

pub static TRANSFER_WAIT_TIME: Metric = Metric {
    name: "nccl.transfer.wait_time",
    unit: Unit::Seconds,
    instrument: Counter,
    attributes: &[&TRANSFER_WAIT, &COMMUNICATOR, &RANK],
    about: "Time that transfers of NCCL's proxies waited, as its profiler plugin recorded it in processes of this host. Several wait at the same time: the sum may grow faster than time passes",
};

pub static OWN_TIME: Metric = Metric {
    name: "nccl.rank.own_time",
    unit: Unit::Seconds,
    instrument: Counter,
    attributes: &[&CAUSE, &COMMUNICATOR, &RANK],
    about: "Time in collectives that a rank itself used, by cause, measured at its own NIC; `enqueue` and `compute` from the profiler plugin where no packet shows them. Every rank has `enqueue`, `compute` and `receiver`: the excess over the median rank is lateness, as the recording rules in dashboards/prometheus compute it",
};

pub static OBSERVED_TIME: Metric = Metric {
    name: "nccl.rank.observed_time",
    unit: Unit::Seconds,
    instrument: Counter,
    attributes: &[&COMMUNICATOR, &RANK],
    about: "Time in which a rank's own times were measured, from collective to collective. Divide own times by it: agents report at different moments",
};

pub static RANK_LAST_ACTIVITY: Metric = Metric {
    name: "nccl.rank.last_activity_timestamp",
    unit: Unit::Seconds,
    instrument: Gauge,
    attributes: &[&ACTIVITY, &COMMUNICATOR, &RANK],
    about: "Unix time at which a rank last sent data, received data or asked for data; only if ranks are exported. A rank that was silent for an hour is left out",
};

pub static SOCKET_IO: Metric = Metric {
    name: "nccl.socket.io",
    unit: Unit::Bytes,
    instrument: Counter,
    attributes: &[&PORT, &DIRECTION],
    about: "Bytes of data that NCCL sends over TCP (NET/Socket) instead of RDMA",
};

pub static COMMUNICATOR_COUNT: Metric = Metric {
    name: "nccl.communicators",
    unit: Unit::Things("communicator"),
    instrument: Gauge,
    attributes: &[&TRANSPORT],
    about: "Known communicators by the transport of their data: `socket` is a fallback",
};

pub static FLOW_IO: Metric = Metric {
    name: "rdma.flow.io",
    unit: Unit::Bytes,
    instrument: Counter,
    attributes: &[&PORT, &DIRECTION, &COMMUNICATOR, &RANK, &PEER, &CHANNEL],
    about: "Bytes of RoCEv2 frames, without FCS",
};

pub static FLOW_PACKETS: Metric = Metric {
    name: "rdma.flow.packets",
    unit: Unit::Things("packet"),
    instrument: Counter,
    attributes: &[&PORT, &DIRECTION, &COMMUNICATOR, &RANK, &PEER, &CHANNEL],
    about: "RoCEv2 packets",
};

pub static FLOW_ECN: Metric = Metric {
    name: "rdma.flow.ecn",
    unit: Unit::Things("packet"),
    instrument: Counter,
    attributes: &[&PORT, &ECN, &COMMUNICATOR, &RANK, &PEER, &CHANNEL],
    about: "RoCEv2 packets to a port by ECN codepoint, only from flows whose CE marks a tap can see",
};

pub static FLOW_RETRANSMITS: Metric = Metric {
    name: "rdma.flow.retransmits",
    unit: Unit::Things("packet"),
    instrument: Counter,
    attributes: &[&PORT, &COMMUNICATOR, &RANK, &PEER, &CHANNEL],
    about: "Packets retransmitted by a port",
};

pub static FLOW_GAPS: Metric = Metric {
    name: "rdma.flow.gaps",
    unit: Unit::Things("packet"),
    instrument: Counter,
    attributes: &[&PORT, &COMMUNICATOR, &RANK, &PEER, &CHANNEL],
    about: "Packets from a port that were missing when later ones passed the tap: lost or out of order, without those that only the capture lost. A lower bound",
};

pub static FLOW_OUT_OF_ORDER: Metric = Metric {
    name: "rdma.flow.out_of_order",
    unit: Unit::Things("packet"),
    instrument: Counter,
    attributes: &[&PORT, &COMMUNICATOR, &RANK, &PEER, &CHANNEL],
    about: "Packets from a port that passed the tap out of order",
};

pub static CNP_PACKETS: Metric = Metric {
    name: "rdma.cnp.packets",
    unit: Unit::Things("packet"),
    instrument: Counter,
    attributes: &[&PORT, &COMMUNICATOR, &RANK, &PEER, &CHANNEL],
    about: "CNPs to a port, which ask it to slow down",
};

pub static NAK_PACKETS: Metric = Metric {
    name: "rdma.nak.packets",
    unit: Unit::Things("packet"),
    instrument: Counter,
    attributes: &[&PORT, &NAK],
    about: "NAKs to a port, by code",
};

pub static RECOVERY_EPISODES: Metric = Metric {
    name: "rdma.recovery.episodes",
    unit: Unit::Things("episode"),
    instrument: Counter,
    attributes: &[&PORT, &TRIGGER],
    about: "Recoveries: times a port went back and retransmitted, by trigger",
};

pub static RECOVERY_TIME: Metric = Metric {
    name: "rdma.recovery.time",
    unit: Unit::Seconds,
    instrument: Counter,
    attributes: &[&PORT, &TRIGGER],
    about: "Time that flows of a port spent in recovery, summed over flows",
};

pub static PORT_LINE_RATE: Metric = Metric {
    name: "rdma.port.line_rate",
    unit: Unit::BytesPerSecond,
    instrument: Gauge,
    attributes: &[&PORT],
    about: "Line rate of a port",
};

pub static PORT_PEAK_RATE: Metric = Metric {
    name: "rdma.port.peak_rate",
    unit: Unit::BytesPerSecond,
    instrument: Gauge,
    attributes: &[&PORT, &DIRECTION, &BUCKET],
    about: "Highest rate of a port in the last two intervals between reports, including FCS, preamble and inter-frame gap",
};

pub static PORT_FAN_IN: Metric = Metric {
    name: "rdma.port.fan_in",
    unit: Unit::Things("flow"),
    instrument: Gauge,
    attributes: &[&PORT],
    about: "Incast: most flows that sent to a port within 100 us, in the last two intervals between reports",
};

pub static PORT_DSCP: Metric = Metric {
    name: "rdma.port.dscp",
    unit: Unit::Things("packet"),
    instrument: Counter,
    attributes: &[&PORT, &DSCP, &IP_VERSION],
    about: "RoCEv2 packets from a port by DSCP and IP version; CNPs usually have a DSCP of their own",
};

pub static PORT_PATH_MTU: Metric = Metric {
    name: "rdma.port.path_mtu",
    unit: Unit::Bytes,
    instrument: Gauge,
    attributes: &[&PORT],
    about: "Smallest path MTU of a port's flows, of those whose messages have several packets",
};

pub static PORT_LAST_DATA: Metric = Metric {
    name: "rdma.port.last_data_timestamp",
    unit: Unit::Seconds,
    instrument: Gauge,
    attributes: &[&PORT, &DIRECTION],
    about: "Unix time of the last packet of a port's flows that carry data",
};

pub static PORT_BURSTS: Metric = Metric {
    name: "rdma.port.bursts",
    unit: Unit::Things("burst"),
    instrument: Counter,
    attributes: &[&PORT, &DIRECTION, &BUCKET],
    about: "Bursts: runs of buckets above half of the line rate",
};

pub static PORT_BURST_TIME: Metric = Metric {
    name: "rdma.port.burst_time",
    unit: Unit::Seconds,
    instrument: Counter,
    attributes: &[&PORT, &DIRECTION, &BUCKET],
    about: "Time in buckets above half of the line rate",
};

pub static PFC_PAUSE_FRAMES: Metric = Metric {
    name: "rdma.pfc.pause_frames",
    unit: Unit::Things("frame"),
    instrument: Counter,
    attributes: &[&STATION, &PRIORITY, &PAUSE_SOURCE],
    about: "Pause frames that request a stop (not those that resume)",
};

pub static PFC_PAUSED_TIME: Metric = Metric {
    name: "rdma.pfc.paused_time",
    unit: Unit::Seconds,
    instrument: Counter,
    attributes: &[&STATION, &PRIORITY, &PAUSE_SOURCE],
    about: "Time for which a station paused the other end of its link; its rate is the pause occupancy, 0 to 1",
};

pub static PFC_STORMS: Metric = Metric {
    name: "rdma.pfc.storms",
    unit: Unit::Things("storm"),
    instrument: Counter,
    attributes: &[&STATION, &PRIORITY, &PAUSE_SOURCE],
    about: "PFC storms: at least 95 % of 100 ms paused; from frames only",
};

pub static NIC_UP: Metric = Metric {
    name: "rdma.nic.up",
    unit: Unit::Things("nic"),
    instrument: Gauge,
    attributes: &[&PORT],
    about: "1 if the NIC's link carries data, otherwise 0",
};

pub static NIC_INFO: Metric = Metric {
    name: "rdma.nic.info",
    unit: Unit::Things("nic"),
    instrument: Gauge,
    attributes: &[&PORT, &DRIVER, &MODEL, &FIRMWARE, &MTU, &LINK_LAYER],
    about: "1 for each NIC: what it is and how it is set up",
};

pub static QUEUE_PAIRS: Metric = Metric {
    name: "rdma.queue_pairs",
    unit: Unit::Things("queue_pair"),
    instrument: Gauge,
    attributes: &[
        &PORT,
        &EXECUTABLE,
        &POD,
        &POD_NAMESPACE,
        &POD_NAME,
        &CONTAINER_NAME,
        &SLURM_JOB,
        &SLURM_JOB_NAME,
    ],
    about: "Queue pairs in the kernel's list by the processes that own them",
};

pub static NIC_PACKETS: Metric = Metric {
    name: "rdma.nic.packets",
    unit: Unit::Things("packet"),
    instrument: Counter,
    attributes: &[&PORT, &COUNTER, &MEASURE, &COUNTED, &COUNTER_PRIORITY],
    about: "NIC counters that count packets",
};

pub static NIC_IO: Metric = Metric {
    name: "rdma.nic.io",
    unit: Unit::Bytes,
    instrument: Counter,
    attributes: &[&PORT, &COUNTER, &MEASURE, &COUNTED, &COUNTER_PRIORITY],
    about: "NIC counters that count bytes",
};

pub static NIC_TIME: Metric = Metric {
    name: "rdma.nic.time",
    unit: Unit::Seconds,
    instrument: Counter,
    attributes: &[&PORT, &COUNTER, &MEASURE, &COUNTED, &COUNTER_PRIORITY],
    about: "NIC counters that count time",
};

pub static NIC_EVENTS: Metric = Metric {
    name: "rdma.nic.events",
    unit: Unit::Things("event"),
    instrument: Counter,
    attributes: &[&PORT, &COUNTER, &MEASURE, &COUNTED, &COUNTER_PRIORITY],
    about: "NIC counters that count other known events",
};

pub static NIC_OTHER: Metric = Metric {
    name: "rdma.nic.other",
    unit: Unit::Things("count"),
    instrument: Counter,
    attributes: &[&PORT, &COUNTER],
    about: "NIC counters with unknown names, values unchanged",
};

pub static VERDICT_ACTIVE: Metric = Metric {
    name: "railscope.verdict.active",
    unit: Unit::Things("verdict"),
    instrument: Gauge,
    attributes: &[&VERDICT, &VERDICT_SEVERITY, &PORT, &VERDICT_DIRECTION, &COMMUNICATOR, &RANK],
    about: "Verdicts in the last report: what is the cause of its findings",
};

pub static VERDICT_COST: Metric = Metric {
    name: "railscope.verdict.cost",
    unit: Unit::Seconds,
    instrument: Gauge,
    attributes: &[&VERDICT, &VERDICT_SEVERITY, &PORT, &VERDICT_DIRECTION, &COMMUNICATOR, &RANK],
    about: "Training time that the cause of a verdict cost within the window of the report",
};

pub static HANG_ACTIVE: Metric = Metric {
    name: "railscope.hang.active",
    unit: Unit::Things("cause"),
    instrument: Gauge,
    attributes: &[&VERDICT, &VERDICT_ALTERNATIVE, &PORT, &VERDICT_DIRECTION, &COMMUNICATOR, &RANK],
    about: "Causes in the last report that stop a job; docs/hangs.md says what would decide between two",
};

pub static FINDING_ACTIVE: Metric = Metric {
    name: "railscope.finding.active",
    unit: Unit::Things("finding"),
    instrument: Gauge,
    attributes: &[&FINDING, &SEVERITY],
    about: "Findings in the last report",
};

pub static FINDING_NOT_CHECKED: Metric = Metric {
    name: "railscope.finding.not_checked",
    unit: Unit::Things("finding"),
    instrument: Gauge,
    attributes: &[&FINDING, &REASON],
    about: "1 if a finding could not be checked, so its absence means nothing",
};

pub static SOURCE_VISIBLE: Metric = Metric {
    name: "railscope.source.visible",
    unit: Unit::Things("source"),
    instrument: Gauge,
    attributes: &[&SOURCE, &DEVICE, &REASON],
    about: "1 if a source sees its data, otherwise 0: then its values are unknown, not 0",
};

pub static TAP_FRAMES: Metric = Metric {
    name: "railscope.tap.frames",
    unit: Unit::Things("frame"),
    instrument: Counter,
    attributes: &[&TAP],
    about: "Frames captured by a tap",
};

pub static TAP_LOST: Metric = Metric {
    name: "railscope.tap.lost",
    unit: Unit::Things("frame"),
    instrument: Counter,
    attributes: &[&TAP],
    about: "Frames that a tap is known to have lost",
};

pub static DECODE_REFUSED: Metric = Metric {
    name: "railscope.decode.refused",
    unit: Unit::Things("frame"),
    instrument: Counter,
    attributes: &[&REFUSAL],
    about: "Headers that could not be decoded, by layer and reason",
};

pub static HEALTH_EVENTS: Metric = Metric {
    name: "railscope.health.events",
    unit: Unit::Things("event"),
    instrument: Gauge,
    attributes: &[&HEALTH],
    about: "What was missed, refused or unknown, as of the last report. It may fall when something unknown becomes known",
};

pub static REPORTS: Metric = Metric {
    name: "railscope.report.count",
    unit: Unit::Things("report"),
    instrument: Counter,
    attributes: &[],
    about: "Reports made. Metrics change with each report; rdma.flow, rdma.cnp and nccl.call also change in between",
};

pub static UPDATES: Metric = Metric {
    name: "railscope.update.count",
    unit: Unit::Things("update"),
    instrument: Counter,
    attributes: &[],
    about: "Updates of flow totals between two reports",
};

pub static CPU_TIME: Metric = Metric {
    name: "railscope.cpu.time",
    unit: Unit::Seconds,
    instrument: Counter,
    attributes: &[&PART],
    about: "CPU time of the agent and of its kernel programs; the latter is sampled and extrapolated",
};

pub static MEMORY_USAGE: Metric = Metric {
    name: "railscope.memory.usage",
    unit: Unit::Bytes,
    instrument: Gauge,
    attributes: &[],
    about: "Private memory of the agent (RssAnon)",
};

pub static BUILD_INFO: Metric = Metric {
    name: "railscope.build.info",
    unit: Unit::Things("agent"),
    instrument: Gauge,
    attributes: &[&VERSION, &COMMIT],
    about: "1 for each agent: what it was built from",
};

pub static EXPORT_ITEMS: Metric = Metric {
    name: "railscope.export.items",
    unit: Unit::Things("item"),
    instrument: Counter,
    attributes: &[&SIGNAL, &OUTCOME],
    about: "Points, spans and log records to export, by outcome",
};

pub static RECORD_FRAMES: Metric = Metric {
    name: "railscope.record.frames",
    unit: Unit::Things("frame"),
    instrument: Counter,
    attributes: &[],
    about: "Frames that the agent recorded into its ring ([record])",
};

pub static RECORD_LOST: Metric = Metric {
    name: "railscope.record.lost",
    unit: Unit::Things("frame"),
    instrument: Counter,
    attributes: &[&LOST_BY],
    about: "Frames that are in no file although they were on the wire",
};

pub static RECORD_CROWDED_OUT: Metric = Metric {
    name: "railscope.record.crowded_out",
    unit: Unit::Things("segment"),
    instrument: Counter,
    attributes: &[],
    about: "Segments removed before they were as old as record.keep, because the ring had record.size",
};

pub static RECORD_RING_SIZE: Metric = Metric {
    name: "railscope.record.ring.size",
    unit: Unit::Bytes,
    instrument: Gauge,
    attributes: &[],
    about: "Bytes of the ring on disk",
};

pub static RECORD_RING_TIME: Metric = Metric {
    name: "railscope.record.ring.time",
    unit: Unit::Seconds,
    instrument: Gauge,
    attributes: &[],
    about: "How far the ring looks back: from its oldest frame to its newest",
};

pub static RECORD_SAVES: Metric = Metric {
    name: "railscope.record.saves",
    unit: Unit::Things("save"),
    instrument: Counter,
    attributes: &[&SAVE_OUTCOME],
    about: "Saves of the ring that triggers or clients asked for, by outcome",
};

pub static LOG_LINES: Metric = Metric {
    name: "railscope.log.lines",
    unit: Unit::Things("line"),
    instrument: Counter,
    attributes: &[&LOG_OUTCOME],
    about: "Lines of the agent's log by what became of them",
};

pub static SERIES_REFUSED: Metric = Metric {
    name: "railscope.series.refused",
    unit: Unit::Things("value"),
    instrument: Counter,
    attributes: &[],
    about: "Values left out because their metric has too many series",
};

/// Metrics under one heading of the documentation.
#[derive(Debug)]
pub struct Group {
    /// Heading of its table in METRICS.md.
    pub heading: &'static str,
    /// The metrics, in the order of the documentation.
    pub metrics: &'static [&'static Metric],
}

/// All metrics by heading.
pub static ALL: &[Group] = &[
    Group {
        heading: "Training steps. Each is counted once, when the next one begins.",
        metrics: &[
            &TRAINING_STEP_DURATION,
            &TRAINING_STEP_INCOMPLETE,
            &TRAINING_STEP_COMMUNICATION_TIME,
            &TRAINING_STEP_IDLE_TIME,
            &TRAINING_STEP_COLLECTIVES,
            &TRAINING_STEP_IO,
            &TRAINING_STEP_CE_PACKETS,
            &TRAINING_STEP_CE_SHARE,
            &TRAINING_STEP_CNPS,
            &TRAINING_STEP_PAUSED_TIME,
            &TRAINING_STEP_RETRANSMITS,
            &TRAINING_STEP_PEAK_RATE,
            &TRAINING_STEP_STRAGGLERS,
            &TRAINING_STEP_UNKNOWN,
        ],
    },
    Group {
        heading: "Collectives. Each is counted once, when the next one of its communicator begins.",
        metrics: &[
            &COLLECTIVE_DURATION,
            &COLLECTIVE_IO,
            &COLLECTIVE_BUS_BANDWIDTH,
            &STRAGGLER_LAG,
            &WAIT_TIME,
            &TRANSFER_WAIT_TIME,
            &OWN_TIME,
            &OBSERVED_TIME,
            &RANK_LAST_ACTIVITY,
            &SOCKET_IO,
            &COMMUNICATOR_COUNT,
            &CALL_COUNT,
            &CALL_IO,
        ],
    },
    Group {
        heading: "RoCEv2 flows. A packet seen by several taps counts once. A flow is exported from the first report that contains it.",
        metrics: &[
            &FLOW_IO,
            &FLOW_PACKETS,
            &FLOW_ECN,
            &FLOW_RETRANSMITS,
            &FLOW_GAPS,
            &FLOW_OUT_OF_ORDER,
            &CNP_PACKETS,
            &NAK_PACKETS,
            &RECOVERY_EPISODES,
            &RECOVERY_TIME,
        ],
    },
    Group {
        heading: "Ports and pause.",
        metrics: &[
            &PORT_LINE_RATE,
            &PORT_PEAK_RATE,
            &PORT_FAN_IN,
            &PORT_DSCP,
            &PORT_PATH_MTU,
            &PORT_LAST_DATA,
            &PORT_BURSTS,
            &PORT_BURST_TIME,
            &PFC_PAUSE_FRAMES,
            &PFC_PAUSED_TIME,
            &PFC_STORMS,
        ],
    },
    Group {
        heading: "NIC counters, by the vendor's names.",
        metrics: &[
            &NIC_UP,
            &NIC_INFO,
            &QUEUE_PAIRS,
            &NIC_PACKETS,
            &NIC_IO,
            &NIC_TIME,
            &NIC_EVENTS,
            &NIC_OTHER,
        ],
    },
    Group {
        heading: "Findings, sources and health.",
        metrics: &[
            &VERDICT_ACTIVE,
            &VERDICT_COST,
            &HANG_ACTIVE,
            &FINDING_ACTIVE,
            &FINDING_NOT_CHECKED,
            &SOURCE_VISIBLE,
            &TAP_FRAMES,
            &TAP_LOST,
            &DECODE_REFUSED,
            &HEALTH_EVENTS,
        ],
    },
    Group {
        heading: "railscope itself.",
        metrics: &[
            &REPORTS,
            &UPDATES,
            &CPU_TIME,
            &MEMORY_USAGE,
            &BUILD_INFO,
            &EXPORT_ITEMS,
            &RECORD_FRAMES,
            &RECORD_LOST,
            &RECORD_CROWDED_OUT,
            &RECORD_RING_SIZE,
            &RECORD_RING_TIME,
            &RECORD_SAVES,
            &LOG_LINES,
            &SERIES_REFUSED,
        ],
    },
];

/// Every metric, in the order of the documentation.
pub fn all() -> impl Iterator<Item = &'static Metric> {
    ALL.iter().flat_map(|group| group.metrics.iter().copied())
}
