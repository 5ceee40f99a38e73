//! Whose a flow is.

use schemars::JsonSchema;
use serde::Serialize;

use super::evidence::EvidenceReport;

/// The rank that a flow belongs to.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct OwnerReport {
    /// `id` of the communicator; `null` where it is not known.
    pub communicator: Option<String>,
    /// The rank whose side sends this flow's packets.
    pub rank: Option<u32>,
    /// The other rank.
    pub peer_rank: Option<u32>,
    /// The channel.
    pub channel: Option<u32>,
    /// `id` of the connection.
    pub connection: Option<u32>,
    /// `data` (the collective's data, from `rank` to `peer_rank`) or `control` (CTS and ACKs, against
    /// the data).
    pub role: Option<&'static str>,
    /// `proven`, `inferred` or `unknown`.
    pub grade: &'static str,
    /// Reasons.
    pub evidence: Vec<EvidenceReport>,
    /// Why something is `null`.
    pub why_unknown: Option<String>,
}
