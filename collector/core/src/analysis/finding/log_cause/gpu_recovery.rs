//! The driver says what a GPU needs before it can be used again.

use super::gpu_failed::xid;
use super::{Depth, LogCause};
use crate::analysis::severity::Severity;

/// A recovery is due.
pub(super) const CAUSE: LogCause = LogCause {
    id: "gpu_recovery",
    what: "a GPU waits to be recovered (Xid 154)",
    depth: Depth::Effect,
    severity: Severity::Critical,
    lines: &[
        "NVRM: Xid (PCI:0000:1a:00): 154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)",
        "NVRM: Xid (PCI:0000:1a:00): 154, GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)",
        "NVRM: Xid (PCI:0000:1a:00): 154, GPU recovery action changed from 0x0 (None) to 0x4 (Drain and Reset)",
    ],
    proves: |text| xid(text) == Some(154) && action(text).is_some_and(|action| action != "None"),
    variables: &[],
    unlike: "`to 0x0 (None)`: the recovery is done. Lines before it have the Xid that says what failed.",
    remedy: "`GPU Reset Required`: end all processes on it and `nvidia-smi --gpu-reset -i N`. `Node Reboot Required`: \
             drain the host and reboot. `Drain P2P`: end the jobs that use peer-to-peer with it, start no new ones. \
             `Drain and Reset`: let its jobs end, then reset it.",
    source: "NVIDIA Xid errors documentation: 154",
};

/// The action that is due: `Node Reboot Required`.
fn action(text: &str) -> Option<&str> {
    let (_, to) = text.rsplit_once(" to 0x")?;
    let (_, action) = to.split_once('(')?;
    Some(action.split_once(')')?.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recovery_that_is_done_is_no_cause() {
        let line = "NVRM: Xid (PCI:0000:1a:00): 154, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)";
        assert_eq!(action(line), Some("None"));
        assert!(!(CAUSE.proves)(line));
        assert!((CAUSE.proves)(&line.replace("0x0 (None)", "0x3 (Drain P2P)")));
    }
}
