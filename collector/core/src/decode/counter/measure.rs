//! What NIC counters measure, independent of the vendor; `names` maps the vendors' names.

/// A measured quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the names without a comment say what is counted")]
pub enum Measure {
    /// CNPs sent: CE-marked packets arrived.
    CnpSent,
    /// CE-marked RoCE packets received.
    MarkedPackets,
    /// CNPs that slowed a sender; for vendors without such a counter, CNPs received.
    CnpHandled,
    /// CNPs that slowed no sender: congestion control is off for their priority.
    CnpIgnored,
    /// PSN gaps seen by a responder.
    OutOfSequence,
    /// Sequence NAKs received by a requester.
    SequenceErrors,
    /// Gaps in responses to READs and atomics.
    ImpliedNaks,
    /// Expired ACK timers.
    AckTimeouts,
    /// Receiver-not-ready NAKs received.
    RnrNaks,
    /// Duplicate requests received.
    DuplicateRequests,
    /// Packets dropped because no receive buffer was posted.
    OutOfBuffer,
    /// Wrong ICRCs.
    IcrcErrors,
    /// Pause frames received: the port had to stop.
    PauseReceived,
    /// Time that the port had to stop, in nanoseconds.
    PauseReceivedTime,
    /// Pause frames sent: the port was overloaded.
    PauseSent,
    /// Time that the port stopped the other end, in nanoseconds.
    PauseSentTime,
    /// Packets dropped because the port had no buffer.
    Discards,
    /// Times that the device found its pause sending stalled.
    StormWarnings,
    /// Times that the device stopped sending pause because it had stalled.
    StormErrors,
    RdmaReceivedBytes,
    RdmaSentBytes,
    RdmaReceivedPackets,
    RdmaSentPackets,
    RetransmittedPackets,
    RetransmittedBytes,
    /// Times that the link went down.
    LinkDown,
    /// Bits corrected by forward error correction.
    CorrectedBits,
    /// Symbols that could not be corrected.
    SymbolErrors,
    /// Seconds in which PCIe stalled the port.
    PcieStalls,
}

impl Measure {
    /// The name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::CnpSent => "cnp_sent",
            Self::MarkedPackets => "ce_packets_received",
            Self::CnpHandled => "cnp_handled",
            Self::CnpIgnored => "cnp_ignored",
            Self::OutOfSequence => "out_of_sequence",
            Self::SequenceErrors => "sequence_naks_received",
            Self::ImpliedNaks => "implied_naks",
            Self::AckTimeouts => "ack_timeouts",
            Self::RnrNaks => "rnr_naks_received",
            Self::DuplicateRequests => "duplicate_requests",
            Self::OutOfBuffer => "out_of_buffer",
            Self::IcrcErrors => "icrc_errors",
            Self::PauseReceived => "pause_received",
            Self::PauseReceivedTime => "pause_received_ns",
            Self::PauseSent => "pause_sent",
            Self::PauseSentTime => "pause_sent_ns",
            Self::Discards => "discards",
            Self::StormWarnings => "pause_storm_warnings",
            Self::StormErrors => "pause_storm_errors",
            Self::RdmaReceivedBytes => "rdma_received_bytes",
            Self::RdmaSentBytes => "rdma_sent_bytes",
            Self::RdmaReceivedPackets => "rdma_received_packets",
            Self::RdmaSentPackets => "rdma_sent_packets",
            Self::RetransmittedPackets => "retransmitted_packets",
            Self::RetransmittedBytes => "retransmitted_bytes",
            Self::LinkDown => "link_down",
            Self::CorrectedBits => "corrected_bits",
            Self::SymbolErrors => "symbol_errors",
            Self::PcieStalls => "pcie_stalls",
        }
    }

    /// Unit in reports: `ns`, `bytes`, `bits`, `events` or `packets`.
    #[must_use]
    pub const fn unit(self) -> &'static str {
        match self {
            Self::PauseReceivedTime | Self::PauseSentTime => "ns",
            Self::RdmaReceivedBytes | Self::RdmaSentBytes | Self::RetransmittedBytes => "bytes",
            Self::CorrectedBits => "bits",
            Self::LinkDown | Self::StormWarnings | Self::StormErrors | Self::PcieStalls => "events",
            Self::AckTimeouts | Self::OutOfSequence | Self::ImpliedNaks | Self::SymbolErrors => {
                "events"
            }
            _ => "packets",
        }
    }
}
