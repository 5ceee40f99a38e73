//! What became of packets between two ports, by direction, and which port or path explains what was
//! lost.

pub mod outage;
pub mod passage;
pub mod place;
pub mod spraying;
pub mod tally;
