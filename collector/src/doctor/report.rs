//! The JSON contract `railscope.doctor/1`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::check::ALL;
use super::fact::Facts;
use super::outcome::{Outcome, Status};
use super::setting::{self, Settings};

/// Name and version of the contract.
pub const SCHEMA: &str = "railscope.doctor/1";

/// What was found on a node.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Examination {
    /// `railscope.doctor/1`.
    pub schema: String,
    /// Version of railscope.
    pub version: String,
    /// Name of the node.
    pub host: String,
    /// Whether it ran as root: some files are for root only.
    pub is_root: bool,
    /// What shows that it ran in a container; `null` outside.
    pub container: Option<String>,
    /// The worst that was found.
    pub worst: Status,
    /// What checks say, the worst first, else in the order of the checks.
    pub outcomes: Vec<Outcome>,
    /// What nodes of one cluster should have alike.
    pub settings: Settings,
}

impl Examination {
    /// What facts say of a node; `more` are outcomes of other comparisons.
    #[must_use]
    pub fn new(facts: &Facts, version: &str, more: Vec<Outcome>) -> Self {
        let mut outcomes = super::check::judge(facts);
        outcomes.extend(more);
        outcomes.sort_by_key(|outcome| std::cmp::Reverse(outcome.status));
        Self {
            schema: SCHEMA.to_owned(),
            version: version.to_owned(),
            host: facts.place.host.clone(),
            is_root: facts.place.is_root,
            container: facts.place.container.clone(),
            worst: outcomes.iter().map(|outcome| outcome.status).max().unwrap_or(Status::Unknown),
            outcomes,
            settings: setting::of(facts),
        }
    }

    /// How many outcomes have this status.
    #[must_use]
    pub fn count(&self, status: Status) -> usize {
        self.outcomes.iter().filter(|outcome| outcome.status == status).count()
    }
}

/// The question that a check answers.
#[must_use]
pub fn question(check: &str) -> Option<&'static str> {
    ALL.iter().find(|known| known.name == check).map(|known| known.asks)
}
