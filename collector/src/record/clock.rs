//! The clock that frames are timed by.

use std::time::{SystemTime, UNIX_EPOCH};

use railscope_core::model::time::Timestamp;

/// The time now.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "segments age, and saves end, by the clock")]
pub fn now() -> Timestamp {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_nanos(u64::try_from(now.as_nanos()).unwrap_or(u64::MAX))
}
