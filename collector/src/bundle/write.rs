//! Writes a bundle: each file is read twice, for the manifest and for the archive.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use tempfile::NamedTempFile;

use super::error::BundleError;
use super::manifest::{Entry, Host, MANIFEST, Manifest, Role, SCHEMA};
use super::read::{MEMBER_LIMIT, hex};
use std::collections::BTreeMap;

/// Level of zstd: captures of headers become a fifth, at the speed of a disk.
const LEVEL: i32 = 6;

const COPY_BYTES: usize = 1 << 18;

/// Most characters of a file's own name in the archive; the manifest has the whole name.
const NAME_CHARS: usize = 60;

/// Something for a bundle.
#[derive(Debug)]
pub struct Item {
    /// What it is.
    pub role: Role,
    /// What the report calls it.
    pub name: String,
    /// Its bytes.
    pub content: Content,
    /// When it was last written, in nanoseconds since the epoch.
    pub written_ns: Option<u64>,
}

/// The bytes of an item.
#[derive(Debug)]
pub enum Content {
    /// A file, as it is.
    File(PathBuf),
    /// A file that is removed with this.
    Held(tempfile::TempPath),
    /// These.
    Bytes(Vec<u8>),
}

/// What the manifest says beside the files.
#[derive(Clone, Debug, Default)]
pub struct Head {
    /// The release that writes it.
    pub tool: String,
    /// Whether names were replaced.
    pub scrubbed: bool,
    /// Where it is written.
    pub host: Host,
    /// Options that change the report.
    pub options: BTreeMap<String, String>,
}

/// Writes the bundle `out`, whole or not at all, readable for its owner only. `advance` hears of bytes.
///
/// # Errors
///
/// When a file cannot be read, changes meanwhile, or the bundle cannot be written.
pub fn write(
    out: &Path,
    head: Head,
    items: &[Item],
    mut advance: impl FnMut(u64),
) -> Result<Manifest, BundleError> {
    if items.len() > MEMBER_LIMIT {
        let counts = format!(
            "{} files are too many for a bundle, which has at most {MEMBER_LIMIT}",
            items.len()
        );
        return Err(BundleError::Limit(counts));
    }
    let files = (1..).zip(items).map(|(number, item)| entry(number, item, &mut advance));
    let files = files.collect::<Result<Vec<_>, _>>()?;
    let Head { tool, scrubbed, host, options } = head;
    let manifest = Manifest { schema: SCHEMA.to_owned(), tool, scrubbed, host, options, files };
    let folder = out.parent().filter(|folder| !folder.as_os_str().is_empty());
    let file = NamedTempFile::new_in(folder.unwrap_or(Path::new(".")))?;
    let mut archive = tar::Builder::new(zstd::Encoder::new(file, LEVEL)?);
    archive.mode(tar::HeaderMode::Deterministic);
    let mut text = serde_json::to_vec_pretty(&manifest).map_err(io::Error::from)?;
    text.push(b'\n');
    append(&mut archive, MANIFEST, text.len() as u64, &text[..])?;
    for (entry, item) in manifest.files.iter().zip(items) {
        let mut checked =
            Checked { inner: item.open()?, sum: Sha256::new(), advance: &mut advance };
        let result =
            append(&mut archive, &entry.path, entry.bytes, (&mut checked).take(entry.bytes));
        result.map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => BundleError::Moving(item.name.clone()),
            _ => error.into(),
        })?;
        if hex(&checked.sum.finalize()) != entry.sha256 {
            return Err(BundleError::Moving(item.name.clone()));
        }
    }
    let file = archive.into_inner()?.finish()?;
    file.as_file().sync_all()?;
    file.persist(out).map_err(|error| error.error)?;
    Ok(manifest)
}

fn append(
    archive: &mut tar::Builder<impl Write>,
    path: &str,
    bytes: u64,
    content: impl Read,
) -> io::Result<()> {
    let mut header = tar::Header::new_ustar();
    header.set_size(bytes);
    header.set_mode(0o600);
    let mut counted = Counted { inner: content, left: bytes };
    archive.append_data(&mut header, path, &mut counted)?;
    // A shorter file would shift all that follows.
    if counted.left > 0 { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(()) }
}

/// Counts what was read.
struct Counted<R> {
    inner: R,
    left: u64,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(into)?;
        self.left = self.left.saturating_sub(count as u64);
        Ok(count)
    }
}

/// Sums what was read.
struct Checked<'a, R> {
    inner: R,
    sum: Sha256,
    advance: &'a mut dyn FnMut(u64),
}

impl<R: Read> Read for Checked<'_, R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(into)?;
        self.sum.update(into.get(..count).unwrap_or_default());
        (self.advance)(count as u64);
        Ok(count)
    }
}

impl Item {
    fn open(&self) -> io::Result<Box<dyn Read + '_>> {
        Ok(match &self.content {
            Content::File(path) => Box::new(File::open(path)?),
            Content::Held(path) => Box::new(File::open(path)?),
            Content::Bytes(bytes) => Box::new(&bytes[..]),
        })
    }
}

/// Reads an item once, for its size and sum.
fn entry(number: usize, item: &Item, advance: &mut impl FnMut(u64)) -> Result<Entry, BundleError> {
    let context = |error: io::Error| {
        io::Error::new(error.kind(), [&item.name, ": ", &error.to_string()].concat())
    };
    let mut source = item.open().map_err(context)?;
    let mut sum = Sha256::new();
    let mut bytes = 0;
    let mut buffer = vec![0; COPY_BYTES];
    loop {
        let count = source.read(&mut buffer).map_err(context)?;
        let Some(read) = buffer.get(..count).filter(|read| !read.is_empty()) else { break };
        sum.update(read);
        bytes += count as u64;
        advance(count as u64);
    }
    Ok(Entry {
        path: path(number, item),
        role: item.role,
        name: item.name.clone(),
        bytes,
        sha256: hex(&sum.finalize()),
        written_ns: item.written_ns.map(|ns| ns.to_string()),
    })
}

/// A plain path in the archive: role, number, and what is harmless of the file's own name.
fn path(number: usize, item: &Item) -> String {
    if item.role == Role::Report {
        return "report.json".to_owned();
    }
    let own = item.name.rsplit('/').next().unwrap_or_default();
    let is_plain = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    let plain: String = own.chars().filter(is_plain).collect();
    let plain = plain.get(plain.len().saturating_sub(NAME_CHARS)..).unwrap_or_default();
    format!("{}/{number:03}-{plain}", item.role)
}
