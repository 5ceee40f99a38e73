//! What a finding is about.

use std::net::IpAddr;

use crate::link::job::CommunicatorId;

/// What a finding is about; what does not apply is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subject {
    /// The communicator that it concerns.
    pub communicator: Option<CommunicatorId>,
    /// Rank in `communicator`.
    pub rank: Option<u32>,
    /// A flow, by its place in the flow table.
    pub flow: Option<u32>,
    /// Address of the port that it concerns.
    pub port: Option<IpAddr>,
    /// A training step, by number.
    pub iteration: Option<u32>,
}
