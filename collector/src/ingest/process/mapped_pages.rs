//! Whether a process has mapped anything since it was last inspected, without reading its mappings: that
//! takes the kernel a microsecond for each.

use std::path::Path;
use std::time::Duration;

use crate::ingest::kernel_file;

/// How long a process that has mapped as much as before is taken to have mapped the same.
const SAME: Duration = Duration::from_secs(300);

/// How much a process had mapped, and when.
#[derive(Clone, Copy, Debug)]
pub(in crate::ingest) struct MappedPages {
    at: Duration,
    /// Without its data (proc_pid_statm(5)): loading a library or sharing a file adds to them.
    pages: u64,
}

impl MappedPages {
    /// Of the process with this folder, `now` after the start; `None` if the kernel does not say.
    pub(in crate::ingest) fn read(folder: &Path, now: Duration) -> Option<Self> {
        let text = kernel_file::text(&folder.join("statm")).ok()?;
        let mut fields = text.split_ascii_whitespace().map(str::parse::<u64>);
        let (all, data) = (fields.next()?.ok()?, fields.nth(4)?.ok()?);
        Some(Self { at: now, pages: all.checked_sub(data)? })
    }

    /// Whether the process is taken to have mapped the same as `before`.
    pub(in crate::ingest) fn is_as(&self, before: &Self) -> bool {
        self.pages == before.pages && self.at < before.at + SAME
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_does_not_count() {
        let folder = tempfile::tempdir().unwrap();
        let read = |statm: &str| {
            std::fs::write(folder.path().join("statm"), statm).unwrap();
            MappedPages::read(folder.path(), Duration::ZERO).map(|read| read.pages)
        };
        assert_eq!(read("1000 50 40 3 0 100 0\n"), Some(900));
        assert_eq!(read("1064 50 40 3 0 100 0\n"), Some(964));
        assert_eq!(read("1164 90 40 3 0 200 0\n"), Some(964));
        assert_eq!(read("0 0 0 0 0 0 0\n"), Some(0), "a thread of the kernel");
        for odd in ["", "1000 50", "x 50 40 3 0 100 0", "1 50 40 3 0 100 0"] {
            assert_eq!(read(odd), None);
        }
    }

    #[test]
    fn as_much_is_the_same_for_a_while() {
        let at = |second, pages| MappedPages { at: Duration::from_secs(second), pages };
        assert!(at(299, 7).is_as(&at(0, 7)));
        assert!(!at(299, 8).is_as(&at(0, 7)));
        assert!(!at(300, 7).is_as(&at(0, 7)));
    }
}
