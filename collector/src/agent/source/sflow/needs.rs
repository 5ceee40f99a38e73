//! What receiving sFlow needs: no right, as its port is above 1023.

use crate::ingest::capability::{Host, Verdict};

pub(super) fn needs(_: &Host) -> Verdict {
    Verdict::new("what switches sample (sFlow)")
}
