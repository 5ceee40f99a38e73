//! Files that only their owner may read: frames hold what a job sends.

use std::fs::{File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

const OWNER_ONLY: u32 = 0o600;

/// Creates or overwrites a file, whatever rights the old one had. A pipe or device keeps its own.
pub(super) fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    let file = options.write(true).create(true).truncate(true).mode(OWNER_ONLY).open(path)?;
    let metadata = file.metadata()?;
    if metadata.is_file() && metadata.permissions().mode() & 0o777 != OWNER_ONLY {
        file.set_permissions(Permissions::from_mode(OWNER_ONLY))?;
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_else_may_read_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.pcapng");
        let mode = || path.metadata().unwrap().permissions().mode() & 0o777;
        create(&path).unwrap();
        assert_eq!(mode(), OWNER_ONLY);
        std::fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        create(&path).unwrap();
        assert_eq!(mode(), OWNER_ONLY);
        create(Path::new("/dev/null")).unwrap();
    }
}
