//! Recorded jobs: the captures of one training run, its truth and its logs.
//!
//! A recording is a folder, or a folder packed into one `.tar.zst`:
//!
//! ```text
//! node01.eth0.pcap   one capture per tap
//! truth.json         what the job did, written by the job; truth.jsonl of `railscope drive`
//! logs/              NCCL's logs, one file per rank
//! README.md
//! ```

mod archive;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

/// The file that makes a folder a recording.
pub(crate) const TRUTHS: [&str; 2] = ["truth.json", "truth.jsonl"];

const LOGS: &str = "logs/";
const CAPTURE_EXTENSIONS: &[&str] = &["pcap", "pcapng"];
const ARCHIVE_EXTENSION: &str = ".tar.zst";

/// The files of one recorded job.
#[derive(Debug)]
pub(crate) struct Recording {
    pub(crate) name: String,
    /// By name, with `/` between folders; nothing is compressed.
    files: BTreeMap<String, Vec<u8>>,
}

impl Recording {
    /// Reads a folder or an archive.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let name = path.file_name().and_then(OsStr::to_str).context("a recording has no name")?;
        let name = name.strip_suffix(ARCHIVE_EXTENSION).unwrap_or(name).to_owned();
        let read = || -> io::Result<_> {
            if path.is_dir() { files_of_folder(path) } else { archive::unpack(File::open(path)?) }
        };
        let files = read().with_context(|| format!("read {}", path.display()))?;
        let has_truth = TRUTHS.iter().any(|&truth| files.contains_key(truth));
        ensure!(has_truth, "{} has no {}", path.display(), TRUTHS.join(" or "));
        Ok(Self { name, files })
    }

    /// Writes an archive into `folder`, the same bytes for the same files. Returns its size.
    pub(crate) fn pack(&self, folder: &Path) -> Result<u64> {
        let path = folder.join(format!("{}{ARCHIVE_EXTENSION}", self.name));
        let bytes = archive::pack(&self.files).with_context(|| format!("pack {}", self.name))?;
        fs::write(&path, &bytes).with_context(|| format!("write {}", path.display()))?;
        Ok(bytes.len() as u64)
    }

    pub(crate) fn truth(&self) -> &[u8] {
        let mut found = TRUTHS.iter().filter_map(|&truth| self.files.get(truth));
        found.next().map_or(&[], Vec::as_slice)
    }

    /// With their names.
    pub(crate) fn captures(&self) -> impl Iterator<Item = (&str, &[u8])> {
        let captures = self.files.iter().filter(|(name, _)| {
            CAPTURE_EXTENSIONS.iter().any(|&extension| has_extension(name, extension))
        });
        captures.map(|(name, bytes)| (name.as_str(), bytes.as_slice()))
    }

    pub(crate) fn logs(&self) -> impl Iterator<Item = &[u8]> {
        let logs = self.files.iter().filter(|(name, _)| name.starts_with(LOGS));
        logs.map(|(_, bytes)| bytes.as_slice())
    }
}

/// The recordings at `path`: itself, or those in it.
pub(crate) fn find(path: &Path) -> Result<Vec<PathBuf>> {
    let is_recording = |path: &Path| {
        let has_truth = TRUTHS.iter().any(|truth| path.join(truth).is_file());
        has_truth || path.to_string_lossy().ends_with(ARCHIVE_EXTENSION)
    };
    if is_recording(path) {
        return Ok(vec![path.to_owned()]);
    }
    let list = || -> io::Result<Vec<PathBuf>> {
        fs::read_dir(path)?.map(|entry| Ok(entry?.path())).collect()
    };
    let mut found = list().with_context(|| format!("list {}", path.display()))?;
    found.retain(|path| is_recording(path));
    found.sort();
    ensure!(!found.is_empty(), "no recording in {}", path.display());
    Ok(found)
}

/// Every file in `folder` and the folders in it.
fn files_of_folder(folder: &Path) -> io::Result<BTreeMap<String, Vec<u8>>> {
    let mut files = BTreeMap::new();
    let mut pending = vec![(folder.to_owned(), String::new())];
    while let Some((folder, prefix)) = pending.pop() {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
            if entry.file_type()?.is_dir() {
                pending.push((entry.path(), format!("{name}/")));
            } else {
                let (name, bytes) = plain(name, fs::read(entry.path())?)?;
                files.insert(name, bytes);
            }
        }
    }
    Ok(files)
}

/// A file, decompressed if it is gzip.
fn plain(name: String, bytes: Vec<u8>) -> io::Result<(String, Vec<u8>)> {
    let Some(plain_name) = name.strip_suffix(".gz") else { return Ok((name, bytes)) };
    let mut plain = Vec::new();
    flate2::read::MultiGzDecoder::new(bytes.as_slice()).read_to_end(&mut plain)?;
    Ok((plain_name.to_owned(), plain))
}

fn has_extension(name: &str, extension: &str) -> bool {
    name.strip_suffix(extension).is_some_and(|stem| stem.ends_with('.'))
}
