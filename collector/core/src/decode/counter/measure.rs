//! What counters of NICs count, in words of no vendor; `names` says which vendor calls it what.

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Measure {
    /// CNPs sent: packets with a CE mark arrived.
    CnpSent,
    /// RoCE packets with a CE mark that arrived.
    MarkedPackets,
    /// CNPs that slowed a sender; of vendors that tell only that, CNPs that arrived.
    CnpHandled,
    /// CNPs that slowed nobody: congestion control is off for their priority.
    CnpIgnored,
    /// PSN gaps that a responder saw.
    OutOfSequence,
    /// NAKs for a missing packet that a requester received.
    SequenceErrors,
    /// Gaps in responses to READs and atomics.
    ImpliedNaks,
    /// ACK timers that expired.
    AckTimeouts,
    /// Receiver-not-ready NAKs received.
    RnrNaks,
    /// Requests received again.
    DuplicateRequests,
    /// Packets dropped for want of a receive buffer.
    OutOfBuffer,
    /// ICRCs that were wrong.
    IcrcErrors,
    /// Pause frames received: the port was told to stop.
    PauseReceived,
    /// Time that the port was told to stop, in nanoseconds.
    PauseReceivedTime,
    /// Pause frames sent: the port cannot take more.
    PauseSent,
    /// Time that the port told the other end to stop, in nanoseconds.
    PauseSentTime,
    /// Packets dropped for want of buffer in the port.
    Discards,
    /// Times that the device found its pause sending stalled.
    StormWarnings,
    /// Times that the device stopped to send pause, because it had stalled.
    StormErrors,
    /// Bytes of RDMA received.
    RdmaReceivedBytes,
    /// Bytes of RDMA sent.
    RdmaSentBytes,
    /// Packets of RDMA received.
    RdmaReceivedPackets,
    /// Packets of RDMA sent.
    RdmaSentPackets,
    /// Packets sent again.
    RetransmittedPackets,
    /// Bytes sent again.
    RetransmittedBytes,
    /// Times that the link went down.
    LinkDown,
    /// Bits that forward error correction set right.
    CorrectedBits,
    /// Symbols that could not be corrected.
    SymbolErrors,
    /// Seconds in which PCIe held the port up.
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

    /// The unit.
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
