//! The time of this host.

use std::time::{SystemTime, UNIX_EPOCH};

use railscope_core::model::time::Timestamp;

/// The time now, by the wall clock.
#[expect(clippy::disallowed_methods, reason = "metrics and samples have the time of the clock")]
pub(super) fn now() -> Timestamp {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_nanos(u64::try_from(now.as_nanos()).unwrap_or(u64::MAX))
}
