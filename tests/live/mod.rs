//! Live sources against what captures of the same traffic give.

#[cfg(feature = "live")]
mod ebpf;
mod runs;
