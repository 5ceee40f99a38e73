//! Shared by all tests: captures, oracles, and encoders independent of the product's.

pub mod capture_file;
pub mod clock;
pub mod control;
pub mod conversation;
pub mod crc;
#[cfg(target_os = "linux")]
pub mod fabric;
pub mod fixture;
pub mod frame;
pub mod ip;
#[cfg(feature = "agent")]
pub mod kubelet;
pub mod mad;
pub mod otlp_receiver;
pub mod outcome;
pub mod pcap;
pub mod pipeline;
pub mod railscope;
pub mod random;
pub mod receivers;
pub mod recording;
pub mod require;
pub mod roce;
pub mod samples;
#[cfg(target_os = "linux")]
pub mod service;
pub mod skewed;
pub mod streams;
pub mod tap;
pub mod tool;
#[cfg(all(target_os = "linux", feature = "drive", feature = "otlp"))]
pub mod traces;
#[cfg(target_os = "linux")]
pub mod tree;
pub mod tshark;
pub mod wire;
