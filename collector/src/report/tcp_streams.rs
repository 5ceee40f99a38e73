//! TCP connections of the control plane.

use schemars::JsonSchema;
use serde::Serialize;

/// A TCP connection.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct TcpStreamReport {
    /// Its number.
    pub id: u32,
    /// The tap that saw it.
    pub tap: u32,
    /// The end that connects, with its port.
    pub src: String,
    /// The end that accepts, with its port.
    pub dst: String,
    /// `tcpstore`, `nccl_bootstrap`, `nccl_ib_oob`, `nccl_socket`, `nccl_ras`, `nccl_proxy` or
    /// `other`.
    pub kind: &'static str,
    /// Payload bytes, both ways.
    pub bytes: u64,
    /// Stretches of bytes that were not captured.
    pub gaps: u64,
    /// `id` of the communicator.
    pub communicator: Option<String>,
}
