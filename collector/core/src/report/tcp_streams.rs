//! TCP connections of the control plane.

use schemars::JsonSchema;
use serde::Serialize;

use super::sources::Sources;
use crate::link::control::facts::{StreamFacts, StreamKind};

/// A TCP connection.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct TcpStreamReport {
    /// Its number; numbers of connections outside the control plane are not listed.
    pub id: u32,
    /// The tap that saw it.
    pub tap: u32,
    /// The end that connects, with its port.
    pub src: String,
    /// The end that accepts, with its port.
    pub dst: String,
    /// `tcpstore`, `nccl_bootstrap`, `nccl_ib_oob`, `nccl_socket`, `nccl_ras` or `nccl_proxy`.
    pub kind: &'static str,
    /// Payload bytes, both ways.
    pub bytes: u64,
    /// Gaps of bytes that were not captured.
    pub gaps: u64,
    /// `id` of the communicator.
    pub communicator: Option<String>,
}

/// The connections of the control plane in order of appearance; `health` counts others.
pub(super) fn section(sources: &Sources<'_>) -> Vec<TcpStreamReport> {
    let known =
        sources.state.streams.iter().filter_map(|stream| Some((stream, kind_name(stream.kind)?)));
    known.map(|(stream, kind)| report(sources, stream, kind)).collect()
}

fn report(sources: &Sources<'_>, stream: &StreamFacts, kind: &'static str) -> TcpStreamReport {
    let job = sources.state.job.as_ref();
    let totals = stream.totals.map(|totals| [totals.client, totals.server]).unwrap_or_default();
    let of_magic = stream.magic.and_then(|magic| job?.magics.get(&magic));
    let communicator = of_magic.or_else(|| job?.listeners.get(&stream.connection.server)).copied();
    TcpStreamReport {
        id: stream.id.0,
        tap: stream.connection.tap.0,
        src: stream.connection.client.to_string(),
        dst: stream.connection.server.to_string(),
        kind,
        bytes: totals.iter().map(|one| one.bytes).sum(),
        gaps: totals.iter().map(|one| one.gaps).sum(),
        communicator: job.zip(communicator).and_then(|(job, id)| job.name_of(id)),
    }
}

const fn kind_name(kind: StreamKind) -> Option<&'static str> {
    Some(match kind {
        StreamKind::TcpStore => "tcpstore",
        StreamKind::Bootstrap => "nccl_bootstrap",
        StreamKind::IbOob => "nccl_ib_oob",
        StreamKind::Socket => "nccl_socket",
        StreamKind::Ras => "nccl_ras",
        StreamKind::Proxy => "nccl_proxy",
        StreamKind::Other => return None,
    })
}
