//! Secrets in files of their own, such as credentials of systemd.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use anyhow::{Context, ensure};

/// Longest secret.
const LONGEST: u64 = 64 << 10;

/// The line in a file. A relative path is below `$CREDENTIALS_DIRECTORY` (systemd's `LoadCredential=`);
/// `variable` looks that up.
pub(super) fn read(
    path: &Path,
    variable: &dyn Fn(&str) -> Option<String>,
) -> anyhow::Result<String> {
    let mut whole = path.to_owned();
    if path.is_relative() {
        let folder = variable("CREDENTIALS_DIRECTORY").with_context(|| {
            format!(
                "{}: the path is relative and CREDENTIALS_DIRECTORY is not set: write an absolute path, or \
                 LoadCredential= in the unit",
                path.display()
            )
        })?;
        whole = Path::new(&folder).join(path);
    }
    let mut text = String::new();
    let file = File::open(&whole);
    let read = file.and_then(|file| file.take(LONGEST + 1).read_to_string(&mut text));
    read.with_context(|| format!("read {}", whole.display()))?;
    ensure!(text.len() as u64 <= LONGEST, "{}: longer than {} KiB", whole.display(), LONGEST >> 10);
    let line = text.trim_end_matches(['\r', '\n']);
    let is_line = !line.is_empty() && !line.contains(['\r', '\n', '\0']);
    ensure!(is_line, "{}: needs one line of text", whole.display());
    Ok(line.to_owned())
}
