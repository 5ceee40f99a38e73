//! What asking RAS needs: nothing but a job that listens.

use crate::ingest::capability::{Host, Verdict};

pub(super) fn needs(_: &Host) -> Verdict {
    Verdict::new("status of NCCL jobs that hang (RAS)")
}
