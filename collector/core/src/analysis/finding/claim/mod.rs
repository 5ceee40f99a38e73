//! Statements of findings: one variant each, with its figures. The words are the report's
//! (`report/words`).

pub mod calls;
pub mod congestion;
pub mod logged;
pub mod network;
pub mod node;
pub mod pace;
pub mod pause;
pub mod setup;
pub mod switch;
pub mod transport;

use self::calls::CallsClaim;
use self::congestion::CongestionClaim;
use self::logged::LoggedClaim;
use self::network::NetworkClaim;
use self::node::NodeClaim;
use self::pace::PaceClaim;
use self::pause::PauseClaim;
use self::setup::SetupClaim;
use self::switch::SwitchClaim;
use self::transport::TransportClaim;

/// A finding's statement, by topic.
#[derive(Clone, Debug, PartialEq)]
pub enum Claim {
    /// Start of the job.
    Setup(SetupClaim),
    /// The network that carries its data, and contradictions between sources.
    Network(NetworkClaim),
    /// Loss, retransmissions and rejected requests.
    Transport(TransportClaim),
    /// Congestion control and the header fields it needs.
    Congestion(CongestionClaim),
    /// Pause of links and priorities.
    Pause(PauseClaim),
    /// Pace of ranks, rings and paths.
    Pace(PaceClaim),
    /// What processes recorded of their own calls.
    Calls(CallsClaim),
    /// Lines of logs.
    Logged(LoggedClaim),
    /// Nodes and benchmarks, as outputs of other tools show them.
    Node(NodeClaim),
    /// Switches, as their `show` commands describe them.
    Switch(SwitchClaim),
}

impl From<SwitchClaim> for Claim {
    fn from(claim: SwitchClaim) -> Self {
        Self::Switch(claim)
    }
}

impl From<NodeClaim> for Claim {
    fn from(claim: NodeClaim) -> Self {
        Self::Node(claim)
    }
}

impl From<SetupClaim> for Claim {
    fn from(claim: SetupClaim) -> Self {
        Self::Setup(claim)
    }
}

impl From<LoggedClaim> for Claim {
    fn from(claim: LoggedClaim) -> Self {
        Self::Logged(claim)
    }
}

impl From<CallsClaim> for Claim {
    fn from(claim: CallsClaim) -> Self {
        Self::Calls(claim)
    }
}

impl From<NetworkClaim> for Claim {
    fn from(claim: NetworkClaim) -> Self {
        Self::Network(claim)
    }
}

impl From<TransportClaim> for Claim {
    fn from(claim: TransportClaim) -> Self {
        Self::Transport(claim)
    }
}

impl From<CongestionClaim> for Claim {
    fn from(claim: CongestionClaim) -> Self {
        Self::Congestion(claim)
    }
}

impl From<PauseClaim> for Claim {
    fn from(claim: PauseClaim) -> Self {
        Self::Pause(claim)
    }
}

impl From<PaceClaim> for Claim {
    fn from(claim: PaceClaim) -> Self {
        Self::Pace(claim)
    }
}
