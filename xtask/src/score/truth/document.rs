//! The file that holds the truth, in either format.

use anyhow::{Context, Result};

use super::{Communicator, Truth, driver};

/// Reads `truth.json` or `truth.jsonl`.
pub(crate) fn parse(json: &[u8]) -> Result<Truth> {
    if driver::is_driven(json) {
        return driver::parse(json).context("parse the driver's truth");
    }
    let mut truth: Truth = serde_json::from_slice(json).context("parse the truth")?;
    if let Some(unique_id) = &truth.unique_id_hex {
        let communicator = Communicator::announced(unique_id, truth.world_size);
        truth.communicators.push(communicator.context("parse the unique id")?);
    }
    Ok(truth)
}
