//! What a scenario is.

use std::path::Path;

use anyhow::Result;

use crate::lab::facts::Facts;
use crate::verbs;

/// One scenario.
pub(in crate::lab) struct Scenario {
    /// Name of its script and of its results folder.
    pub(in crate::lab) name: &'static str,
    pub(in crate::lab) about: &'static str,
    /// Timeout of the script in seconds; an idle machine takes a tenth.
    pub(super) limit: u64,
    /// Runs programs that are built with the feature `verbs`, /host/railscope and /host/verbs, or
    /// /host/libnccl.so.2, which is built with the same headers.
    pub(in crate::lab) needs_verbs: bool,
    /// Runs on the older kernel.
    pub(super) has_older_kernel: bool,
    /// Checks the results in the folder with the program.
    pub(super) check: fn(&Path, &Path, &mut Facts) -> Result<()>,
}

impl Scenario {
    /// If not, the reason.
    pub(super) fn can_be_built(&self) -> bool {
        let missing = if self.needs_verbs { verbs::missing_packages() } else { Vec::new() };
        if !missing.is_empty() {
            eprintln!("SKIP scenario {}: missing packages: {}", self.name, missing.join(" "));
        }
        missing.is_empty()
    }
}
