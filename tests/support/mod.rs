//! What the tests share: captures, oracles, and encoders that are not the product's.

pub mod capture_file;
pub mod clock;
pub mod control;
pub mod conversation;
pub mod crc;
pub mod data_base;
pub mod fixture;
pub mod frame;
pub mod ip;
pub mod mad;
pub mod pcap;
pub mod railscope;
pub mod random;
pub mod receivers;
pub mod recording;
pub mod require;
pub mod roce;
pub mod skewed;
pub mod streams;
pub mod tool;
#[cfg(target_os = "linux")]
pub mod tree;
pub mod tshark;
pub mod wire;
