//! Titles of findings: one line that says what is wrong, where, and by how much.

mod among;
mod calls;
mod congestion;
mod logged;
mod network;
mod node;
mod pace;
mod pause;
mod setup;
mod switch;
mod transport;

use crate::analysis::finding::claim::Claim;

/// The title of a finding.
#[must_use]
pub fn title(claim: &Claim) -> String {
    match claim {
        Claim::Setup(claim) => setup::title(claim),
        Claim::Network(claim) => network::title(claim),
        Claim::Transport(claim) => transport::title(claim),
        Claim::Congestion(claim) => congestion::title(claim),
        Claim::Pause(claim) => pause::title(claim),
        Claim::Pace(claim) => pace::title(claim),
        Claim::Calls(claim) => calls::title(claim),
        Claim::Logged(claim) => logged::title(claim),
        Claim::Node(claim) => node::title(claim),
        Claim::Switch(claim) => switch::title(claim),
    }
}
