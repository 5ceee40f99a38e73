//! A GPU failed.

use super::{Depth, LogCause};
use crate::analysis::severity::Severity;

/// A GPU failed.
pub(super) const CAUSE: LogCause = LogCause {
    id: "gpu_failed",
    what: "a GPU failed or fell off the bus",
    depth: Depth::Root,
    severity: Severity::Critical,
    lines: &[
        "NVRM: Xid (PCI:0000:1a:00): 79, GPU has fallen off the bus.",
        "CUDA error: uncorrectable ECC error encountered",
        "amdgpu 0000:43:00.0: amdgpu: GPU reset begin!",
    ],
    proves: |text| {
        xid(text).is_some_and(|number| !HARMLESS.contains(&number))
            || text.contains("fallen off the bus")
            || text.contains("uncorrectable ECC")
            || text.contains("uncorrectable NVLink")
            || text.contains("RmInitAdapter failed")
            || text.contains("GPU reset begin")
            || text.contains("hardware failure")
    },
    variables: &[],
    unlike: "Xid 13, 31, 43 and 45 are errors of the program or of a process that was ended; 74 and 144 to 150 are of \
             NVLink. Xid 63, 92, 121 and 154 report a repair, corrected errors or what to do next: no failure.",
    remedy: "Look the Xid up (79 and 48, 64, 94, 95, 119, 120 are hardware: drain the host, reset \
             the GPU, RMA if it returns); `nvidia-smi -q`, dcgmi diag -r 3. Other ranks wait for \
             this one.",
    source: "NVIDIA Xid errors documentation",
};

/// Xids that report no failure: memory was remapped, errors were corrected, which recovery is due.
const HARMLESS: &[u32] = &[63, 92, 121, 154];

/// The number of an Xid: 79 of `NVRM: Xid (PCI:0000:1a:00): 79, ...`.
pub(super) fn xid(text: &str) -> Option<u32> {
    let (_, rest) = text.split_once("NVRM: Xid")?;
    let (_, rest) = rest.split_once("): ")?;
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    rest.get(..end)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn corrected_errors_are_no_failure() {
        let line = "NVRM: Xid (PCI:0000:1a:00): 63, pid='<unknown>', name=<unknown>, Row Remapper: New row marked";
        assert_eq!(xid(line), Some(63));
        assert!(!(CAUSE.proves)(line));
        assert!((CAUSE.proves)("NVRM: Xid (PCI:0000:1a:00): 95, pid=1, Uncontained ECC error"));
    }
}
