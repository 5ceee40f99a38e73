//! One GPU, two ranks.

use super::{Depth, LogCause};
use crate::analysis::severity::Severity;

/// One GPU, two ranks.
pub(super) const CAUSE: LogCause = LogCause {
    id: "duplicate_gpu",
    what: "two ranks use the same GPU",
    depth: Depth::Root,
    severity: Severity::Critical,
    lines: &[
        "Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 1a000",
        "Multiple Ranks are using the same GPU/Partition.",
    ],
    proves: |text| text.contains("Duplicate GPU detected") || text.contains("using the same GPU"),
    variables: &[],
    unlike: "MIG instances, of which each counts as a GPU.",
    remedy: "Call torch.cuda.set_device(local_rank) before the first collective, start as many \
             processes as GPUs per host, and check CUDA_VISIBLE_DEVICES (srun --gpus-per-task \
             hides all but one).",
    source: "NCCL src/init.cc",
};
