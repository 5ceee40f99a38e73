//! Counters of NICs and ports.

use super::id::PRIORITIES;

/// Cumulative counters of a NIC, under mlx5's names (Linux, `Documentation/networking/
/// device_drivers/ethernet/mellanox/mlx5/counters.rst` and sysfs `hw_counters`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NicCounters {
    /// CNPs sent because CE-marked packets arrived.
    pub np_cnp_sent: u64,
    /// RoCE packets received with CE.
    pub np_ecn_marked_roce_packets: u64,
    /// CNPs received that slowed a queue pair.
    pub rp_cnp_handled: u64,
    /// CNPs received that did not slow one: no rate control.
    pub rp_cnp_ignored: u64,
    /// Requests received after a gap.
    pub out_of_sequence: u64,
    /// Sequence NAKs received.
    pub packet_seq_err: u64,
    /// Times that an ACK was overdue.
    pub local_ack_timeout_err: u64,
    /// Duplicate requests received.
    pub duplicate_request: u64,
    /// Frames dropped because the receive buffer was full.
    pub rx_discards_phy: u64,
    /// The same, per priority.
    pub rx_prio_buf_discard: [u64; PRIORITIES],
    /// Bytes of RoCE frames received, without FCS.
    pub rx_vport_rdma_unicast_bytes: u64,
    /// Their number.
    pub rx_vport_rdma_unicast_packets: u64,
    /// Bytes of RoCE frames sent, without FCS.
    pub tx_vport_rdma_unicast_bytes: u64,
    /// Their number.
    pub tx_vport_rdma_unicast_packets: u64,
    /// PFC frames received, including XON.
    pub rx_prio_pause: [u64; PRIORITIES],
    /// Microseconds that sending was paused.
    pub rx_prio_pause_duration: [u64; PRIORITIES],
    /// Times that sending resumed after a pause.
    pub rx_prio_pause_transition: [u64; PRIORITIES],
    /// PFC frames sent, including XON.
    pub tx_prio_pause: [u64; PRIORITIES],
    /// Microseconds that the neighbour was asked to pause.
    pub tx_prio_pause_duration: [u64; PRIORITIES],
    /// Times that the link was lost.
    pub link_down_events_phy: u64,
}

/// Cumulative traffic of a port; frames without FCS. What one port sent, its peer received or
/// dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortCounters {
    /// Frames sent, including PFC.
    pub frames_sent: u64,
    /// Their bytes.
    pub bytes_sent: u64,
    /// Frames that reached the port, including those that did not fit.
    pub frames_received: u64,
    /// Their bytes.
    pub bytes_received: u64,
    /// Frames that the link to this port lost.
    pub frames_lost: u64,
    /// Their bytes.
    pub bytes_lost: u64,
    /// Frames received and dropped by the node: no buffer, or no route.
    pub frames_dropped: u64,
    /// Their bytes.
    pub bytes_dropped: u64,
    /// Packets marked with CE in this port's queue.
    pub frames_marked: u64,
    /// PFC frames sent, including XON.
    pub pauses_sent: [u64; PRIORITIES],
    /// PFC frames received, including XON.
    pub pauses_received: [u64; PRIORITIES],
    /// Nanoseconds that the neighbour was asked to pause, in completed pauses.
    pub asked_pause_ns: [u64; PRIORITIES],
    /// Nanoseconds that sending was paused, in completed pauses.
    pub paused_ns: [u64; PRIORITIES],
    /// Completed pauses of sending.
    pub pauses_over: [u64; PRIORITIES],
    /// Times that the link was lost.
    pub downs: u64,
}
