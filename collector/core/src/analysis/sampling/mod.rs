//! What the samples of switches say of everything that passed: totals, shares and a rhythm, each with its
//! interval of 95 %.
//!
//! One packet in `N` is drawn at random. What a sum over the drawn packets says of the whole depends on
//! nothing else, however bursty the traffic is.

pub mod estimate;
mod pace;
pub mod rhythm;
mod spectrum;
pub mod switch;
mod waves;

use self::switch::SampledSwitch;
use super::state::State;

/// Judges what each switch sampled, in the order of their addresses.
#[must_use]
pub fn judge(state: &State) -> Vec<SampledSwitch> {
    state.sampled.iter().map(|(key, agent)| SampledSwitch::new(*key, agent)).collect()
}
