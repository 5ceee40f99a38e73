//! What user space tells the kernel programs before they are loaded.

use bytemuck::{Pod, Zeroable};

/// Read-only while the programs run.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub struct Settings {
    /// Nanoseconds after which a run of middles ends although nothing new came, or a quarter of a millisecond
    /// later.
    pub run_limit: u64,
    /// Bytes of payload of each direction of a TCP connection that are handed out.
    pub stream_limit: u32,
    /// 1 where losses are logged, else 0: the verifier drops the code that logs.
    pub logs: u32,
}

impl Settings {
    /// What is used unless told: bursts are measured in milliseconds, and the bootstrap of a
    /// thousand ranks says about 200 KB on a connection.
    pub const DEFAULT: Self = Self { run_limit: 1_000_000, stream_limit: 256 * 1024, logs: 0 };
}
