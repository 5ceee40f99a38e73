//! Evidence of findings: one variant per observation, with its figures. The words are the
//! report's (`report/words`).

use std::net::{IpAddr, SocketAddr};

use super::claim::network::{Contradiction, NetworkFailure, OddNetwork};
use super::naming::FlowName;
use crate::analysis::straggler::sign::SignKind;
use crate::decode::counter::measure::Measure;
use crate::decode::flight_recorder::Progress;
use crate::flow::path_mtu::MiscountedRead;
use crate::link::counter::NicName;
use crate::link::log::network::Outcome;
use crate::model::qpn::Qpn;

/// An observation, by source.
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
    /// What a process recorded of its own calls.
    Recorded(RecordObservation),
    /// What points to a straggler.
    Straggler(SignKind),
}

/// What a process recorded of its own calls, or RAS says of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordObservation {
    /// The dump of a rank: the last call of a group.
    LastCall {
        /// The dump's file.
        file: String,
        /// The rank.
        rank: u32,
        /// `all_reduce`; `None` if it has not called in the group.
        call: Option<String>,
        /// Its number in the group.
        number: u64,
        /// How far it has come.
        progress: Option<Progress>,
    },
    /// The line that called, on all ranks that recorded it.
    Line(String),
    /// An answer of RAS: its file, and when it was given.
    Answer {
        /// The file.
        file: String,
        /// By the local clock of the process that answered.
        taken: Option<String>,
    },
}

/// What frames of one flow show. Counts are over the whole capture.
#[derive(Clone, Debug, PartialEq)]
pub enum FlowObservation {
    /// Number of frames with a wrong ICRC.
    WrongIcrcs(u64),
    /// CE-marked packets without a CNP, although ACKs were captured.
    MarksUnanswered(u64),
    /// The rate in the millisecond after a CNP, in bits per second.
    RateAfterCnp(f64),
    /// CE-marked packets.
    Marks {
        /// CE-marked packets.
        marks: u64,
        /// All packets.
        packets: u64,
    },
    /// Number of CNPs that came back for it.
    Cnps(u64),
    /// The DSCPs at the taps.
    Dscps(Vec<u8>),
    /// Not-ECT, and what makes that odd.
    NotEct(EcnContrast),
    /// The P_Key that differs from other flows'.
    PartitionKey(u16),
    /// Its path MTU, bytes of payload.
    PathMtu(u32),
    /// A READ whose sender counted fewer packets than its answer had.
    MiscountedRead(MiscountedRead),
    /// Requests were rejected as invalid, and the receiver's own packets have another size.
    RejectedSize {
        /// Bytes of a full packet of the flow.
        own: u32,
        /// Bytes of a full packet of the receiver.
        other: u32,
    },
    /// Full packets of the two directions have different sizes.
    PacketSizes {
        /// Bytes of a full packet of the flow.
        own: u32,
        /// Bytes of a full packet of the reverse direction.
        other: u32,
    },
    /// Packets retransmitted without a NAK.
    Resends(u64),
    /// NAKs for missing packets.
    SequenceNaks {
        /// Number of these NAKs.
        naks: u64,
        /// Recoveries started by these NAKs.
        recoveries: u64,
        /// Time in these recoveries, in nanoseconds.
        recovery_ns: u64,
    },
    /// Waits for a receiver that was not ready.
    RnrWaits {
        /// Retransmitted packets.
        resent: u64,
        /// Number of waits.
        waits: u64,
        /// Time in these waits, in nanoseconds.
        waited_ns: u64,
    },
    /// Recoveries without a NAK.
    Timeouts {
        /// The flow's time in recovery, in nanoseconds.
        recovery_ns: u64,
        /// Time in recovery of all flows concerned, in nanoseconds.
        of_ns: u64,
    },
    /// A NAK that ends the connection.
    ErrorState,
    /// Packets out of order.
    Overtaken {
        /// Packets out of order.
        late: u64,
        /// Retransmitted packets.
        resent: u64,
    },
    /// Bytes of payload.
    Payload(u64),
}

/// Why it is odd that a flow is Not-ECT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EcnContrast {
    /// Another tap saw it ECN-capable.
    OtherTap,
    /// Other flows are ECN-capable.
    OtherFlows,
    /// The settings expect ECN.
    Expected,
    /// It is not odd: all flows are Not-ECT.
    Nothing,
}

/// An observation on frames of no single flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FrameObservation {
    /// Check-ins at the root.
    CheckIns {
        /// Ranks that checked in.
        ranks: u64,
        /// Address of the root.
        root: IpAddr,
        /// From the last check-in to the end of the capture, in nanoseconds.
        silence_ns: u64,
    },
    /// From the first check-in at the root to the last gather.
    Bootstrap,
    /// SYNs of one client, none of them accepted.
    Syns {
        /// Number of SYNs.
        syns: u64,
        /// The address that the client tries to reach.
        server: SocketAddr,
    },
    /// Pause frames, and the longest pause if the line rate is known.
    Pause {
        /// Longest pause, in nanoseconds.
        longest_ns: Option<u64>,
    },
    /// Pause frames of storms.
    Storm {
        /// Sum of their pauses, in nanoseconds.
        paused_ns: u64,
        /// Number of frames.
        frames: u64,
    },
    /// The ranks in the order of a ring.
    Ring(Vec<u32>),
    /// The median over this many messages.
    Messages(u64),
    /// Connections of NET/Socket.
    SocketConnections(u64),
    /// A fact that a log contradicts.
    Contradiction(Contradiction),
    /// An unexpected part of the network, and its host.
    OddNetwork(OddNetwork, String),
    /// Bytes on each rail.
    Rails(Vec<(u32, u64)>),
    /// Load of parallel uplinks.
    Uplinks {
        /// Bytes on each uplink.
        loads: Vec<(String, u64)>,
        /// Flows on the fullest uplink.
        flows: u64,
        /// Their UDP source ports.
        udp_ports: u64,
    },
    /// Clear-to-sends without data.
    Unanswered {
        /// Number of clear-to-sends without data.
        clear_to_sends: u64,
        /// The ranks that wait for data.
        ranks: Vec<u32>,
    },
    /// Hosts whose workers came to a store.
    Registered {
        /// Where it listens.
        store: SocketAddr,
        /// Their addresses, without its own.
        hosts: Vec<IpAddr>,
    },
    /// Over TCP, messages of the last collective were not sent.
    Unsent {
        /// How many fewer than the others' of the ring.
        messages: u64,
        /// The ranks that wait for them.
        ranks: Vec<u32>,
    },
    /// Packets left their senders and never came to their receivers.
    NeverArrived {
        /// The flows that have some.
        flows: u64,
    },
    /// A host ended connections of the job.
    Farewells {
        /// Its address.
        host: IpAddr,
        /// FINs and RSTs.
        farewells: u64,
        /// RSTs among them.
        resets: u64,
    },
    /// A connection over TCP stands still.
    SocketStalled {
        /// The end that sends data.
        sender: SocketAddr,
        /// The end that receives data.
        receiver: SocketAddr,
        /// Other connections of the communicator that stand still, too.
        others: u64,
    },
}

/// What lines of a log show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogObservation {
    /// A line of the log.
    Quote(String),
    /// A warning of a process.
    Warning {
        /// Host of the process.
        host: String,
        /// The process.
        pid: u32,
        /// Text of the warning, without prefix.
        text: String,
    },
    /// `Init START` without `Init COMPLETE`.
    InitNotComplete,
    /// Bootstrap times that ranks logged.
    BootstrapTimes {
        /// Longest time waiting to receive, in nanoseconds.
        receive_ns: u64,
        /// Ranks that logged their times.
        ranks: u64,
    },
    /// The release of aws-ofi-nccl.
    EfaPlugin(Option<String>),
    /// Why the plugin failed.
    PluginFailure(Option<String>),
    /// A network that NCCL did not use.
    Refused(NetworkFailure, Outcome),
    /// NCCL uses NET/Socket.
    SocketTaken,
    /// NCCL uses NET/IB.
    IbTaken,
    /// An unexpected part of the network, and its host.
    OddNetwork(OddNetwork, String),
    /// How far a rank had come when the watchdog gave up.
    WatchdogProgress {
        /// The rank.
        rank: u32,
        /// The collective that was not done.
        call: Option<String>,
        /// Its number.
        number: Option<u64>,
        /// Elements of its input.
        elements: Option<u64>,
        /// The last collective that it had enqueued.
        enqueued: Option<u64>,
        /// The last one that was complete.
        completed: Option<u64>,
    },
    /// GPUDirect RDMA is not used.
    WithoutGpuDirect {
        /// The device.
        device: Option<String>,
        /// Why.
        reason: Option<String>,
    },
    /// A process named its release.
    Release(String),
    /// A call returned an error.
    FailedCall {
        /// File and line.
        place: String,
        /// The error.
        error: String,
    },
    /// The lists of interfaces and NICs of a process.
    Interfaces,
    /// NCCL's timings of the initialisation.
    InitTimings,
}

/// An observation in NIC counters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CounterObservation {
    /// A counter rose.
    Rose {
        /// The NIC whose counter rose.
        nic: NicName,
        /// The vendor's name of the counter.
        counter: &'static str,
        /// Its growth.
        by: u64,
    },
    /// Marked packets arrived, but the NIC sent no CNP.
    MarksWithoutCnp {
        /// The NIC that received them.
        nic: NicName,
        /// Marked packets.
        marks: u64,
    },
    /// CNPs were sent, but no NIC handled one.
    CnpsUnhandled(u64),
    /// Paused time.
    Paused {
        /// The counter.
        measure: Measure,
        /// Paused time, in nanoseconds.
        paused_ns: u64,
    },
    /// Pause storms that the firmware counted.
    FirmwareStorms(u64),
    /// A NIC was paused nearly all the time.
    NearlyAlwaysPaused {
        /// Least share of the time, in percent.
        percent: u64,
        /// Duration, in nanoseconds.
        length_ns: u64,
    },
    /// A link went down.
    LinkDown {
        /// The NIC at this end of the link.
        nic: NicName,
        /// How many times.
        times: u64,
    },
    /// None of these NICs moved RDMA data; some are named.
    NoRdma(Vec<NicName>),
}

/// What calls of watched processes show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallObservation {
    /// A rank has queue pairs that are ready to send, and called NCCL over some time.
    Ready {
        /// Rank in the communicator of the finding.
        rank: u32,
        /// Its process id.
        pid: Option<u32>,
        /// Its queue pairs that are ready to send.
        queue_pairs: u64,
        /// From the first call that moves data to the last, in nanoseconds.
        called_ns: u64,
    },
    /// The kernel lists a queue pair in error.
    InError {
        /// RDMA device.
        device: String,
        /// Its number.
        number: Qpn,
        /// The number at the other end.
        remote: Option<Qpn>,
        /// The process that owns it.
        pid: Option<u32>,
    },
}
