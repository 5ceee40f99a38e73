//! State per tap, per flow, per port: what a sequence of packets says that one packet does not.
//!
//! [`tracker::FlowTracker`] is the entry. Every table has a capacity and a counter of what it gave
//! up. Time is the packets' own.

pub mod answer;
mod arrival;
pub mod burst;
pub mod connection;
pub mod disorder;
pub mod duplicate;
pub mod episode;
pub mod histogram;
pub mod identification;
pub mod key;
pub mod message;
pub mod mirror;
pub mod opcodes;
pub mod pairing;
pub mod pause;
pub mod port;
pub mod rate;
pub mod recent;
pub mod response;
pub mod round_trip;
pub mod sequence;
pub mod state;
pub mod table;
pub mod tally;
pub mod tap;
pub mod tracker;
