//! The health counters: name, note and meaning.
// tidy: table

/// A counter's line in the text output: `3 frames lost by the capturing side`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Note {
    /// The counted thing, singular.
    pub noun: &'static str,
    /// What happened to it.
    pub meaning: &'static str,
}

const fn note(noun: &'static str, meaning: &'static str) -> Option<Note> {
    Some(Note { noun, meaning })
}

macro_rules! events {
    ($($event:ident = $name:literal, $note:expr, $about:literal;)*) => {
        /// Something that was missed, refused or could not be known.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum HealthEvent {
            $(#[doc = $about] $event,)*
        }

        impl HealthEvent {
            /// All of them, in the order in which text shows them.
            pub const ALL: &[Self] = &[$(Self::$event,)*];

            /// The name in reports: `<area>.<what>`.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$event => $name,)* }
            }

            /// The line in text output; `None` if only JSON, metrics and documentation show it.
            #[must_use]
            pub const fn note(self) -> Option<Note> {
                match self { $(Self::$event => $note,)* }
            }

            /// What was missed, and what that means: one sentence.
            #[must_use]
            pub const fn about(self) -> &'static str {
                match self { $(Self::$event => $about,)* }
            }
        }
    };
}

events! {
    CaptureLostFrames = "capture.lost_frames",
        note("frame", "dropped by the capture: missing packets may be its loss"),
        "Frames that the capturing host dropped: packets missing from a flow may be capture loss, not network loss.";
    CaptureTruncatedFrames = "capture.truncated_frames", None,
        "Frames not captured in full length: headers beyond the cut are not read, and the ICRC is not checked.";
    CaptureUntimedFrames = "capture.untimed_frames", None,
        "Frames without a timestamp (pcapng simple packet blocks): they get the time of the frame before them, so nearby rates and delays are wrong.";
    CaptureSkippedBlocks = "capture.skipped_blocks", None,
        "Damaged or unreadable pcapng blocks other than packets: interface names, host names or drop counts may be missing.";
    CaptureHostNamesDropped = "capture.host_names_dropped", None,
        "Host names beyond the limit: these hosts appear by address only.";
    MirrorLostFrames = "mirror.lost_frames",
        note("frame", "lost by mirror sessions: missing packets may be their loss"),
        "Frames missing from the sequence numbers of mirror sessions (ERSPAN): the mirror dropped them, or this host, so packets missing from a flow may not be network loss.";
    MirrorUncheckedFrames = "mirror.unchecked_frames",
        note("mirrored frame", "in mirror sessions beyond the limit: not checked for loss"),
        "Frames of mirror sessions beyond the limit: they are not checked for loss by the mirror.";
    SflowLostDatagrams = "sflow.lost_datagrams",
        note("sFlow datagram", "lost on the way: estimates assume that their samples were like the others"),
        "Datagrams of switches missing from their sequence numbers: estimates assume that the samples in them were like the others.";
    SflowDroppedSamples = "sflow.dropped_samples",
        note("sample", "dropped in the switch: raise its sampling rate"),
        "Samples that switches drew and could not send: estimates assume that they were like the others; sample fewer packets.";
    SflowTruncatedDatagrams = "sflow.truncated_datagrams",
        note("sFlow datagram", "truncated: the samples beyond the cut are missing"),
        "Datagrams of sFlow that end within a sample: the snap length of the capture cut them, or they are damaged.";
    SflowOtherVersions = "sflow.other_versions",
        note("datagram", "to UDP port 6343 that is not sFlow version 5: not read"),
        "Datagrams to UDP port 6343 that are not sFlow version 5: they were not read.";
    SflowDuplicateDatagrams = "sflow.duplicate_datagrams", None,
        "Datagrams of sFlow captured twice by the same tap: the copy is ignored.";
    SflowOtherTapDatagrams = "sflow.other_tap_datagrams", None,
        "Datagrams of sFlow of a switch that another tap saw first: they are ignored, because that tap has them, too.";
    SflowUnknownSamples = "sflow.unknown_samples", None,
        "Samples of sFlow of a format that is not read, as notices of discarded packets.";
    SflowUnknownRecords = "sflow.unknown_records", None,
        "Records of sFlow of a format that is not read, as VLAN and next hop of a sampled packet, or counters of a vendor.";
    SflowRefusedRecords = "sflow.refused_records",
        note("sFlow record", "shorter than its format: not read"),
        "Records of sFlow shorter than their format: they were not read.";
    SflowUnreadHeaders = "sflow.unread_headers",
        note("sampled header", "that does not begin with Ethernet: not read"),
        "Sampled headers that do not begin with Ethernet: they are in no estimate.";
    SflowUnratedSamples = "sflow.unrated_samples",
        note("sample", "without a sampling rate: not used"),
        "Samples whose sampling rate is 0: what they stand for is unknown, and they are not used.";
    SflowBeyondLimit = "sflow.beyond_limit",
        note("sample", "of switches, sources or queue pairs beyond the limit"),
        "Samples or datagrams of switches, sources, interfaces or queue pairs beyond the limit: totals may lack them, and lists do.";
    SflowForgottenSwitches = "sflow.forgotten_switches", None,
        "Switches that were silent for five minutes and made room for another one: what they sampled is forgotten.";
    FlowTapDuplicates = "flow.tap_duplicates",
        note("packet", "captured twice by the same tap, counted once"),
        "Packets that one tap captured twice, as on a bond and its member: the copy is ignored.";
    FlowUnpaired = "flow.unpaired",
        note("flow", "captured in one direction only: no round-trip times, causes unknown"),
        "Flows whose opposite direction was not captured or not recognised: they have no round-trip times, and what triggered their retransmissions is unknown.";
    FlowDatagramFlows = "flow.datagram_flows",
        note("datagram flow", "not checked for loss: one sequence counts packets to several receivers"),
        "UD flows: one sequence counts packets to many receivers, so gaps and retransmissions are not derived from it.";
    FlowSeveralDatagramSources = "flow.several_datagram_sources", None,
        "UD flows with several source queue pairs and one destination: they are counted together and have no source QPN.";
    FlowAnswersForgotten = "flow.answers_forgotten",
        note("READ or atomic request", "evicted before the response: not matched"),
        "READ and atomic requests dropped because too many were outstanding: their responses are not matched to them.";
    FlowEpisodesUnlisted = "flow.episodes_unlisted",
        note("recovery", "beyond the 1,024 listed per flow; sums include it"),
        "Recoveries beyond the 1,024 listed per flow: counts and times include them, lists and waits do not.";
    FlowTallyOverflow = "flow.tally_overflow",
        note("packet", "with a DSCP, partition key or UDP port beyond the 64 tracked per flow"),
        "Packets whose DSCP, partition key or UDP port exceeded the 64 values kept per flow: the lists of these values are incomplete.";
    FlowRestartedEpochs = "flow.restarted_epochs",
        note("queue pair number", "reused by a new connection: marked #2"),
        "Queue pair numbers reused by a new connection: it becomes a flow of its own, with the next epoch.";
    FlowAmbiguousPackets = "flow.ambiguous_packets",
        note("packet", "below the highest PSN: retransmitted or out of order, undecided"),
        "Packets below the highest PSN that are neither proven retransmissions nor proven out of order, usually sent before the capture began: they are counted as neither.";
    FlowUnexpectedAcks = "flow.unexpected_acks",
        note("ACK", "for PSNs that were not captured"),
        "ACKs for PSNs that were not captured: the requests were lost by the capture or took another path.";
    FlowUnmeasuredRoundTrips = "flow.unmeasured_round_trips", None,
        "Requests for an ACK that were not timed because too many were outstanding: round-trip times are a sample.";
    FlowEvictedFlows = "flow.evicted_flows",
        note("flow", "evicted: raise --max-flows"),
        "Flows dropped because the flow table was full: they are missing from the report; raise --max-flows.";
    FlowEvictedFrames = "flow.evicted_frames", None,
        "Frames of the flows dropped because the flow table was full: they are missing from totals by flow.";
    FlowForgottenFlows = "flow.forgotten_flows", None,
        "Flows of a live session without a packet for longer than its window: they were analysed, then dropped on purpose.";
    FlowHolesEvicted = "flow.holes_evicted",
        note("hole", "in PSNs evicted: retransmissions may count as reordered"),
        "Ranges of missing PSNs dropped because a flow had too many: packets that fill them later may be misclassified.";
    ConnectionEvicted = "connection.evicted",
        note("connection", "set up by the CM, evicted"),
        "Connection manager exchanges dropped because too many were open: queue pairs they set up may stay unpaired.";
    ConnectionMessages = "connection.messages", None,
        "Connection manager messages that were read: not a loss.";
    PortUnmeteredFrames = "port.unmetered_frames",
        note("frame", "of ports beyond the limit: not metered"),
        "Frames from or to ports beyond the limit, counted once per port: these ports have no rates or bursts.";
    PauseRefused = "pause.refused",
        note("pause frame", "of stations beyond the limit: not tracked"),
        "Pause frames of stations beyond the limit: the pause time of these stations is missing.";
    EcnCeNotVisibleNextToSenderFlows = "ecn.ce_not_visible_next_to_sender_flows", None,
        "Flows captured only next to their sender, before any switch could mark packets: CE is unknown, not 0.";
    TcpEvictedConnections = "tcp.evicted_connections",
        note("TCP connection", "evicted"),
        "TCP connections dropped because too many were open: their NCCL or TCPStore data is lost.";
    TcpGaps = "tcp.gaps", None,
        "Gaps in TCP streams of the control plane: bytes that were sent but not captured.";
    TcpMissingBytes = "tcp.missing_bytes", None,
        "Bytes in the gaps of TCP streams: they were sent but not captured.";
    TcpHoldOverflows = "tcp.hold_overflows", None,
        "TCP gaps declared early because too much data was waiting behind them: a segment that came very late counts as a gap.";
    TcpLateSegments = "tcp.late_segments", None,
        "TCP segments with data that came after their connection had ended: they were ignored.";
    TcpStraySegments = "tcp.stray_segments", None,
        "TCP segments outside their connection's window: they were ignored.";
    TcpDroppedFarewells = "tcp.dropped_farewells", None,
        "Ends of TCP connections (FIN, RST) of hosts beyond the limit: a process that died may go unnoticed.";
    TcpDroppedAttempts = "tcp.dropped_attempts", None,
        "Connection attempts (SYN) between pairs of hosts beyond the limit: refused or unanswered ones may go unreported.";
    ControlGapConnections = "control.gap_connections",
        note("connection", "of NCCL or a TCPStore captured with gaps"),
        "NCCL or TCPStore connections with bytes missing in the part that is read: ranks, rings or communicators may be incomplete.";
    ControlMalformedConnections = "control.malformed_connections",
        note("connection", "that began like NCCL and then broke its format: not read"),
        "Connections that began like NCCL's but did not follow the layout of any known release: they were not read.";
    ControlUnsupportedConnections = "control.unsupported_connections",
        note("connection", "of NCCL 2.15 or older: not read"),
        "Connections of NCCL 2.15 or older: they are not read, so their ranks and communicators are unknown.";
    ControlOversizedConnections = "control.oversized_connections",
        note("connection", "of the control plane over the memory limit: read in part"),
        "Control connections over the memory limit: only their beginning was read.";
    ControlForgottenConnections = "control.forgotten_connections", None,
        "NCCL or TCPStore connections of a live session whose communicator ended before its window: they were analysed, then dropped on purpose.";
    ControlIgnoredConnections = "control.ignored_connections",
        note("TCP connection", "beyond the limit: not searched for NCCL"),
        "TCP connections beyond the limit: communicators set up on them are unknown.";
    LinkCommunicatorsDropped = "link.communicators_dropped",
        note("communicator", "beyond the limit: ranks unknown"),
        "Communicators beyond the limit: their traffic is not assigned to ranks.";
    LinkConflicts = "link.conflicts", None,
        "Statements about the job that contradict each other: the report's conflicts list both sides.";
    LinkMessagesDropped = "link.messages_dropped",
        note("NCCL message", "over the limit: later collectives are missing; raise --max-messages"),
        "NCCL messages over the memory limit: later collectives and training steps are missing; raise --max-messages.";
    LinkMessagesForgotten = "link.messages_forgotten", None,
        "NCCL messages older than the window of a live session: they were analysed, then dropped on purpose.";
    LinkSocketsUnread = "link.sockets_unread",
        note("NET/Socket connection", "with messages that were not read: in no collective"),
        "NET/Socket connections whose messages were not, or not all, read: their data is spread over several sockets, or bytes are missing, or their communicator is unknown.";
    LinkWindowShortened = "link.window_shortened", None,
        "Times that a live session dropped NCCL messages within its window to make room: findings and training steps look back for less than window.length; raise window.messages.";
    LinkSignalsDropped = "link.signals_dropped",
        note("feedback packet", "(CNP, NAK) over the limit: missing in the timeline"),
        "CNPs and NAKs not stored individually because of the memory limit: counts include them, the timeline and the waits of later collectives do not.";
    LinkResendsDropped = "link.resends_dropped",
        note("retransmission", "over the limit: not assigned to training steps"),
        "Retransmissions not stored individually because of the memory limit: counts by flow include them, counts by training step are null.";
    TrainLogDroppedLines = "train_log.dropped_lines",
        note("line", "of training logs over the limit: not compared"),
        "Lines of training logs beyond the limit: they are not matched to training steps.";
    CollectivesUnknown = "collectives.unknown",
        note("run", "of messages that do not match a known collective"),
        "Runs of NCCL messages that do not match a known collective: they appear as kind unknown.";
    CollectivesUnexplainedMessages = "collectives.unexplained_messages", None,
        "Messages in runs that do not match a known collective.";
    CollectivesIncomplete = "collectives.incomplete",
        note("collective", "with missing messages"),
        "Collectives with messages missing: their size and bandwidth are unknown.";
    CollectivesBootstrapMessages = "collectives.bootstrap_messages", None,
        "Messages of bootstraps that ran over NET/IB (NCCL_OOB_NET_ENABLE): they belong to no collective.";
    WaitsEdgesUnmeasured = "waits.edges_unmeasured", None,
        "Connections in collectives for which no single tap saw all messages: how long they waited, and why, is unknown.";
    LogUnparsedLines = "log.unparsed_lines",
        note("line", "of NCCL logs in an unknown format: see logs.unparsed"),
        "Lines of NCCL logs in an unknown format: logs.unparsed lists how they begin.";
    LogSharedEdges = "log.shared_edges",
        note("edge", "in logs that fits several communicators"),
        "Connections in NCCL logs that could belong to several communicators: they are not assigned to any.";
    LogCutLines = "log.cut_lines",
        note("line", "of logs truncated by NCCL: last values not used"),
        "Log lines that NCCL cut off: their last values are not used.";
    LogGluedLines = "log.glued_lines",
        note("line", "of logs without a line break before it"),
        "Log lines that follow another one without a line break: they were split and read.";
    LogOverlongLines = "log.overlong_lines",
        note("line", "of logs longer than 64 KiB: read in part"),
        "Log lines longer than 64 KiB: the rest of each is not read.";
    ToolOutputsDropped = "tool.outputs_dropped",
        note("output", "of other tools beyond the limit: not read"),
        "Outputs of other tools beyond the limit: findings about these nodes may be missing.";
    LogLinesWithoutProcess = "log.lines_without_process",
        note("line", "of logs without host and process: not used"),
        "Log lines without NCCL's prefix of host and process: they cannot be assigned to a rank and are not used.";
    LogLinesOfRefusedProcesses = "log.lines_of_refused_processes",
        note("line", "of logs of processes beyond the limit: not used"),
        "Log lines of processes beyond the limit: data from logs is missing for these ranks.";
    LogCallsOfUnknownCommunicators = "log.calls_of_unknown_communicators",
        note("call", "on communicators created before the log begins"),
        "Logged calls on communicators created before the log begins: they are not matched to collectives.";
    LogDroppedCommunicators = "log.dropped_communicators",
        note("communicator", "in logs beyond the limit: not used"),
        "Communicators in logs beyond the limit per process: data about them from logs is not used.";
    LogDroppedEdges = "log.dropped_edges",
        note("edge", "in logs beyond the limit: not used"),
        "Connections in logs beyond the limit: rings and trees from logs may be incomplete.";
    LogDroppedCalls = "log.dropped_calls",
        note("call", "in logs beyond the limit: not used"),
        "Calls in logs beyond the limit: later collectives are not matched to their calls.";
    LogDroppedChoices = "log.dropped_choices",
        note("choice", "of algorithm and protocol whose call is unknown"),
        "Logged choices of algorithm and protocol whose call is unknown: they are missing from these collectives.";
    LogDroppedQueuePairs = "log.dropped_queue_pairs",
        note("queue pair", "in logs beyond the limit: not used"),
        "Queue pairs in logs beyond the limit: the ranks of these flows may be unknown.";
    LogDroppedWarnings = "log.dropped_warnings",
        note("warning", "beyond the 256 kept per process"),
        "NCCL warnings beyond the 256 kept per process: findings count only the kept ones.";
    LogFileProblems = "log.file_problems",
        note("problem", "with logs: see standard error"),
        "Log files that could not be read, or not to their end: standard error says which and why.";
    CaptureBackwardTimeFrames = "capture.backward_time_frames",
        note("frame", "out of time order"),
        "Frames with an earlier timestamp than the frame before them in their file: delays around them may be wrong.";
    CaptureSkippedFrames = "capture.skipped_frames",
        note("frame", "excluded by --since and --until"),
        "Frames outside --since and --until: left out on purpose.";
    CaptureDroppedFrames = "capture.dropped_frames",
        note("frame", "in the files that could not be used"),
        "Frames in files that could not be used because their interface or time is missing: no statistics include them.";
    CaptureFileProblems = "capture.file_problems",
        note("problem", "with files: see standard error"),
        "Capture files that could not be read, or not to their end: standard error says which and why.";
    CounterBackwardSamples = "counter.backward_samples", None,
        "NIC counter samples older than the sample before them: they were ignored.";
    CounterDroppedSamples = "counter.dropped_samples", None,
        "Counter samples of NICs beyond the limit: these NICs are missing from the report.";
    CounterDroppedValues = "counter.dropped_values", None,
        "Counter values over the memory limit: these counters end early or are missing.";
    CallRecordFileProblems = "call_record.file_problems", None,
        "Flight recorder dumps and RAS statuses that could not be read: standard error says which and why.";
    CounterFileProblems = "counter.file_problems", None,
        "Counter files that could not be read, or not to their end: standard error says which and why.";
    CounterOverlongLines = "counter.overlong_lines", None,
        "Lines of counter files that are too long: the rest of each is not read.";
    CounterResets = "counter.resets", None,
        "NIC counters that were reset, for example by a driver reload: counts between the last sample and the reset are lost.";
    CounterUnknownNames = "counter.unknown_names", None,
        "NIC counters whose meaning is unknown: they appear by name, and findings do not use them.";
    CounterUnreadLines = "counter.unread_lines", None,
        "Lines of counter files in an unknown format: they were ignored.";
    CounterUnreadableDevices = "counter.unreadable_devices", None,
        "RDMA devices whose sysfs folder could not be read: their counters are missing.";
    CounterUnreadableFiles = "counter.unreadable_files", None,
        "Counter files in sysfs that could not be read: samples of these counters are missing.";
    CounterUnreadableNetdevs = "counter.unreadable_netdevs", None,
        "Network interfaces whose statistics could not be read: samples of these counters are missing.";
    CounterWraps = "counter.wraps", None,
        "NIC counters that wrapped at 32 bits: their rise is corrected, assuming one wrap between two samples.";
    FindingsDropped = "findings.dropped", None,
        "Findings beyond 16 of a kind: the least severe of that kind are left out.";
    SourceDevicesRemoved = "source.devices_removed", None,
        "Interfaces and RDMA devices that were removed while they were observed: if they came again, what passed before they were found again is missing.";
    LiveReportsFailed = "live.reports_failed", None,
        "Reports of a live session that could not be made because of a bug in railscope: please report it, with the panic that standard error has.";
    RdmaUnreadDevices = "rdma.unread_devices", None,
        "RDMA devices whose queue pairs the kernel did not list: processes and ranks of these queue pairs are unknown.";
    RdmaUnreadQueuePairs = "rdma.unread_queue_pairs", None,
        "Queue pairs that the kernel listed in an unknown format: they are missing from the list.";
    RdmaDroppedQueuePairs = "rdma.dropped_queue_pairs", None,
        "Queue pairs beyond the limit per device: they are missing from the list.";
    RdmaInterruptedLists = "rdma.interrupted_lists", None,
        "Lists of queue pairs that changed each time they were read: some queue pairs may be missing or listed twice.";
    PodsUnreadLists = "pods.unread_lists", None,
        "Lists of pods that the kubelet did not return: names of some pods and containers may be missing.";
    ProcessesRefused = "processes.refused", None,
        "Communicators or queue pairs of watched processes beyond the limit: process, container and pod are missing for some ranks.";
    ProcessesEventsDropped = "processes.events_dropped", None,
        "Events of watched processes that the agent did not read in time: calls, connections or queue pairs are missing.";
    CallsRefused = "calls.refused", None,
        "NCCL or libibverbs calls of users who made more than 5,000 a second, or 4,096 in a quarter of a second: they were not looked at, so that others' are.";
    CallsLost = "calls.lost", None,
        "NCCL or libibverbs calls that did not fit into the kernel's ring buffer: call counts are too low, and ranks may be missing.";
    CallsReturnsLost = "calls.returns_lost", None,
        "Calls whose return was not seen because too many were in progress: what they returned is unknown.";
    CallsMemoryUnread = "calls.memory_unread", None,
        "Call arguments that the kernel program could not read because the page was not resident: they are missing from these calls.";
    CallsUnknownRecords = "calls.unknown_records", None,
        "Records of the kernel programs in an unknown format: they were ignored.";
    CallsLibrariesUnanswered = "calls.libraries_unanswered", None,
        "Libraries of processes that could not be opened or read in time, as on a file system that hangs: calls in them are not seen.";
    ProfilesRefused = "profiles.refused", None,
        "Rings of NCCL's profiler plugin that were not read, so that waits of these processes are missing: of another user, not what the plugin writes, or more than 32 of a user or 128 in all.";
    ProfilesOverwrittenWords = "profiles.overwritten_words", None,
        "Words of 64 bits that rings of NCCL's profiler plugin overwrote before the agent read them (3 to 8 make a record): waits are too small, and late ranks may not be named.";
    ProfilesDamagedWords = "profiles.damaged_words", None,
        "Words in rings of NCCL's profiler plugin that are no record: they were skipped.";
    ProfilesNotRecorded = "profiles.not_recorded", None,
        "What NCCL's profiler plugin itself could not record, as it counts it: records, operations, transfers and states.";
    ProfilesUnanswered = "profiles.unanswered", None,
        "Processes whose ring could not be looked for in time, as on a file system that hangs: it is tried again.";
    ConnectionsLost = "connections.lost", None,
        "TCP state changes that did not fit into the kernel's ring buffer: which process owns a connection may be unknown.";
    EbpfEventsLost = "ebpf.events_lost", None,
        "Packets that the kernel programs could not pass on because the ring buffer was full: they do not count as network loss.";
    EbpfFlowsRefused = "ebpf.flows_refused", None,
        "Flows that did not fit into the kernel programs' table: their packets are passed on one by one, which costs more CPU but loses nothing.";
    EbpfHeadersUnread = "ebpf.headers_unread", None,
        "Packets whose headers the kernel programs could not read: no statistics include them.";
    EbpfLossesUnread = "ebpf.losses_unread", None,
        "Readings of the kernel programs' counters that failed: a later one has what they missed.";
    EbpfPayloadCut = "ebpf.payload_cut", None,
        "TCP segments too long to pass on in full: the rest of their payload is a gap in the stream.";
    EbpfStreamsRefused = "ebpf.streams_refused", None,
        "Packets of TCP connections that did not fit into the kernel programs' table: their payload is a gap in the stream.";
    EbpfUnusedFrames = "ebpf.unused_frames", None,
        "Frames that the kernel programs saw and did not pass on: neither RoCE nor TCP, nor a tunnel or mirror session that may hold them.";
    EbpfUnknownEvents = "ebpf.unknown_events", None,
        "Events of the kernel programs in an unknown format: they were ignored.";
}
