//! Kinds of incidents: what goes wrong, and what the first verdict must say.

/// What the first line of a report must name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Expected {
    /// Its class, or one of them where packets cannot tell.
    pub(crate) classes: Vec<&'static str>,
    /// What must be said of a job in which nothing is wrong.
    pub(crate) info: Option<&'static str>,
    /// Hosts in the ring of the job.
    pub(crate) ring: u32,
    /// The host.
    pub(crate) host: Option<u32>,
    /// The other host of a path.
    pub(crate) peer: Option<u32>,
    /// The rank.
    pub(crate) rank: Option<u32>,
    /// The rank whose TCP is slow, of data over sockets.
    pub(crate) slow_socket: Option<u32>,
    /// `towards`, `from` or `both`, as seen from the host.
    pub(crate) direction: Option<&'static str>,
}

/// A kind of incident.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    LossTowards,
    LossFrom,
    LossOfAcks,
    Reordering,
    Congestion,
    Pause,
    SlowReceiver,
    LateCpu,
    LateGpu,
    PortDeadTowards,
    PortDeadFrom,
    PortDeadBoth,
    PathDead,
    Sockets,
    Healthy,
    HealthyJitter,
    HealthyStutter,
    HealthyWarmUp,
    HealthyEvaluation,
    HealthyCheckpoint,
    HealthyAgain,
    // After the others: seeds depend on the place.
    LossWhileSprayed,
    HealthySprayed,
    SlowSocket,
    LateOnce,
}

impl Kind {
    /// Incidents, then healthy jobs.
    pub(crate) const ALL: [Self; 25] = [
        Self::LossTowards,
        Self::LossFrom,
        Self::LossOfAcks,
        Self::Reordering,
        Self::Congestion,
        Self::Pause,
        Self::SlowReceiver,
        Self::LateCpu,
        Self::LateGpu,
        Self::LateOnce,
        Self::PortDeadTowards,
        Self::PortDeadFrom,
        Self::PortDeadBoth,
        Self::PathDead,
        Self::Sockets,
        Self::SlowSocket,
        Self::LossWhileSprayed,
        Self::Healthy,
        Self::HealthyJitter,
        Self::HealthyStutter,
        Self::HealthyWarmUp,
        Self::HealthyEvaluation,
        Self::HealthyCheckpoint,
        Self::HealthyAgain,
        Self::HealthySprayed,
    ];

    /// Its name in tables and on the command line.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::LossTowards => "loss_towards_port",
            Self::LossFrom => "loss_from_port",
            Self::LossOfAcks => "loss_of_acks",
            Self::Reordering => "reordering",
            Self::Congestion => "congestion",
            Self::Pause => "pause",
            Self::SlowReceiver => "slow_receiver",
            Self::LateCpu => "late_cpu",
            Self::LateGpu => "late_gpu",
            Self::PortDeadTowards => "port_dead_towards",
            Self::PortDeadFrom => "port_dead_from",
            Self::PortDeadBoth => "port_dead_both",
            Self::PathDead => "path_dead",
            Self::Sockets => "sockets",
            Self::SlowSocket => "slow_socket",
            Self::LateOnce => "late_once",
            Self::Healthy => "healthy",
            Self::HealthyJitter => "healthy_jitter",
            Self::HealthyStutter => "healthy_stutter",
            Self::HealthyWarmUp => "healthy_slow_first_step",
            Self::HealthyEvaluation => "healthy_evaluation",
            Self::HealthyCheckpoint => "healthy_checkpoint",
            Self::HealthyAgain => "healthy_again",
            Self::LossWhileSprayed => "loss_while_sprayed",
            Self::HealthySprayed => "healthy_sprayed",
        }
    }

    /// Whether the driver plays it, in real time.
    pub(crate) const fn is_driven(self) -> bool {
        matches!(self, Self::Sockets | Self::SlowSocket | Self::HealthyAgain)
    }

    /// Nothing is wrong: no verdict above `info`.
    pub(crate) const fn is_healthy(self) -> bool {
        matches!(
            self,
            Self::Healthy
                | Self::HealthyJitter
                | Self::HealthyStutter
                | Self::HealthyWarmUp
                | Self::HealthyEvaluation
                | Self::HealthyCheckpoint
                | Self::HealthyAgain
                | Self::HealthySprayed
        )
    }
}
