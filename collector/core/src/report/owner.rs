//! Owners of flows.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::Serialize;

use super::evidence::EvidenceReport;
use super::sources::Sources;
use super::words;
use crate::analysis::queue_pair::{self, FlowOwner};
use crate::analysis::unlinked::{self, Gap, WhyUnknown};
use crate::link::job::{Ownership, Role};
use crate::model::grade::Grade;

/// The rank that a flow belongs to.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct OwnerReport {
    /// `id` of the communicator; `null` if unknown.
    pub communicator: Option<String>,
    /// The rank whose side sends this flow's packets.
    pub rank: Option<u32>,
    /// The other rank.
    pub peer_rank: Option<u32>,
    /// NCCL's channel.
    pub channel: Option<u32>,
    /// `id` of the connection.
    pub connection: Option<u32>,
    /// `data` (from `rank` to `peer_rank`) or `control` (CTSs and ACKs, against the data).
    pub role: Option<&'static str>,
    /// `proven`, `inferred` or `unknown`.
    pub grade: &'static str,
    /// What shows the owner, the strongest first.
    pub evidence: Vec<EvidenceReport>,
    /// Why something is `null`.
    pub why_unknown: Option<Cow<'static, str>>,
}

/// Owner of the flow at index `at` of the flow table; `None` if nothing was linked.
pub(super) fn of_flow(sources: &Sources<'_>, at: u32) -> Option<OwnerReport> {
    let job = sources.state.job.as_ref()?;
    let why_unknown = unlinked::why(job, at).map(|unknown| why(&unknown));
    match job.owner(at)? {
        Ownership::Nobody(_) => Some(OwnerReport::unknown(why_unknown)),
        Ownership::Connection { connection: id, role } => {
            let connection = job.connection(id)?;
            let FlowOwner { sender: rank, receiver: peer_rank, channel, .. } =
                queue_pair::owner(job, at)?;
            Some(OwnerReport {
                communicator: job.name_of(connection.communicator),
                rank,
                peer_rank,
                channel,
                connection: Some(id.0),
                role: Some(match role {
                    Role::Data => "data",
                    Role::Control => "control",
                }),
                grade: connection.grade.name(),
                evidence: EvidenceReport::list(sources, &connection.evidence),
                why_unknown,
            })
        }
    }
}

impl OwnerReport {
    fn unknown(why_unknown: Option<Cow<'static, str>>) -> Self {
        Self {
            communicator: None,
            rank: None,
            peer_rank: None,
            channel: None,
            connection: None,
            role: None,
            grade: Grade::Unknown.name(),
            evidence: Vec::new(),
            why_unknown,
        }
    }
}

/// Why a flow has no owner, or not all of it is known, in words.
pub(super) fn why(unknown: &WhyUnknown) -> Cow<'static, str> {
    match unknown {
        WhyUnknown::Nobody(reason) => words::owner::none(*reason).into(),
        WhyUnknown::Incomplete(gaps) => {
            let reason = |gap: &Gap| match gap {
                Gap::Bootstrap => words::owner::NO_BOOTSTRAP,
                Gap::Rank => words::owner::NO_RANK,
                Gap::Channel => words::owner::NO_CHANNEL,
            };
            match gaps.as_slice() {
                [gap] => reason(gap).into(),
                _ => gaps.iter().map(reason).collect::<Vec<_>>().join("; ").into(),
            }
        }
    }
}
