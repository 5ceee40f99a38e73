//! What evidence of findings shows: one variant a statement, with its figures. The words are the
//! report's (`report/words`).

use std::net::{IpAddr, SocketAddr};

use super::claim::network::{Contradiction, NetworkFailure, OddNetwork};
use super::naming::FlowName;
use crate::analysis::straggler::sign::SignKind;
use crate::decode::counter::measure::Measure;
use crate::link::counter::NicName;
use crate::link::log::network::Outcome;

/// What a source shows.
#[derive(Clone, Debug, PartialEq)]
pub enum Observation {
    /// Frames of one flow.
    Flow(FlowName, FlowObservation),
    /// Other frames.
    Frames(FrameObservation),
    /// Lines of a log.
    Log(LogObservation),
    /// Counters of a NIC.
    Counter(CounterObservation),
    /// Calls of NCCL.
    Calls(CallObservation),
    /// A sign of a straggler.
    Straggler(SignKind),
}

/// What frames show of a flow.
#[derive(Clone, Debug, PartialEq)]
pub enum FlowObservation {
    /// ICRCs that are wrong.
    WrongIcrcs(u64),
    /// CE-marked packets that no CNP answers, though ACKs were seen.
    MarksUnanswered(u64),
    /// The rate in the millisecond after a CNP, in bits per second.
    RateAfterCnp(f64),
    /// CE-marked packets.
    Marks {
        /// How many.
        marks: u64,
        /// Of so many.
        packets: u64,
    },
    /// CNPs.
    Cnps(u64),
    /// The DSCPs that taps saw.
    Dscps(Vec<u8>),
    /// Its ECN field.
    NotEct(EcnContrast),
    /// Its partition key.
    PartitionKey(u16),
    /// Its path MTU.
    PathMtu(u32),
    /// Packets sent again, without a NAK.
    Resends(u64),
    /// NAKs for missing packets.
    SequenceNaks {
        /// How many.
        naks: u64,
        /// Recoveries that they began.
        recoveries: u64,
        /// How long those took.
        recovery_ns: u64,
    },
    /// Waits for a receiver that is not ready.
    RnrWaits {
        /// Packets sent again.
        resent: u64,
        /// How often it waited.
        waits: u64,
        /// How long.
        waited_ns: u64,
    },
    /// Recoveries without a NAK.
    Timeouts {
        /// How long they took.
        recovery_ns: u64,
        /// How long those of all flows concerned took.
        of_ns: u64,
    },
    /// A NAK that ends the connection.
    ErrorState,
    /// Packets that others overtook.
    Overtaken {
        /// How many.
        late: u64,
        /// Packets sent again.
        resent: u64,
    },
    /// Bytes of payload.
    Payload(u64),
}

/// What makes it odd that a flow is Not-ECT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EcnContrast {
    /// Another tap saw it ECN-capable.
    OtherTap,
    /// Other flows are ECN-capable.
    OtherFlows,
    /// The settings expect it.
    Expected,
    /// Nothing: all flows are.
    Nothing,
}

/// What frames show that are not of one flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FrameObservation {
    /// Check-ins at the root.
    CheckIns {
        /// Ranks that did.
        ranks: u64,
        /// The root.
        root: IpAddr,
        /// From the last one to the end of the capture.
        silence_ns: u64,
    },
    /// From the first check-in at the root to the last gather.
    Bootstrap,
    /// SYNs of one client, none of them accepted.
    Syns {
        /// How many.
        syns: u64,
        /// Where to.
        server: SocketAddr,
    },
    /// Pause frames, and the longest pause where the line rate is known.
    Pause {
        /// How long it was.
        longest_ns: Option<u64>,
    },
    /// Pause frames of storms.
    Storm {
        /// How long they paused, all together.
        paused_ns: u64,
        /// How many.
        frames: u64,
    },
    /// The ranks in the order of a ring.
    Ring(Vec<u32>),
    /// The median of so many messages.
    Messages(u64),
    /// Connections of NET/Socket.
    SocketConnections(u64),
    /// What a log contradicts.
    Contradiction(Contradiction),
    /// What is not as expected, at a host.
    OddNetwork(OddNetwork, String),
    /// What each rail carries, in bytes.
    Rails(Vec<(u32, u64)>),
    /// What parallel uplinks carry.
    Uplinks {
        /// Bytes of each.
        loads: Vec<(String, u64)>,
        /// Flows on the fullest.
        flows: u64,
        /// Their UDP source ports.
        udp_ports: u64,
    },
    /// Clear-to-sends without data.
    Unanswered {
        /// How many.
        clear_to_sends: u64,
        /// The ranks that wait.
        ranks: Vec<u32>,
    },
}

/// What a log says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogObservation {
    /// These words.
    Quote(String),
    /// A warning of a process.
    Warning {
        /// The host.
        host: String,
        /// The process.
        pid: u32,
        /// Its words.
        text: String,
    },
    /// `Init START` without `Init COMPLETE`.
    InitNotComplete,
    /// How long ranks say that their bootstrap took.
    BootstrapTimes {
        /// How long the slowest waited to receive.
        receive_ns: u64,
        /// Ranks that say it.
        ranks: u64,
    },
    /// The release of aws-ofi-nccl.
    EfaPlugin(Option<String>),
    /// Why the plugin failed.
    PluginFailure(Option<String>),
    /// A network that was not taken.
    Refused(NetworkFailure, Outcome),
    /// NET/Socket was taken.
    SocketTaken,
    /// NET/IB was taken.
    IbTaken,
    /// What is not as expected, at a host.
    OddNetwork(OddNetwork, String),
}

/// What counters of NICs say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CounterObservation {
    /// One rose.
    Rose {
        /// The NIC.
        nic: NicName,
        /// The vendor's name.
        counter: &'static str,
        /// By how much.
        by: u64,
    },
    /// Marked packets arrived, and no CNP was sent.
    MarksWithoutCnp {
        /// The NIC.
        nic: NicName,
        /// How many.
        marks: u64,
    },
    /// CNPs were sent, and no NIC handled one.
    CnpsUnhandled(u64),
    /// A time paused.
    Paused {
        /// The counter.
        measure: Measure,
        /// How long.
        paused_ns: u64,
    },
    /// Pause storms that the firmware counted.
    FirmwareStorms(u64),
    /// A pause of nearly all the time.
    NearlyAlwaysPaused {
        /// At least so many percent.
        percent: u64,
        /// Of so long.
        length_ns: u64,
    },
    /// A link went down.
    LinkDown {
        /// The NIC.
        nic: NicName,
        /// How often.
        times: u64,
    },
    /// No RDMA on any of these (some are named).
    NoRdma(Vec<NicName>),
}

/// What a process called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallObservation {
    /// A rank has queue pairs that are ready to send, and called NCCL for so long.
    Ready {
        /// The rank.
        rank: u32,
        /// Its process.
        pid: Option<u32>,
        /// Its queue pairs.
        queue_pairs: u64,
        /// From the first call that moves data to the last.
        called_ns: u64,
    },
}
