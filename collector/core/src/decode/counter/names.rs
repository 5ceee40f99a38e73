//! Which vendor calls a counter what.
//!
//! Sources, by section: Linux' `Documentation/networking/device_drivers/ethernet/mellanox/mlx5/counters.rst`
//! and the arrays of names in `drivers/infiniband/hw/*` and `drivers/net/ethernet/*` that the section
//! names. In sysfs they are
//! `/sys/class/infiniband/*/ports/*/{counters,hw_counters}`, from the net driver `ethtool -S`.

use super::measure::Measure;

/// A name; `#` stands for a priority.
pub(super) struct Name {
    pub pattern: &'static str,
    pub measure: Measure,
    /// Factor that converts it to the measure's unit.
    pub scale: u64,
    /// Counters of one rank add up (two IP versions). If a device has several ranks, the lowest is
    /// used, because they count the same.
    pub rank: u8,
}

const fn name(pattern: &'static str, measure: Measure) -> Name {
    Name { pattern, measure, scale: 1, rank: 0 }
}

/// Counts the same as another name of this device.
const fn other(pattern: &'static str, measure: Measure) -> Name {
    Name { pattern, measure, scale: 1, rank: 1 }
}

const fn scaled(pattern: &'static str, measure: Measure, scale: u64) -> Name {
    Name { pattern, measure, scale, rank: 0 }
}

/// Names with the same meaning for every driver that has them.
pub(super) const EVERYWHERE: &[Name] = &[
    // mlx5 (counters.rst; infiniband/hw/mlx5/counters.c). The bnxt_re that Broadcom ships itself has
    // some of these names too.
    name("np_cnp_sent", Measure::CnpSent),
    name("np_ecn_marked_roce_packets", Measure::MarkedPackets),
    name("rp_cnp_handled", Measure::CnpHandled),
    name("rp_cnp_ignored", Measure::CnpIgnored),
    name("out_of_sequence", Measure::OutOfSequence),
    name("packet_seq_err", Measure::SequenceErrors),
    name("implied_nak_seq_err", Measure::ImpliedNaks),
    name("local_ack_timeout_err", Measure::AckTimeouts),
    name("rnr_nak_retry_err", Measure::RnrNaks),
    name("duplicate_request", Measure::DuplicateRequests),
    name("out_of_buffer", Measure::OutOfBuffer),
    name("rx_icrc_encapsulated", Measure::IcrcErrors),
    name("rx_prio#_pause", Measure::PauseReceived),
    scaled("rx_prio#_pause_duration", Measure::PauseReceivedTime, 1_000),
    name("tx_prio#_pause", Measure::PauseSent),
    scaled("tx_prio#_pause_duration", Measure::PauseSentTime, 1_000),
    name("rx_discards_phy", Measure::Discards),
    name("tx_pause_storm_warning_events", Measure::StormWarnings),
    name("tx_pause_storm_error_events", Measure::StormErrors),
    name("rx_vport_rdma_unicast_bytes", Measure::RdmaReceivedBytes),
    name("tx_vport_rdma_unicast_bytes", Measure::RdmaSentBytes),
    name("rx_vport_rdma_unicast_packets", Measure::RdmaReceivedPackets),
    name("tx_vport_rdma_unicast_packets", Measure::RdmaSentPackets),
    name("link_down_events_phy", Measure::LinkDown),
    name("rx_corrected_bits_phy", Measure::CorrectedBits),
    name("rx_pcs_symbol_err_phy", Measure::SymbolErrors),
    name("outbound_pci_stalled_wr_events", Measure::PcieStalls),
    name("outbound_pci_stalled_rd_events", Measure::PcieStalls),
    // mlx5's optional counters, available through RDMA netlink only.
    other("cc_tx_cnp_pkts", Measure::CnpSent),
    other("cc_rx_ce_pkts", Measure::MarkedPackets),
    other("cc_rx_cnp_pkts", Measure::CnpHandled),
    // Every device with a performance management agent (infiniband/core/sysfs.c). Data is in units
    // of four bytes (InfiniBand Architecture Specification volume 1, 16.1.4).
    other("link_downed", Measure::LinkDown),
    other("symbol_error", Measure::SymbolErrors),
    Name { pattern: "port_rcv_data", measure: Measure::RdmaReceivedBytes, scale: 4, rank: 1 },
    Name { pattern: "port_xmit_data", measure: Measure::RdmaSentBytes, scale: 4, rank: 1 },
    other("port_rcv_packets", Measure::RdmaReceivedPackets),
    other("port_xmit_packets", Measure::RdmaSentPackets),
    // bnxt_re (infiniband/hw/bnxt_re/hw_counters.c).
    name("tx_cnp_pkts", Measure::CnpSent),
    name("rx_ecn_marked_pkts", Measure::MarkedPackets),
    name("rx_cnp_pkts", Measure::CnpHandled),
    name("oos_drop_count", Measure::OutOfSequence),
    name("seq_err_naks_rcvd", Measure::SequenceErrors),
    name("missing_resp", Measure::ImpliedNaks),
    name("to_retransmits", Measure::AckTimeouts),
    name("rnr_naks_rcvd", Measure::RnrNaks),
    name("dup_req", Measure::DuplicateRequests),
    name("rx_out_of_buffer", Measure::OutOfBuffer),
    name("rx_roce_discards", Measure::Discards),
    name("rx_roce_only_bytes", Measure::RdmaReceivedBytes),
    name("tx_roce_only_bytes", Measure::RdmaSentBytes),
    name("rx_roce_only_pkts", Measure::RdmaReceivedPackets),
    name("tx_roce_only_pkts", Measure::RdmaSentPackets),
    // bnxt_en (ethernet/broadcom/bnxt/bnxt_ethtool.c).
    name("rx_pfc_ena_frames_pri#", Measure::PauseReceived),
    name("tx_pfc_ena_frames_pri#", Measure::PauseSent),
    scaled("pfc_pri#_rx_duration_us", Measure::PauseReceivedTime, 1_000),
    scaled("pfc_pri#_tx_duration_us", Measure::PauseSentTime, 1_000),
    name("link_down_events", Measure::LinkDown),
    name("rx_corrected_bits", Measure::CorrectedBits),
    name("rx_pcs_symbol_err", Measure::SymbolErrors),
    // ionic: the device provides the names (infiniband/hw/ionic/ionic_hw_stats.c); Pensando's
    // firmware has these, misspelling included.
    name("tx_rdma_cnp_pkts", Measure::CnpSent),
    name("rx_rdma_ecn_pkts", Measure::MarkedPackets),
    name("rx_rdma_cnp_pkts", Measure::CnpHandled),
    name("resp_rx_outouf_seq", Measure::OutOfSequence),
    name("req_rx_pkt_seq_err", Measure::SequenceErrors),
    name("req_rx_impl_nak_seq_err", Measure::ImpliedNaks),
    name("tx_rdma_ack_timeout", Measure::AckTimeouts),
    name("req_rx_rnr_retry_err", Measure::RnrNaks),
    name("resp_rx_dup_request", Measure::DuplicateRequests),
    name("resp_rx_outof_buf", Measure::OutOfBuffer),
    name("tx_rdma_retx_pkts", Measure::RetransmittedPackets),
    name("tx_rdma_retx_bytes", Measure::RetransmittedBytes),
    name("rx_rdma_ucast_bytes", Measure::RdmaReceivedBytes),
    name("tx_rdma_ucast_bytes", Measure::RdmaSentBytes),
    name("rx_rdma_ucast_pkts", Measure::RdmaReceivedPackets),
    name("tx_rdma_ucast_pkts", Measure::RdmaSentPackets),
    // ionic (ethernet/pensando/ionic/ionic_stats.c): frames of all priorities, time of each.
    name("frames_rx_pripause", Measure::PauseReceived),
    name("frames_tx_pripause", Measure::PauseSent),
    scaled("rx_pripause_#_1us_count", Measure::PauseReceivedTime, 1_000),
    scaled("tx_pripause_#_1us_count", Measure::PauseSentTime, 1_000),
    name("frames_rx_dropped", Measure::Discards),
    // irdma (infiniband/hw/irdma/verbs.c), the spaced ones from its third generation on.
    name("cnpSent", Measure::CnpSent),
    name("RxECNMrkd", Measure::MarkedPackets),
    name("cnpHandled", Measure::CnpHandled),
    name("cnpIgnored", Measure::CnpIgnored),
    name("Rcvd Out of order packets", Measure::OutOfSequence),
    name("Nak Sequence Error", Measure::SequenceErrors),
    name("Nak Sequence Error Implied", Measure::ImpliedNaks),
    name("RTO", Measure::AckTimeouts),
    name("RNR received", Measure::RnrNaks),
    name("CRC errors", Measure::IcrcErrors),
    name("ip4InOctets", Measure::RdmaReceivedBytes),
    name("ip6InOctets", Measure::RdmaReceivedBytes),
    name("ip4OutOctets", Measure::RdmaSentBytes),
    name("ip6OutOctets", Measure::RdmaSentBytes),
    name("ip4InPkts", Measure::RdmaReceivedPackets),
    name("ip6InPkts", Measure::RdmaReceivedPackets),
    name("ip4OutPkts", Measure::RdmaSentPackets),
    name("ip6OutPkts", Measure::RdmaSentPackets),
    name("ip4InDiscards", Measure::Discards),
    name("ip6InDiscards", Measure::Discards),
    // ice, the net driver under irdma (ethernet/intel/ice/ice_ethtool.c).
    name("rx_priority_#_xoff.nic", Measure::PauseReceived),
    name("tx_priority_#_xoff.nic", Measure::PauseSent),
    // rxe, Linux' soft-RoCE (infiniband/sw/rxe/rxe_hw_counters.c).
    name("out_of_seq_request", Measure::OutOfSequence),
    name("rcvd_seq_err", Measure::SequenceErrors),
    name("rcvd_rnr_err", Measure::RnrNaks),
    name("rcvd_pkts", Measure::RdmaReceivedPackets),
    name("sent_pkts", Measure::RdmaSentPackets),
];

/// Names with this meaning for one driver; with others they count socket traffic, or nothing.
pub(super) const BY_DRIVER: &[(&str, &[Name])] = &[
    // infiniband/hw/efa/efa_verbs.c.
    (
        "efa",
        &[
            name("rx_bytes", Measure::RdmaReceivedBytes),
            name("tx_bytes", Measure::RdmaSentBytes),
            name("rx_pkts", Measure::RdmaReceivedPackets),
            name("tx_pkts", Measure::RdmaSentPackets),
            name("rx_drops", Measure::Discards),
            name("retrans_pkts", Measure::RetransmittedPackets),
            name("retrans_bytes", Measure::RetransmittedBytes),
            name("retrans_timeout_events", Measure::AckTimeouts),
        ],
    ),
    // bnxt_re's ring of unicast RoCE, where `*_roce_only_*` is not counted.
    (
        "bnxt_en",
        &[
            other("rx_bytes", Measure::RdmaReceivedBytes),
            other("tx_bytes", Measure::RdmaSentBytes),
            other("rx_pkts", Measure::RdmaReceivedPackets),
            other("tx_pkts", Measure::RdmaSentPackets),
        ],
    ),
];
