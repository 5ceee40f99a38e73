//! What NICs and ports count.

use super::plan::PRIORITIES;

/// Counters of a NIC, cumulative, under the names of mlx5 (Linux, `Documentation/networking/
/// device_drivers/ethernet/mellanox/mlx5/counters.rst` and sysfs `hw_counters`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NicCounters {
    /// CNPs sent.
    pub np_cnp_sent: u64,
    /// RoCE packets received with CE.
    pub np_ecn_marked_roce_packets: u64,
    /// CNPs received that slowed a queue pair.
    pub rp_cnp_handled: u64,
    /// CNPs received that did not: no rate control.
    pub rp_cnp_ignored: u64,
    /// Requests received behind a gap.
    pub out_of_sequence: u64,
    /// NAKs for a gap received.
    pub packet_seq_err: u64,
    /// Times that an ACK did not come in time.
    pub local_ack_timeout_err: u64,
    /// Requests received again.
    pub duplicate_request: u64,
    /// Frames dropped because the receive buffer was full.
    pub rx_discards_phy: u64,
    /// The same, for each priority.
    pub rx_prio_buf_discard: [u64; PRIORITIES],
    /// Frames without FCS of RoCE received.
    pub rx_vport_rdma_unicast_bytes: u64,
    /// Their number.
    pub rx_vport_rdma_unicast_packets: u64,
    /// Frames without FCS of RoCE sent.
    pub tx_vport_rdma_unicast_bytes: u64,
    /// Their number.
    pub tx_vport_rdma_unicast_packets: u64,
    /// PFC frames received, XON too.
    pub rx_prio_pause: [u64; PRIORITIES],
    /// Microseconds that sending was paused.
    pub rx_prio_pause_duration: [u64; PRIORITIES],
    /// Times that sending went on after a pause.
    pub rx_prio_pause_transition: [u64; PRIORITIES],
    /// PFC frames sent, XON too.
    pub tx_prio_pause: [u64; PRIORITIES],
    /// Microseconds that the neighbour was asked to pause.
    pub tx_prio_pause_duration: [u64; PRIORITIES],
    /// Times that the link was lost.
    pub link_down_events_phy: u64,
}

/// What passed a port, cumulative; frames without FCS. What one port sent, its peer received or
/// dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortCounters {
    /// Frames sent, PFC frames included.
    pub frames_sent: u64,
    /// Their bytes.
    pub bytes_sent: u64,
    /// Frames that reached the port, those included that it had no room for.
    pub frames_received: u64,
    /// Their bytes.
    pub bytes_received: u64,
    /// Frames that the link to this port lost.
    pub frames_lost: u64,
    /// Their bytes.
    pub bytes_lost: u64,
    /// Frames received that the node did not take: no room, or no route.
    pub frames_dropped: u64,
    /// Their bytes.
    pub bytes_dropped: u64,
    /// Packets that got CE when they queued here.
    pub frames_marked: u64,
    /// PFC frames sent, XON too.
    pub pauses_sent: [u64; PRIORITIES],
    /// PFC frames received, XON too.
    pub pauses_received: [u64; PRIORITIES],
    /// Nanoseconds that the neighbour was asked to pause, of pauses that are over.
    pub asked_pause_ns: [u64; PRIORITIES],
    /// Nanoseconds that sending was paused, of pauses that are over.
    pub paused_ns: [u64; PRIORITIES],
    /// Pauses of sending that are over.
    pub pauses_over: [u64; PRIORITIES],
    /// Times that the link was lost.
    pub downs: u64,
}
