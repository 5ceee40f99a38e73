//! Reads a bundle: each member into a file without a name, checked against the manifest.
//!
//! Archives may be hostile. Paths in them are only compared with the manifest. Headers of tar are
//! read raw, so that no long name or extension takes memory. What does not fit the manifest is refused.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use tar::EntryType;

use super::error::BundleError;
use super::manifest::{Entry, MANIFEST, Manifest, Role, SCHEMA};

/// Most bytes of the manifest.
pub const MANIFEST_LIMIT: u64 = 8 << 20;
/// Most members: each is an open file while it is read.
pub const MEMBER_LIMIT: usize = 512;
/// Most bytes of a name or path in the manifest.
pub const NAME_LIMIT: usize = 4096;
/// Most bytes of all members, unpacked.
pub const TOTAL_LIMIT: u64 = 1 << 40;
/// Memory that the decoder of zstd may use for looking back: 128 MiB.
const WINDOW_LOG: u32 = 27;

const COPY_BYTES: usize = 1 << 18;

/// A bundle that was read to its end.
#[derive(Debug)]
pub struct Bundle {
    /// Its first member.
    pub manifest: Manifest,
    /// The others, in the order of the manifest.
    pub members: Vec<Member>,
}

/// A member in a file without a name, which is gone when this is dropped.
#[derive(Debug)]
pub struct Member {
    /// What the manifest says of it.
    pub entry: Entry,
    file: File,
}

impl Member {
    /// A path that opens the file, as long as this lives.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        path_of(&self.file)
    }
}

/// A path that opens a file without a name, as long as it is open.
#[must_use]
pub fn path_of(file: &File) -> PathBuf {
    let folder = if cfg!(target_os = "linux") { "/proc/self/fd" } else { "/dev/fd" };
    Path::new(folder).join(file.as_raw_fd().to_string())
}

/// Whether a file that begins so, once decompressed, is a bundle.
#[must_use]
pub fn is_bundle(start: &[u8]) -> bool {
    let name = start.get(..MANIFEST.len() + 1);
    name.is_some_and(|name| name.strip_suffix(&[0]) == Some(MANIFEST.as_bytes()))
        && start.get(257..262) == Some(b"ustar")
}

/// Unpacks a bundle into the folder for temporary files (`TMPDIR`, else `/tmp`); needs as much room
/// there as the manifest says. The report is left out unless `takes` wants it.
///
/// # Errors
///
/// When it cannot be read, is not whole, or is not what its manifest says.
pub fn unpack(path: &Path, takes: impl Fn(&Entry) -> bool) -> Result<Bundle, BundleError> {
    let file = File::open(path)?;
    let (manifest, files) =
        read(file, |entry| Ok(if takes(entry) { Some(tempfile::tempfile()?) } else { None }))?;
    let mut members = Vec::new();
    for (entry, mut file) in files {
        file.seek(SeekFrom::Start(0))?;
        let written = entry.written_ns.as_deref().and_then(|text| text.parse().ok());
        if let Some(written) = written.map(std::time::Duration::from_nanos) {
            // Dumps are aligned by it; a file system that keeps no times loses only that.
            let _ = std::time::UNIX_EPOCH.checked_add(written).map(|at| file.set_modified(at));
        }
        members.push(Member { entry, file });
    }
    Ok(Bundle { manifest, members })
}

/// Reads a bundle; `open` says where a member goes, `None` to pass over it. Returns the members that
/// were wanted, in the order of the manifest.
///
/// # Errors
///
/// As [`unpack`].
pub fn read<W: Write>(
    source: impl Read,
    open: impl FnMut(&Entry) -> io::Result<Option<W>>,
) -> Result<(Manifest, Vec<(Entry, W)>), BundleError> {
    let mut decoder = zstd::Decoder::new(source)?;
    decoder.window_log_max(WINDOW_LOG)?;
    read_archive(decoder, open)
}

/// Reads a bundle that was decompressed.
///
/// # Errors
///
/// As [`unpack`].
pub fn read_archive<W: Write>(
    source: impl Read,
    mut open: impl FnMut(&Entry) -> io::Result<Option<W>>,
) -> Result<(Manifest, Vec<(Entry, W)>), BundleError> {
    let mut archive = tar::Archive::new(source);
    let damaged = |place: &str| {
        let place = place.to_owned();
        move |source| BundleError::Damaged { place, source }
    };
    let mut entries = archive.entries().map_err(damaged("at its start"))?.raw(true);
    let first = entries.next().ok_or(BundleError::NoManifest)?;
    let manifest = manifest(first.map_err(damaged("at its start"))?)?;
    let mut missing: BTreeMap<&str, usize> =
        (0..).zip(&manifest.files).map(|(at, entry)| (entry.path.as_str(), at)).collect();
    let mut found: BTreeMap<usize, (Entry, W)> = BTreeMap::new();
    let mut last = MANIFEST.to_owned();
    while !missing.is_empty() {
        let Some(member) = entries.next() else { break };
        let mut member = member.map_err(damaged(&["behind ", &last].concat()))?;
        let path = String::from_utf8_lossy(&member.path_bytes()).into_owned();
        if member.header().entry_type() != EntryType::Regular {
            return Err(BundleError::NotRegular(path));
        }
        let at = missing.remove(path.as_str());
        let Some((at, entry)) = at.and_then(|at| Some((at, manifest.files.get(at)?))) else {
            return Err(BundleError::NotListed(path));
        };
        if member.size() != entry.bytes {
            return Err(BundleError::Changed(path));
        }
        let mut out = open(entry)?;
        let sum = copy(&mut member, out.as_mut(), &path)?;
        if sum != entry.sha256 {
            return Err(BundleError::Changed(path));
        }
        if let Some(out) = out {
            found.insert(at, (entry.clone(), out));
        }
        last = path;
    }
    if let Some(path) = missing.keys().next() {
        return Err(BundleError::Missing((*path).to_owned()));
    }
    Ok((manifest, found.into_values().collect()))
}

/// Reads and checks the manifest.
fn manifest(member: tar::Entry<'_, impl Read>) -> Result<Manifest, BundleError> {
    if member.path_bytes() != MANIFEST.as_bytes()
        || member.header().entry_type() != EntryType::Regular
    {
        return Err(BundleError::NoManifest);
    }
    let mut text = Vec::new();
    let place = ["in ", MANIFEST].concat();
    let size = member.size();
    let read = member.take(MANIFEST_LIMIT + 1).read_to_end(&mut text);
    read.map_err(|source| BundleError::Damaged { place: place.clone(), source })?;
    if size > MANIFEST_LIMIT {
        return Err(BundleError::Limit(["manifest.json is longer than 8 MiB"].concat()));
    }
    if (text.len() as u64) < size {
        return Err(BundleError::Damaged { place, source: io::ErrorKind::UnexpectedEof.into() });
    }
    let value: serde_json::Value =
        serde_json::from_slice(&text).map_err(|error| BundleError::Manifest(error.to_string()))?;
    match value.get("schema").and_then(serde_json::Value::as_str) {
        Some(SCHEMA) => {}
        Some(other) => return Err(BundleError::Schema(other.chars().take(64).collect())),
        None => return Err(BundleError::Manifest("it has no schema".to_owned())),
    }
    let manifest: Manifest =
        serde_json::from_value(value).map_err(|error| BundleError::Manifest(error.to_string()))?;
    check(&manifest)?;
    Ok(manifest)
}

/// Refuses more than the limits allow.
fn check(manifest: &Manifest) -> Result<(), BundleError> {
    let files = &manifest.files;
    if files.len() > MEMBER_LIMIT {
        let counts =
            format!("the bundle has {} members, at most {MEMBER_LIMIT} are read", files.len());
        return Err(BundleError::Limit(counts));
    }
    let is_long = |entry: &&Entry| entry.name.len().max(entry.path.len()) > NAME_LIMIT;
    if files.iter().any(|entry| is_long(&entry)) {
        return Err(BundleError::Limit(format!("a name is longer than {NAME_LIMIT} bytes")));
    }
    let mut paths: Vec<&str> = files.iter().map(|entry| entry.path.as_str()).collect();
    paths.sort_unstable();
    if let Some([twice, _]) = paths.array_windows::<2>().find(|[one, other]| one == other) {
        return Err(BundleError::Manifest(format!("it lists {twice} twice")));
    }
    let total = files.iter().try_fold(0_u64, |sum, entry| sum.checked_add(entry.bytes));
    if total.is_none_or(|total| total > TOTAL_LIMIT) {
        return Err(BundleError::Limit("its members have more than 1 TiB".to_owned()));
    }
    Ok(())
}

/// Copies a member, and returns its SHA-256.
fn copy(
    member: &mut impl Read,
    mut out: Option<&mut impl Write>,
    path: &str,
) -> Result<String, BundleError> {
    let mut sum = Sha256::new();
    let mut buffer = vec![0; COPY_BYTES];
    loop {
        let count = member
            .read(&mut buffer)
            .map_err(|source| BundleError::Damaged { place: ["in ", path].concat(), source })?;
        let Some(bytes) = buffer.get(..count).filter(|bytes| !bytes.is_empty()) else { break };
        sum.update(bytes);
        if let Some(out) = &mut out {
            out.write_all(bytes)?;
        }
    }
    Ok(hex(&sum.finalize()))
}

/// Hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The members that `analyze` reads: all but the report.
#[must_use]
pub fn is_input(entry: &Entry) -> bool {
    !matches!(entry.role, Role::Report | Role::Unknown)
}
