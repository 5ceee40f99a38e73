//! The folder that host and guest share: the job goes in, its results come out.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// `/host` in the guest.
pub(super) struct Share {
    pub(super) folder: PathBuf,
}

impl Share {
    /// An empty folder below `lab` with `script`, for bash, as its job at a terminal with the
    /// `settings` of stty.
    pub(super) fn create(lab: &Path, script: &str, settings: &str) -> Result<Self> {
        let folder = lab.join("host");
        if folder.exists() {
            fs::remove_dir_all(&folder).with_context(|| format!("empty {}", folder.display()))?;
        }
        let write = || {
            fs::create_dir_all(&folder)?;
            fs::write(folder.join("job.stty"), settings)?;
            fs::write(folder.join("job.sh"), format!("{script}\n"))
        };
        write().with_context(|| format!("write the job into {}", folder.display()))?;
        Ok(Self { folder })
    }

    /// Adds a program of the host, as `name`.
    pub(super) fn lend(&self, name: &str, program: &Path) -> Result<()> {
        let place = self.folder.join(name);
        // A hard link if possible: programs with debug information are large.
        let lent = fs::hard_link(program, &place).or_else(|_| fs::copy(program, &place).map(drop));
        lent.with_context(|| format!("lend {} to the guest", program.display()))
    }

    /// The job's exit status, if it ended. QEMU's own status is useless: it is 0 after a panic, too.
    pub(super) fn status(&self) -> Option<u8> {
        fs::read_to_string(self.folder.join("job.rc")).ok()?.trim().parse().ok()
    }
}
