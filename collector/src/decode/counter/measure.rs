//! What a NIC's counter means. Names are those of mlx5: `ethtool -S` (Linux
//! `Documentation/networking/device_drivers/ethernet/mellanox/mlx5/counters.rst`) and
//! `/sys/class/infiniband/*/ports/*/{counters,hw_counters}`.

/// What is counted, in words of no vendor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Measure {
    /// CNPs sent: packets with a CE mark arrived.
    CnpSent,
    /// RoCE packets with a CE mark that arrived.
    MarkedPackets,
    /// CNPs that slowed a sender.
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
    /// Times that the link went down.
    LinkDown,
    /// Symbols that could not be corrected.
    SymbolErrors,
    /// Seconds in which PCIe held the port up.
    PcieStalls,
}

/// The reading of a counter: what it counts, for which priority, and by what to multiply it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// What it counts.
    pub measure: Measure,
    /// Priority 0 ..= 7, of counters that are kept by priority.
    pub priority: Option<u8>,
    /// What one of it stands for, in the measure's unit.
    pub scale: u64,
}

/// Names, `#` being a priority.
const NAMES: &[(&str, Measure, u64)] = &[
    ("np_cnp_sent", Measure::CnpSent, 1),
    ("np_ecn_marked_roce_packets", Measure::MarkedPackets, 1),
    ("rp_cnp_handled", Measure::CnpHandled, 1),
    ("rp_cnp_ignored", Measure::CnpIgnored, 1),
    ("out_of_sequence", Measure::OutOfSequence, 1),
    ("packet_seq_err", Measure::SequenceErrors, 1),
    ("implied_nak_seq_err", Measure::ImpliedNaks, 1),
    ("local_ack_timeout_err", Measure::AckTimeouts, 1),
    ("rnr_nak_retry_err", Measure::RnrNaks, 1),
    ("duplicate_request", Measure::DuplicateRequests, 1),
    ("out_of_buffer", Measure::OutOfBuffer, 1),
    ("rx_icrc_encapsulated", Measure::IcrcErrors, 1),
    ("rx_prio#_pause", Measure::PauseReceived, 1),
    ("rx_prio#_pause_duration", Measure::PauseReceivedTime, 1_000),
    ("tx_prio#_pause", Measure::PauseSent, 1),
    ("tx_prio#_pause_duration", Measure::PauseSentTime, 1_000),
    ("rx_discards_phy", Measure::Discards, 1),
    ("tx_pause_storm_warning_events", Measure::StormWarnings, 1),
    ("tx_pause_storm_error_events", Measure::StormErrors, 1),
    ("rx_vport_rdma_unicast_bytes", Measure::RdmaReceivedBytes, 1),
    ("tx_vport_rdma_unicast_bytes", Measure::RdmaSentBytes, 1),
    ("rx_vport_rdma_unicast_packets", Measure::RdmaReceivedPackets, 1),
    ("tx_vport_rdma_unicast_packets", Measure::RdmaSentPackets, 1),
    ("link_down_events_phy", Measure::LinkDown, 1),
    ("link_downed", Measure::LinkDown, 1),
    ("rx_pcs_symbol_err_phy", Measure::SymbolErrors, 1),
    ("outbound_pci_stalled_wr_events", Measure::PcieStalls, 1),
    ("outbound_pci_stalled_rd_events", Measure::PcieStalls, 1),
];

impl Reading {
    /// The reading of the counter called `name`; `None` where it is not known.
    #[must_use]
    pub fn of(name: &str) -> Option<Self> {
        NAMES.iter().find_map(|(pattern, measure, scale)| {
            let priority = match pattern.split_once('#') {
                None if *pattern == name => None,
                None => return None,
                Some((start, end)) => Some(priority(name, start, end)?),
            };
            Some(Self { measure: *measure, priority, scale: *scale })
        })
    }
}

fn priority(name: &str, start: &str, end: &str) -> Option<u8> {
    let digits = name.strip_prefix(start)?.strip_suffix(end)?;
    digits.parse().ok().filter(|priority| *priority < 8)
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
            Self::LinkDown => "link_down",
            Self::SymbolErrors => "symbol_errors",
            Self::PcieStalls => "pcie_stalls",
        }
    }

    /// The unit.
    #[must_use]
    pub const fn unit(self) -> &'static str {
        match self {
            Self::PauseReceivedTime | Self::PauseSentTime => "ns",
            Self::RdmaReceivedBytes | Self::RdmaSentBytes => "bytes",
            Self::LinkDown | Self::StormWarnings | Self::StormErrors | Self::PcieStalls => "events",
            Self::AckTimeouts | Self::OutOfSequence | Self::ImpliedNaks | Self::SymbolErrors => {
                "events"
            }
            _ => "packets",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_with_their_priority() {
        let reading = Reading::of("rx_prio3_pause_duration").unwrap();
        assert_eq!(reading.measure, Measure::PauseReceivedTime);
        assert_eq!((reading.priority, reading.scale), (Some(3), 1_000));
        assert_eq!(Reading::of("rx_prio3_pause").unwrap().measure, Measure::PauseReceived);
        assert_eq!(Reading::of("np_cnp_sent").unwrap().priority, None);
        for unknown in ["rx_prio8_pause", "rx_prio_pause", "np_cnp", "", "rx_prio3_pause_x"] {
            assert_eq!(Reading::of(unknown), None, "{unknown}");
        }
    }
}
