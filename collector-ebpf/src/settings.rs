//! Settings of the kernel programs, written before they are loaded.

use bytemuck::{Pod, Zeroable};

/// Read-only while the programs run.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub struct Settings {
    /// Nanoseconds after which a run of MIDDLE packets ends even without a new event, or a quarter of a
    /// millisecond later.
    pub run_limit: u64,
    /// Bytes of payload of each direction of a TCP connection that are delivered.
    pub stream_limit: u32,
    /// 1 if losses are logged, else 0, and then the verifier removes the logging code.
    pub logs: u32,
}

impl Settings {
    /// Defaults: bursts are measured in milliseconds, and the bootstrap of a thousand ranks sends about
    /// 200 KB on a connection.
    pub const DEFAULT: Self = Self { run_limit: 1_000_000, stream_limit: 256 * 1024, logs: 0 };
}
