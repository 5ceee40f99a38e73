//! Everything that the report has about a collective.

use serde::Serialize;

use super::missing::Missing;
use railscope_core::report::Report;
use railscope_core::report::collectives::{CollectiveConnectionReport, CollectiveReport};
use railscope_core::report::communicators::{CommunicatorReport, ConnectionReport};
use railscope_core::report::transfers::TransferReport;

/// A collective with its messages on each connection.
#[derive(Clone, Debug, Serialize)]
pub struct CollectiveFacts<'a> {
    /// The collective itself.
    pub(super) collective: &'a CollectiveReport,
    /// Its connections, in their order.
    pub(super) lanes: Vec<Lane<'a>>,
}

/// A collective's messages on one connection.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Lane<'a> {
    pub(super) part: &'a CollectiveConnectionReport,
    pub(super) connection: Option<&'a ConnectionReport>,
    pub(super) transfers: Vec<&'a TransferReport>,
}

impl<'a> CollectiveFacts<'a> {
    /// Finds the collective with this number.
    pub(super) fn find(report: &'a Report, id: u32) -> Result<Self, Missing> {
        let found = report.collectives.iter().find(|one| one.id == id);
        let collective = found.ok_or_else(|| {
            Missing(match report.collectives.last() {
                None => "no NCCL collective in this input".to_owned(),
                Some(last) => {
                    format!("no collective {id}; this input has 0 to {}", last.id)
                }
            })
        })?;
        let communicator =
            report.communicators.iter().find(|one| one.id == collective.communicator);
        let transfers: Vec<&TransferReport> = report
            .transfers
            .iter()
            .flatten()
            .filter(|transfer| transfer.collective == Some(id))
            .collect();
        let lane = |part: &'a CollectiveConnectionReport| Lane {
            part,
            connection: communicator.and_then(|one| connection(one, part.connection)),
            transfers: transfers
                .iter()
                .copied()
                .filter(|transfer| transfer.connection == part.connection)
                .collect(),
        };
        Ok(Self { collective, lanes: collective.connections.iter().map(lane).collect() })
    }
}

fn connection(communicator: &CommunicatorReport, id: u32) -> Option<&ConnectionReport> {
    communicator.connections.iter().find(|connection| connection.id == id)
}
