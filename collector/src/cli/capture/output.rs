//! Names of saved files.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};

use super::args::CaptureArgs;
use super::plan::host;
use railscope_core::model::time::Timestamp;

/// Characters of a reason in a name.
const REASON_CHARS: usize = 24;

/// The folder that saved files go to, which is created.
pub(super) fn folder(output: Option<&Path>) -> anyhow::Result<PathBuf> {
    let path = output.unwrap_or(Path::new("."));
    ensure!(path != Path::new("-"), "a ring is saved to files: name a folder with -o");
    let folder = match is_file(path) {
        true => path.parent().filter(|folder| !folder.as_os_str().is_empty()),
        false => Some(path),
    };
    let folder = folder.unwrap_or(Path::new("."));
    fs::create_dir_all(folder).with_context(|| format!("create {}", folder.display()))?;
    Ok(folder.to_owned())
}

/// Whether a path names a file rather than a folder.
fn is_file(path: &Path) -> bool {
    let ends = ["pcapng", "pcap", "ntar", "zst"];
    !path.is_dir() && path.extension().is_some_and(|end| ends.iter().any(|one| end == *one))
}

/// The name of the next file.
pub(super) fn path(args: &CaptureArgs, reason: &str, time: Timestamp) -> PathBuf {
    let output = args.output.as_deref().unwrap_or(Path::new("."));
    if is_file(output) {
        return unused(output.to_owned());
    }
    let nanos = i128::from(time.as_nanos());
    let time = jiff::Timestamp::from_nanosecond(nanos).unwrap_or_default();
    let time = time.strftime("%Y%m%dT%H%M%SZ");
    let reason = word(reason);
    let end = if args.ring.compress { "pcapng.zst" } else { "pcapng" };
    unused(output.join(format!("railscope-{}-{time}-{reason}.{end}", word(&host()))))
}

/// The first part of a text, as a part of a name.
fn word(text: &str) -> String {
    let first = text.split(':').next().unwrap_or_default();
    let plain = first.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' });
    let word: String = plain.take(REASON_CHARS).collect();
    word.trim_matches('_').to_owned()
}

/// The path, or one with a number that no file has.
fn unused(path: PathBuf) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let (stem, end) = name.split_once('.').unwrap_or((&name, "pcapng"));
    let numbered = (2..10_000).map(|number| path.with_file_name(format!("{stem}-{number}.{end}")));
    let mut all = std::iter::once(path.clone()).chain(numbered);
    let is_free = |path: &PathBuf| {
        let mut part: OsString = path.clone().into();
        part.push(".part");
        !path.exists() && !Path::new(&part).exists()
    };
    all.find(is_free).unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain_and_new() {
        assert_eq!(word("loss: packets are lost on the way"), "loss");
        assert_eq!(word("../../etc/passwd"), "etc_passwd");
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.pcapng.zst");
        assert_eq!(unused(path.clone()), path);
        fs::write(&path, "").unwrap();
        assert_eq!(unused(path), folder.path().join("a-2.pcapng.zst"));
    }
}
