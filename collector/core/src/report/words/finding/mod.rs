//! Titles of findings: one line that says what is wrong, where, and by how much.

mod congestion;
mod network;
mod pace;
mod pause;
mod setup;
mod transport;

use super::number::count;
use crate::analysis::finding::claim::Claim;
use crate::analysis::finding::naming::Among;

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
    }
}

/// `name` of the only one, or `12 nouns`.
fn among<T>(all: &Among<T>, name: impl FnOnce(&T) -> String, nouns: &str) -> String {
    match all {
        Among::Only(only) => name(only),
        Among::Several(several) => format!("{} {nouns}", count(*several)),
    }
}
