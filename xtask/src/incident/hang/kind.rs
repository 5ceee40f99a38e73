//! Kinds of hangs, and jobs that only look like one.

/// A kind of hang.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum HangKind {
    Killed,
    Stopped,
    StoppedOverTcp,
    HostDead,
    PortTowards,
    PortFrom,
    PortBoth,
    PathDead,
    NeverCalled,
    GpuStuck,
    DataWithheld,
    RoomWithheld,
    QueuePairError,
    NotReady,
    OtherCall,
    OtherSize,
    Pause,
    SocketPort,
    SocketPath,
    Bootstrap,
    CaptureStopped,
    Ended,
    Checkpoint,
    Running,
}

impl HangKind {
    /// Hangs, then jobs that do not hang.
    pub(crate) const ALL: [Self; 24] = [
        Self::Killed,
        Self::Stopped,
        Self::StoppedOverTcp,
        Self::HostDead,
        Self::PortTowards,
        Self::PortFrom,
        Self::PortBoth,
        Self::PathDead,
        Self::NeverCalled,
        Self::GpuStuck,
        Self::DataWithheld,
        Self::RoomWithheld,
        Self::QueuePairError,
        Self::NotReady,
        Self::OtherCall,
        Self::OtherSize,
        Self::Pause,
        Self::SocketPort,
        Self::SocketPath,
        Self::Bootstrap,
        Self::CaptureStopped,
        Self::Ended,
        Self::Checkpoint,
        Self::Running,
    ];

    /// Its name in tables and on the command line.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Killed => "killed",
            Self::Stopped => "stopped",
            Self::StoppedOverTcp => "stopped_over_tcp",
            Self::HostDead => "host_dead",
            Self::PortTowards => "port_down_towards",
            Self::PortFrom => "port_down_from",
            Self::PortBoth => "port_down_both",
            Self::PathDead => "path_dead",
            Self::NeverCalled => "never_called",
            Self::GpuStuck => "gpu_stuck",
            Self::DataWithheld => "data_withheld",
            Self::RoomWithheld => "room_withheld",
            Self::QueuePairError => "queue_pair_error",
            Self::NotReady => "receiver_not_ready",
            Self::OtherCall => "other_call",
            Self::OtherSize => "other_size",
            Self::Pause => "pause_without_end",
            Self::SocketPort => "port_of_sockets_down",
            Self::SocketPath => "path_of_sockets_dead",
            Self::Bootstrap => "bootstrap_incomplete",
            Self::CaptureStopped => "capture_stopped",
            Self::Ended => "job_ended",
            Self::Checkpoint => "checkpoint",
            Self::Running => "running",
        }
    }

    /// The class that is right; `None` if nothing hangs.
    pub(crate) const fn class(self) -> Option<&'static str> {
        match self {
            Self::Killed => Some("process_gone"),
            Self::Stopped | Self::StoppedOverTcp => Some("process_stopped"),
            Self::HostDead => Some("host_dead"),
            Self::PortTowards | Self::PortFrom | Self::PortBoth => Some("port_down"),
            Self::PathDead => Some("path_dead"),
            Self::NeverCalled => Some("rank_not_called"),
            Self::GpuStuck | Self::DataWithheld | Self::RoomWithheld => Some("gpu_stuck"),
            Self::QueuePairError => Some("queue_pair_error"),
            Self::NotReady => Some("receiver_not_ready"),
            Self::OtherCall | Self::OtherSize => Some("ranks_disagree"),
            Self::Pause => Some("pause"),
            Self::SocketPort | Self::SocketPath => Some("socket_stalled"),
            Self::Bootstrap => Some("bootstrap_incomplete"),
            Self::CaptureStopped | Self::Ended | Self::Checkpoint | Self::Running => None,
        }
    }

    /// Whether the driver plays it: in real time, and with real sockets.
    pub(crate) const fn is_driven(self) -> bool {
        self.is_over_tcp() || matches!(self, Self::Bootstrap)
    }

    /// Whether its data goes over TCP.
    pub(super) const fn is_over_tcp(self) -> bool {
        matches!(self, Self::StoppedOverTcp | Self::SocketPort | Self::SocketPath)
    }

    /// How many of `of_class` jobs of its class are of this kind; all of a class that only one kind makes.
    pub(crate) fn share(self, of_class: u64) -> u64 {
        let class = self.class();
        let kinds = match class {
            Some(_) => Self::ALL.into_iter().filter(|other| other.class() == class).count(),
            None => 1,
        };
        of_class.div_ceil(kinds as u64)
    }
}
