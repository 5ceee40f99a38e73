//! Classes of causes.

/// A class of cause; REPORT's ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// Nothing passes between two ports.
    PathDead,
    /// Nothing passes a port, in one direction or both.
    PortDown,
    /// A host is gone.
    HostDead,
    /// A process is gone: its NIC takes packets and answers none.
    ProcessGone,
    /// A process is stopped: it lives, and does nothing.
    ProcessStopped,
    /// A rank has not called what others wait in.
    RankNotCalled,
    /// Ranks called different collectives.
    RanksDisagree,
    /// A rank is in the collective, and its GPU neither sends nor makes room.
    GpuStuck,
    /// One queue pair is in the error state; others between the same ports work.
    QueuePairError,
    /// Packets are lost.
    Loss,
    /// Packets are delivered out of order, and the NIC asks for them again.
    Reordering,
    /// Packets are sprayed over paths, by design.
    PathsSprayed,
    /// Queues in the fabric.
    Congestion,
    /// A port is paused.
    Pause,
    /// A rank takes data slowly.
    SlowReceiver,
    /// A rank comes late to collectives.
    LateRank,
    /// Compute varies by chance; no rank stands out.
    ComputeVaries,
    /// Data goes over TCP.
    SocketFallback,
    /// A capture ended while its host went on: what it lacks is no sign of a hang.
    CaptureStopped,
    /// A finding that no other verdict explains; its id.
    Other(&'static str),
    /// The network did its part.
    NetworkNotTheCause,
    /// Too little was seen to judge.
    NotEnoughSeen,
}

impl Class {
    /// All that are no findings.
    pub const ALL: [Self; 21] = [
        Self::PathDead,
        Self::PortDown,
        Self::HostDead,
        Self::ProcessGone,
        Self::ProcessStopped,
        Self::RankNotCalled,
        Self::RanksDisagree,
        Self::GpuStuck,
        Self::CaptureStopped,
        Self::QueuePairError,
        Self::Loss,
        Self::Reordering,
        Self::PathsSprayed,
        Self::Congestion,
        Self::Pause,
        Self::SlowReceiver,
        Self::LateRank,
        Self::ComputeVaries,
        Self::SocketFallback,
        Self::NetworkNotTheCause,
        Self::NotEnoughSeen,
    ];

    /// The id in reports.
    #[must_use]
    pub const fn id(self) -> &'static str {
        match self {
            Self::PathDead => "path_dead",
            Self::PortDown => "port_down",
            Self::HostDead => "host_dead",
            Self::ProcessGone => "process_gone",
            Self::ProcessStopped => "process_stopped",
            Self::RankNotCalled => "rank_not_called",
            Self::RanksDisagree => "ranks_disagree",
            Self::GpuStuck => "gpu_stuck",
            Self::QueuePairError => "queue_pair_error",
            Self::Loss => "loss",
            Self::Reordering => "reordering",
            Self::PathsSprayed => "paths_sprayed",
            Self::Congestion => "congestion",
            Self::Pause => "pause",
            Self::SlowReceiver => "slow_receiver",
            Self::LateRank => "late_rank",
            Self::ComputeVaries => "compute_varies",
            Self::SocketFallback => "socket_fallback",
            Self::CaptureStopped => "capture_stopped",
            Self::Other(id) => id,
            Self::NetworkNotTheCause => "network_not_the_cause",
            Self::NotEnoughSeen => "not_enough_seen",
        }
    }

    /// What to do first.
    #[must_use]
    pub const fn remedy(self) -> &'static str {
        match self {
            Self::PathDead => {
                "Look at the path between these two ports: routes and ECMP members on the leaf and \
                 spine switches, ACLs, a failed line card. Ping and `ib_write_bw` between the two \
                 hosts while other pairs still work."
            }
            Self::PortDown => {
                "Look at this port, on the NIC and on the switch: link state, optics, drop and error \
                 counters (ethtool -S, show interface counters), recent changes. If \
                 only one direction is dead, suspect a transceiver or a filter on the switch port."
            }
            Self::HostDead => {
                "Is the host up (BMC console, power, kernel panic)? The others wait for it; restart \
                 the job without it."
            }
            Self::ProcessGone => {
                "Look at this rank's process: exit code, OOM killer (dmesg), scheduler events, the \
                 last lines of its log. If the host does not answer either, it is the host."
            }
            Self::ProcessStopped => {
                "Is the process stopped (state T in ps: SIGSTOP, a debugger, a cgroup freezer) or \
                 swapped out (state D, vmstat)?"
            }
            Self::RankNotCalled => {
                "Look at that rank's process: `py-spy dump --pid PID` shows the line it is in; look \
                 at its log, data loader and disk. Compare with the line that the others called."
            }
            Self::RanksDisagree => {
                "The program took different ways on these ranks: a branch on rank, data or an \
                 exception before this call; uneven batches (join, drop_last); modules that are \
                 unused on some ranks. TORCH_DISTRIBUTED_DEBUG=DETAIL checks every call."
            }
            Self::GpuStuck => {
                "Look at this rank's GPU: nvidia-smi, dmesg for Xid, `cuda-gdb` or a core dump of the \
                 kernel; another kernel before it in the stream; a send or receive of the same group \
                 that has no partner. Packets look the same where ranks called different collectives or \
                 sizes: compare their flight recorder dumps."
            }
            Self::QueuePairError => {
                "Look at the two processes of this queue pair: NCCL WARN with a completion status, \
                 dmesg of the NIC driver. Other queue pairs between the same ports work, so the \
                 network does."
            }
            Self::Loss => {
                "Look for drops at this place: ethtool -S (rx_discards_phy, rx_prio*_discards, symbol \
                 errors), switch interface counters, optics. Check at every hop that PFC is on for \
                 this priority and that the buffer has headroom."
            }
            Self::Reordering => {
                "Keep a queue pair on one path: ECMP by flow, no per-packet load balancing, LAG \
                 hashing on layer 4. If packets are meant to be sprayed, the NICs must place them out \
                 of order (adaptive routing enabled at both ends)."
            }
            Self::PathsSprayed => {
                "Nothing to do if the fabric is meant to spray packets and the NICs place them out of \
                 order; otherwise keep a queue pair on one path."
            }
            Self::Congestion => {
                "Incast: spread it (rails, ring order, NCCL_ALGO, fewer flows at once). One path: look \
                 for ECMP collisions on an uplink. Everywhere: check the switches' ECN thresholds \
                 (Kmin, Kmax) against the buffer."
            }
            Self::Pause => {
                "The station that pauses cannot keep up: a NIC (PCIe: outbound_pci_stalled_wr, GPU far \
                 away, slow receiver) or a switch with an incast behind it. ECN must act before PFC."
            }
            Self::SlowReceiver => {
                "The rank takes data slowly: GPU busy beside the collective (SM count, NCCL_MAX_CTAS), \
                 PCIe (nvidia-smi topo -m, outbound_pci_stalled_wr, ACS), GPU far from the NIC."
            }
            Self::LateRank => {
                "Look at this rank, not at the network: `py-spy dump`, nsys, data loader, garbage \
                 collection, CPU quota; nvidia-smi -q -d CLOCK,PERFORMANCE,TEMPERATURE; uneven work."
            }
            Self::ComputeVaries => {
                "No single rank to look at. All ranks wait for whichever computes longest: uneven \
                 sequence lengths or experts, data loading, garbage collection at different times \
                 (gc.freeze, or collect in the same step on all ranks)."
            }
            Self::SocketFallback => {
                "Make RDMA visible to the process: `ibv_devinfo` and /dev/infiniband inside the \
                 container, the device plugin's resource request, unlimited memlock, NCCL_IB_DISABLE \
                 unset, a correct NCCL_IB_HCA."
            }
            Self::CaptureStopped => {
                "Look at the capture: disk full, tcpdump killed, mirror session or splitter gone. The job \
                 went on without it."
            }
            Self::Other(_) => "",
            Self::NetworkNotTheCause => "Look at the ranks: CPU, GPU, input data.",
            Self::NotEnoughSeen => "Capture where the packets are: docs/limits.md says where.",
        }
    }
}
