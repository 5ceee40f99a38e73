//! Conflicts: two sources that disagree. Both statements are reported.

use schemars::JsonSchema;
use serde::Serialize;

use super::sources::Sources;
use super::words;
use crate::link::job::{Conflict, Job};

/// Two contradictory statements.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ConflictReport {
    /// `id` of the communicator.
    pub communicator: Option<String>,
    /// The rank concerned.
    pub rank: Option<u32>,
    /// `id` of the connection concerned.
    pub connection: Option<u32>,
    /// What is contradicted: `sender`, or a fact about a rank.
    pub what: &'static str,
    /// What the report uses: the statement with the stronger evidence.
    pub reported: String,
    /// The other statement.
    pub contradicted_by: String,
}

/// The conflicts by connection and rank.
pub(super) fn section(sources: &Sources<'_>) -> Vec<ConflictReport> {
    let Some(job) = &sources.state.job else { return Vec::new() };
    job.conflicts.iter().map(|conflict| report(job, conflict)).collect()
}

fn report(job: &Job, conflict: &Conflict) -> ConflictReport {
    match conflict {
        Conflict::Tag { connection, expected, tag, count } => {
            let known = job.connection(*connection);
            ConflictReport {
                communicator: known.and_then(|one| job.name_of(one.communicator)),
                rank: Some(*expected),
                connection: Some(connection.0),
                what: "sender",
                reported: words::conflict::sender(*expected),
                contradicted_by: words::conflict::tagged(*tag, *count),
            }
        }
        Conflict::Log { communicator, rank, what, captured, logged } => ConflictReport {
            communicator: job.name_of(*communicator),
            rank: Some(*rank),
            connection: None,
            what,
            reported: captured.clone(),
            contradicted_by: words::conflict::logged(logged),
        },
    }
}
