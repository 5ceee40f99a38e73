//! What findings say: one variant a statement, with its figures. The words are the report's
//! (`report/words`).

pub mod congestion;
pub mod network;
pub mod pace;
pub mod pause;
pub mod setup;
pub mod transport;

use self::congestion::CongestionClaim;
use self::network::NetworkClaim;
use self::pace::PaceClaim;
use self::pause::PauseClaim;
use self::setup::SetupClaim;
use self::transport::TransportClaim;

/// What a finding says, by what it is about.
#[derive(Clone, Debug, PartialEq)]
pub enum Claim {
    /// How the job comes up.
    Setup(SetupClaim),
    /// Which network carries its data, and whether sources agree.
    Network(NetworkClaim),
    /// Loss, resends and refusals.
    Transport(TransportClaim),
    /// Congestion control and the header fields it needs.
    Congestion(CongestionClaim),
    /// Pause of links and priorities.
    Pause(PauseClaim),
    /// How fast ranks, rings and paths are.
    Pace(PaceClaim),
}

impl From<SetupClaim> for Claim {
    fn from(claim: SetupClaim) -> Self {
        Self::Setup(claim)
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
