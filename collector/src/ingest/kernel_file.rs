//! Small files in /sys and /proc, which the kernel generates when they are read.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Bytes of an attribute in sysfs: one page at most.
pub(super) const ATTRIBUTE_LIMIT: u64 = 4096;

/// The first `limit` bytes of a file.
///
/// # Errors
///
/// When it cannot be opened or read; `ESRCH` for a file of a process that has just ended.
pub(super) fn bytes(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The text of an attribute, without the white space around it.
///
/// # Errors
///
/// As [`bytes`], and when it is not UTF-8.
pub(super) fn text(path: &Path) -> io::Result<String> {
    let text = String::from_utf8(bytes(path, ATTRIBUTE_LIMIT)?)
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
    Ok(text.trim().to_owned())
}

/// Names of the entries of a directory, in order. Names that are not UTF-8 are left out; the kernel has none.
///
/// # Errors
///
/// When it cannot be read.
pub(super) fn names(directory: &Path) -> io::Result<Vec<String>> {
    let entries = std::fs::read_dir(directory)?;
    let names = entries.map(|entry| Ok(entry?.file_name().into_string().ok()));
    let mut names: Vec<String> =
        names.filter_map(io::Result::transpose).collect::<io::Result<_>>()?;
    names.sort_unstable();
    Ok(names)
}
