//! Stragglers: the rank that others waited for, and why.

use std::net::IpAddr;

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use super::evidence::EvidenceReport;
use super::sources::Sources;
use super::words;
pub use crate::analysis::straggler::Cause;
use crate::analysis::straggler::Straggler;
use crate::link::job::{NetConnectionId, Ownership, Role};

/// A rank that others waited for.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct StragglerReport {
    /// The rank, in the communicator of the collective.
    pub rank: u32,
    /// How long the others waited for it.
    pub lag_ns: u64,
    /// `enqueue`, `compute`, `sender`, `receiver`, `congestion`, `loss`, `pause` or `unknown`. `socket`
    /// is reserved: no rule attributes a wait to it yet.
    #[serde(serialize_with = "by_name")]
    #[schemars(with = "String")]
    pub cause: Cause,
    /// `id` of the flow that shows it best.
    pub flow: Option<u32>,
    /// Address of the port that shows it best.
    pub port: Option<String>,
    /// The rail of that port.
    pub rail: Option<u32>,
    /// `proven`, `inferred` or `unknown`.
    pub grade: &'static str,
    /// Evidence, the strongest first.
    pub evidence: Vec<EvidenceReport>,
}

impl StragglerReport {
    pub(super) fn new(sources: &Sources<'_>, straggler: &Straggler) -> Self {
        let connection = straggler.connection;
        let port = connection.and_then(|connection| sender_port(sources, connection));
        Self {
            rank: straggler.rank,
            lag_ns: straggler.lag_ns,
            cause: straggler.cause,
            flow: connection.and_then(|connection| data_flow(sources, connection)),
            port: port.map(|port| port.to_string()),
            rail: port.and_then(|port| sources.state.rails.of_address(port)),
            grade: straggler.grade.name(),
            evidence: straggler
                .evidence
                .iter()
                .map(|sign| {
                    let text = words::straggler::sign(&sign.kind);
                    EvidenceReport::stated(sources, sign.kind.name(), text, sign.witness)
                })
                .collect(),
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
pub(super) fn by_name<S: Serializer>(cause: &Cause, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(cause.name())
}

/// The flow of a connection's data.
fn data_flow(sources: &Sources<'_>, connection: NetConnectionId) -> Option<u32> {
    let data = Ownership::Connection { connection, role: Role::Data };
    let mut owners = (0..).zip(&sources.state.job.as_ref()?.owners);
    owners.find(|(_, owner)| **owner == data).and_then(|(at, _)| sources.flow_ids.of(at))
}

/// The port that a connection's data leaves from.
fn sender_port(sources: &Sources<'_>, connection: NetConnectionId) -> Option<IpAddr> {
    let known = sources.state.job.as_ref()?.connection(connection)?;
    known.addresses().map(|(sender, _)| sender)
}
