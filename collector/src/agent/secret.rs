//! Secrets in files of their own, such as credentials of systemd.

use std::path::Path;

use anyhow::{Context, ensure};

use super::small_file;

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
    let why = || format!("read {}", whole.display());
    let bytes = small_file::read(&whole, LONGEST).with_context(why)?;
    let text = String::from_utf8(bytes).with_context(why)?;
    let line = text.trim_end_matches(['\r', '\n']);
    let is_line = !line.is_empty() && !line.contains(['\r', '\n', '\0']);
    ensure!(is_line, "{}: needs one line of text", whole.display());
    Ok(line.to_owned())
}
