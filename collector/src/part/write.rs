//! Writes a part, in a temporary file beside its place until it is whole.

use std::fs::Permissions;
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;
use zstd::stream::write::Encoder;

use super::{FORMAT, Head, Item, MAGIC, Missed, Record, Turn};
use railscope_core::pipeline::lane::Lane;

/// Level of zstd: the default, which is quicker than captures are read.
const LEVEL: i32 = 3;

/// A part that is being written.
pub struct PartWriter {
    place: PathBuf,
    out: Encoder<'static, BufWriter<NamedTempFile>>,
    record: Vec<u8>,
}

impl PartWriter {
    /// Begins the part at `place`, which is replaced when this one is whole.
    ///
    /// # Errors
    ///
    /// When no file can be written there.
    pub fn create(place: &Path, head: Head) -> io::Result<Self> {
        let folder = place.parent().filter(|folder| !folder.as_os_str().is_empty());
        // Who may read it is the umask's matter, as of any other result.
        let mut builder = tempfile::Builder::new();
        builder.permissions(Permissions::from_mode(0o666));
        let mut file = builder.tempfile_in(folder.unwrap_or(Path::new(".")))?;
        file.write_all(MAGIC)?;
        file.write_all(&FORMAT.to_le_bytes())?;
        let mut out = Encoder::new(BufWriter::new(file), LEVEL)?;
        out.include_checksum(true)?;
        let mut new = Self { place: place.to_owned(), out, record: Vec::new() };
        new.write(&Record::Head(head))?;
        Ok(new)
    }

    /// Writes what comes next in order of time.
    ///
    /// # Errors
    ///
    /// When the file cannot be written.
    pub fn item(&mut self, turn: Turn, item: Item) -> io::Result<()> {
        self.write(&Record::Item(turn, item))
    }

    /// Ends the part. Its lanes are in the order of its captures. Returns its size in bytes.
    ///
    /// # Errors
    ///
    /// When the file cannot be written.
    pub fn finish(mut self, lanes: impl Iterator<Item = Lane>, missed: Missed) -> io::Result<u64> {
        for lane in lanes {
            self.write(&Record::Lane(Box::new(lane)))?;
        }
        self.write(&Record::End(missed))?;
        let file = self.out.finish()?.into_inner().map_err(io::IntoInnerError::into_error)?;
        let bytes = file.as_file().metadata()?.len();
        file.persist(&self.place).map_err(|error| error.error)?;
        Ok(bytes)
    }

    fn write(&mut self, record: &Record) -> io::Result<()> {
        self.record.clear();
        let bytes = postcard::to_io(record, &mut self.record).map_err(io::Error::other)?;
        self.out.write_all(&(bytes.len() as u64).to_le_bytes())?;
        self.out.write_all(bytes)
    }
}
