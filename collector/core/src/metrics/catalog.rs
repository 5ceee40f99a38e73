//! All metrics, one static each; `about` says what a metric is.
// tidy: table

#![expect(missing_docs, reason = "`about` says what each metric is")]

use super::attribute::{
    BUCKET, CALL, CAUSE, CHANNEL, COMMUNICATOR, COUNTED, COUNTER, COUNTER_PRIORITY, DEVICE,
    DIRECTION, ECN, FIGURE, FINDING, HEALTH, KIND, MEASURE, NAK, OUTCOME, PART, PAUSE_SOURCE, PEER,
    PORT, PRIORITY, RANK, REASON, REFUSAL, SEVERITY, SIGNAL, SOURCE, STATION, TAP, TRANSPORT,
    TRIGGER, WAIT,
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
    about: "How long training steps took, of which all calls were seen: from the first data packet to the first of the next",
};

pub static TRAINING_STEP_INCOMPLETE: Metric = Metric {
    name: "nccl.training_step.incomplete",
    unit: Unit::Things("training_step"),
    instrument: Counter,
    attributes: &[],
    about: "Training steps of which calls are missing: they are in all counters here, and in no histogram",
};

pub static TRAINING_STEP_COMMUNICATION_TIME: Metric = Metric {
    name: "nccl.training_step.communication_time",
    unit: Unit::Seconds,
    instrument: Counter,
    attributes: &[],
    about: "Time of training steps with a collective in flight",
};

pub static TRAINING_STEP_IDLE_TIME: Metric = Metric {
    name: "nccl.training_step.idle_time",
    unit: Unit::Seconds,
    instrument: Counter,
    attributes: &[],
    about: "Time of training steps without a collective in flight",
};

pub static TRAINING_STEP_COLLECTIVES: Metric = Metric {
    name: "nccl.training_step.collectives",
    unit: Unit::Things("collective"),
    instrument: Counter,
    attributes: &[],
    about: "Collectives of training steps",
};

pub static TRAINING_STEP_IO: Metric = Metric {
    name: "nccl.training_step.io",
    unit: Unit::Bytes,
    instrument: Counter,
    attributes: &[],
    about: "Bytes of messages of training steps, as they are on the wire",
};

pub static TRAINING_STEP_CE_PACKETS: Metric = Metric {
    name: "nccl.training_step.ce_packets",
    unit: Unit::Things("packet"),
    instrument: Counter,
    attributes: &[],
    about: "Data packets of training steps with a CE mark",
};

pub static TRAINING_STEP_CE_SHARE: Metric = Metric {
    name: "nccl.training_step.ce_share",
    unit: Unit::Share,
    instrument: Histogram(SHARES),
    attributes: &[],
    about: "Share of the data packets of a training step that have a CE mark",
};

pub static TRAINING_STEP_CNPS: Metric = Metric {
    name: "nccl.training_step.cnps",
    unit: Unit::Things("packet"),
    instrument: Counter,
    attributes: &[],
    about: "CNPs in the spans of training steps",
};

pub static TRAINING_STEP_PAUSED_TIME: Metric = Metric {
    name: "nccl.training_step.paused_time",
    unit: Unit::Seconds,
    instrument: Counter,
    attributes: &[],
    about: "Time of training steps in which some port was told to pause",
};

pub static TRAINING_STEP_RETRANSMITS: Metric = Metric {
    name: "nccl.training_step.retransmits",
    unit: Unit::Things("packet"),
    instrument: Counter,
    attributes: &[],
    about: "Packets sent again in the spans of training steps",
};

pub static TRAINING_STEP_PEAK_RATE: Metric = Metric {
    name: "nccl.training_step.peak_rate",
    unit: Unit::BytesPerSecond,
    instrument: Histogram(RATES),
    attributes: &[],
    about: "The most payload of a training step that a port sent or received in a millisecond, as a rate",
};

pub static TRAINING_STEP_STRAGGLERS: Metric = Metric {
    name: "nccl.training_step.stragglers",
    unit: Unit::Things("training_step"),
    instrument: Counter,
    attributes: &[&CAUSE, &COMMUNICATOR, &RANK],
    about: "Training steps that a rank held up, by why; the worst rank of each",
};

pub static TRAINING_STEP_UNKNOWN: Metric = Metric {
    name: "railscope.training_step.unknown",
    unit: Unit::Things("training_step"),
    instrument: Counter,
    attributes: &[&FIGURE],
    about: "Training steps of which a figure is not known, so that it is in no counter",
};

pub static COLLECTIVE_DURATION: Metric = Metric {
    name: "nccl.collective.duration",
    unit: Unit::Seconds,
    instrument: Histogram(DURATIONS),
    attributes: &[&KIND],
    about: "How long collectives took: from the first data packet to the last",
};

pub static COLLECTIVE_IO: Metric = Metric {
    name: "nccl.collective.io",
    unit: Unit::Bytes,
    instrument: Counter,
    attributes: &[&KIND],
    about: "Bytes of collectives, as nccl-tests counts them",
};

pub static CALL_COUNT: Metric = Metric {
    name: "nccl.call.count",
    unit: Unit::Things("call"),
    instrument: Counter,
    attributes: &[&CALL, &RANK],
    about: "Calls of NCCL by processes of this host, when they are made: they enqueue work. The rank is the process's in the greatest of its communicators",
};

pub static CALL_IO: Metric = Metric {
    name: "nccl.call.io",
    unit: Unit::Bytes,
    instrument: Counter,
    attributes: &[&CALL, &RANK],
    about: "Bytes that calls of NCCL by processes of this host ask to be moved: elements of the call times their size",
};

pub static COLLECTIVE_BUS_BANDWIDTH: Metric = Metric {
    name: "nccl.collective.bus_bandwidth",
    unit: Unit::BytesPerSecond,
    instrument: Histogram(RATES),
    attributes: &[&KIND],
    about: "Bus bandwidth of collectives, as nccl-tests computes it",
};

pub static STRAGGLER_LAG: Metric = Metric {
    name: "nccl.straggler.lag",
    unit: Unit::Seconds,
    instrument: Histogram(DURATIONS),
    attributes: &[&CAUSE, &COMMUNICATOR, &RANK],
    about: "How long the ranks of a collective waited for the one that held them up",
};

pub static WAIT_TIME: Metric = Metric {
    name: "nccl.wait.time",
    unit: Unit::Seconds,
    instrument: Counter,
    attributes: &[&WAIT, &COMMUNICATOR, &RANK],
    about: "Where the time of collectives went, summed over ranks: of each its connection that ended last",
};

pub static COMMUNICATOR_COUNT: Metric = Metric {
    name: "nccl.communicators",
    unit: Unit::Things("communicator"),
    instrument: Gauge,
    attributes: &[&TRANSPORT],
    about: "Communicators that are known, by what carries their data: `socket` is a fallback",
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
    about: "RoCEv2 packets towards a port by ECN codepoint, of flows whose CE marks could be seen",
};

pub static FLOW_RETRANSMITS: Metric = Metric {
    name: "rdma.flow.retransmits",
    unit: Unit::Things("packet"),
    instrument: Counter,
    attributes: &[&PORT, &COMMUNICATOR, &RANK, &PEER, &CHANNEL],
    about: "Packets that a port sent again",
};

pub static FLOW_GAPS: Metric = Metric {
    name: "rdma.flow.gaps",
    unit: Unit::Things("packet"),
    instrument: Counter,
    attributes: &[&PORT, &COMMUNICATOR, &RANK, &PEER, &CHANNEL],
    about: "Packets of a port that were missing when later ones passed: at least so many were lost, or overtaken, before the tap",
};

pub static FLOW_OUT_OF_ORDER: Metric = Metric {
    name: "rdma.flow.out_of_order",
    unit: Unit::Things("packet"),
    instrument: Counter,
    attributes: &[&PORT, &COMMUNICATOR, &RANK, &PEER, &CHANNEL],
    about: "Packets of a port that later ones overtook",
};

pub static CNP_PACKETS: Metric = Metric {
    name: "rdma.cnp.packets",
    unit: Unit::Things("packet"),
    instrument: Counter,
    attributes: &[&PORT, &COMMUNICATOR, &RANK, &PEER, &CHANNEL],
    about: "CNPs towards a port: it is told to send more slowly",
};

pub static NAK_PACKETS: Metric = Metric {
    name: "rdma.nak.packets",
    unit: Unit::Things("packet"),
    instrument: Counter,
    attributes: &[&PORT, &NAK],
    about: "NAKs towards a port, by their code",
};

pub static RECOVERY_EPISODES: Metric = Metric {
    name: "rdma.recovery.episodes",
    unit: Unit::Things("episode"),
    instrument: Counter,
    attributes: &[&PORT, &TRIGGER],
    about: "Times that a port went back to send again",
};

pub static RECOVERY_TIME: Metric = Metric {
    name: "rdma.recovery.time",
    unit: Unit::Seconds,
    instrument: Counter,
    attributes: &[&PORT, &TRIGGER],
    about: "Time that flows of a port were in recovery, summed over flows",
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
    about: "Highest rate of a port, with FCS, preamble and gap, since the report began",
};

pub static PORT_BURSTS: Metric = Metric {
    name: "rdma.port.bursts",
    unit: Unit::Things("burst"),
    instrument: Counter,
    attributes: &[&PORT, &DIRECTION, &BUCKET],
    about: "Runs of buckets above half of the line rate",
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
    about: "Pause frames that ask to stop",
};

pub static PFC_PAUSED_TIME: Metric = Metric {
    name: "rdma.pfc.paused_time",
    unit: Unit::Seconds,
    instrument: Counter,
    attributes: &[&STATION, &PRIORITY, &PAUSE_SOURCE],
    about: "Time for which a station asked the other end of its link to stop: its rate is the pause occupancy, 0 to 1",
};

pub static PFC_STORMS: Metric = Metric {
    name: "rdma.pfc.storms",
    unit: Unit::Things("storm"),
    instrument: Counter,
    attributes: &[&STATION, &PRIORITY, &PAUSE_SOURCE],
    about: "Times that at least 95 % of 100 ms were paused; from frames only",
};

pub static NIC_UP: Metric = Metric {
    name: "rdma.nic.up",
    unit: Unit::Things("nic"),
    instrument: Gauge,
    attributes: &[&PORT],
    about: "1 where the link of a NIC carries data, 0 where not",
};

pub static NIC_PACKETS: Metric = Metric {
    name: "rdma.nic.packets",
    unit: Unit::Things("packet"),
    instrument: Counter,
    attributes: &[&PORT, &COUNTER, &MEASURE, &COUNTED, &COUNTER_PRIORITY],
    about: "Counters that count packets",
};

pub static NIC_IO: Metric = Metric {
    name: "rdma.nic.io",
    unit: Unit::Bytes,
    instrument: Counter,
    attributes: &[&PORT, &COUNTER, &MEASURE, &COUNTED, &COUNTER_PRIORITY],
    about: "Counters that count bytes",
};

pub static NIC_TIME: Metric = Metric {
    name: "rdma.nic.time",
    unit: Unit::Seconds,
    instrument: Counter,
    attributes: &[&PORT, &COUNTER, &MEASURE, &COUNTED, &COUNTER_PRIORITY],
    about: "Counters that count time",
};

pub static NIC_EVENTS: Metric = Metric {
    name: "rdma.nic.events",
    unit: Unit::Things("event"),
    instrument: Counter,
    attributes: &[&PORT, &COUNTER, &MEASURE, &COUNTED, &COUNTER_PRIORITY],
    about: "Counters that count anything else that is known",
};

pub static NIC_OTHER: Metric = Metric {
    name: "rdma.nic.other",
    unit: Unit::Things("count"),
    instrument: Counter,
    attributes: &[&PORT, &COUNTER],
    about: "Counters whose names are not known, as they are",
};

pub static FINDING_ACTIVE: Metric = Metric {
    name: "railscope.finding.active",
    unit: Unit::Things("finding"),
    instrument: Gauge,
    attributes: &[&FINDING, &SEVERITY],
    about: "Findings of the last report",
};

pub static FINDING_NOT_CHECKED: Metric = Metric {
    name: "railscope.finding.not_checked",
    unit: Unit::Things("finding"),
    instrument: Gauge,
    attributes: &[&FINDING, &REASON],
    about: "1 where a finding could not be looked for, so that none found says nothing",
};

pub static SOURCE_VISIBLE: Metric = Metric {
    name: "railscope.source.visible",
    unit: Unit::Things("source"),
    instrument: Gauge,
    attributes: &[&SOURCE, &DEVICE, &REASON],
    about: "1 where a source can see what it is for, 0 where not: then nothing of it is not 0, but not known",
};

pub static TAP_FRAMES: Metric = Metric {
    name: "railscope.tap.frames",
    unit: Unit::Things("frame"),
    instrument: Counter,
    attributes: &[&TAP],
    about: "Frames that a tap saw",
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
    about: "Layers of frames that could not be read",
};

pub static HEALTH_EVENTS: Metric = Metric {
    name: "railscope.health.events",
    unit: Unit::Things("event"),
    instrument: Gauge,
    attributes: &[&HEALTH],
    about: "What was missed, refused or could not be known, as the last report has it: what is only not known yet may fall",
};

pub static REPORTS: Metric = Metric {
    name: "railscope.report.count",
    unit: Unit::Things("report"),
    instrument: Counter,
    attributes: &[],
    about: "Reports that were made: metrics change with each; rdma.flow, rdma.cnp and nccl.call also in between",
};

pub static UPDATES: Metric = Metric {
    name: "railscope.update.count",
    unit: Unit::Things("update"),
    instrument: Counter,
    attributes: &[],
    about: "How often what flows carried was brought up to date between two reports",
};

pub static CPU_TIME: Metric = Metric {
    name: "railscope.cpu.time",
    unit: Unit::Seconds,
    instrument: Counter,
    attributes: &[&PART],
    about: "CPU time of the agent and of its programs in the kernel, which are measured now and then and extrapolated",
};

pub static EXPORT_ITEMS: Metric = Metric {
    name: "railscope.export.items",
    unit: Unit::Things("item"),
    instrument: Counter,
    attributes: &[&SIGNAL, &OUTCOME],
    about: "Points, spans and log records that were to be exported, by what became of them",
};

pub static SERIES_REFUSED: Metric = Metric {
    name: "railscope.series.refused",
    unit: Unit::Things("value"),
    instrument: Counter,
    attributes: &[],
    about: "Values that were left out because their metric has too many series",
};

/// Metrics under one heading of the documentation.
#[derive(Debug)]
pub struct Group {
    /// The heading.
    pub heading: &'static str,
    /// The metrics, in the order of the documentation.
    pub metrics: &'static [&'static Metric],
}

/// All metrics by heading.
pub static ALL: &[Group] = &[
    Group {
        heading: "Training steps, each told once, when the next one has begun.",
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
        heading: "Collectives, each told once, when the next one of its communicator has begun.",
        metrics: &[
            &COLLECTIVE_DURATION,
            &COLLECTIVE_IO,
            &COLLECTIVE_BUS_BANDWIDTH,
            &STRAGGLER_LAG,
            &WAIT_TIME,
            &COMMUNICATOR_COUNT,
            &CALL_COUNT,
            &CALL_IO,
        ],
    },
    Group {
        heading: "Flows of RoCEv2. A packet that several taps saw counts once. A flow is told from the first report on that has it.",
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
            &PORT_BURSTS,
            &PORT_BURST_TIME,
            &PFC_PAUSE_FRAMES,
            &PFC_PAUSED_TIME,
            &PFC_STORMS,
        ],
    },
    Group {
        heading: "Counters of NICs, by their vendor's names.",
        metrics: &[&NIC_UP, &NIC_PACKETS, &NIC_IO, &NIC_TIME, &NIC_EVENTS, &NIC_OTHER],
    },
    Group {
        heading: "What was found, seen and missed.",
        metrics: &[
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
        metrics: &[&REPORTS, &UPDATES, &CPU_TIME, &EXPORT_ITEMS, &SERIES_REFUSED],
    },
];

/// Every metric, in the order of the documentation.
pub fn all() -> impl Iterator<Item = &'static Metric> {
    ALL.iter().flat_map(|group| group.metrics.iter().copied())
}
