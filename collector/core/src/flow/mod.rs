//! State per tap, flow and port: what a sequence of packets shows that one packet does not.
//!
//! [`tracker::FlowTracker`] is the entry. Every table has a capacity and a counter of evictions.
//! Time comes from the packets.

pub mod jump;
pub mod key;
pub mod identification;
pub mod disorder;
pub mod sequence;
pub mod histogram;
pub mod round_trip;
mod run;
pub mod episode;
mod epoch;
pub mod message;
pub mod answer;
pub mod response;
pub mod path_mtu;
pub mod rate;
pub mod requester;
pub mod sighting;
pub mod tally;
pub mod opcodes;
pub mod state;
pub mod view;
pub mod table;
pub mod recent;
pub mod pairing;
pub mod connection;
pub mod duplicate;
pub mod burst;
pub mod port;
pub mod pause;
pub mod mirror;
pub mod sampled;
pub mod tap;
mod arrival;
mod asked;
pub mod observer;
pub mod tcp_stream;
pub mod tracker;
