//! Files that are read whole: dumps and statuses, plain, gzip or zstd, up to a limit.

use std::fs::File;
use std::io;
use std::path::Path;

use super::file::input::Input;
use super::file::problem::ProblemKind;
use super::file::stream::Stream;

/// Most bytes of a file, uncompressed. A dump of 2,000 calls with stack traces has some megabytes.
pub const LIMIT: usize = 256 << 20;

const READ_BYTES: usize = 1 << 20;

/// Why a file cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum WholeFileError {
    /// It cannot be opened or read.
    #[error(transparent)]
    Read(#[from] io::Error),
    /// Its compressed data is damaged.
    #[error("{0}")]
    Damaged(ProblemKind),
    /// It is longer than the limit.
    #[error("longer than {} MiB", LIMIT >> 20)]
    TooLong,
}

/// Reads a file.
///
/// # Errors
///
/// When it cannot be read, or is too long.
pub fn read(path: &Path) -> Result<Vec<u8>, WholeFileError> {
    let file = File::open(path)?;
    if file.metadata()?.is_dir() {
        return Err(io::Error::from(io::ErrorKind::IsADirectory).into());
    }
    let input = Input::from_reader(path.display().to_string(), Box::new(file));
    let mut stream = Stream::open(input)?;
    let mut bytes = Vec::new();
    loop {
        let end = bytes.len();
        bytes.resize(end + READ_BYTES, 0);
        let read = stream.read(&mut bytes[end..]).map_err(WholeFileError::Damaged)?;
        bytes.truncate(end + read);
        if read == 0 {
            return Ok(bytes);
        }
        if bytes.len() > LIMIT {
            return Err(WholeFileError::TooLong);
        }
    }
}

/// Reads the start of a file, uncompressed: at most `limit` bytes.
///
/// # Errors
///
/// When it cannot be read.
pub fn read_start(path: &Path, limit: usize) -> Result<Vec<u8>, WholeFileError> {
    let input = Input::from_reader(path.display().to_string(), Box::new(File::open(path)?));
    let mut stream = Stream::open(input)?;
    let mut bytes = vec![0; limit];
    let mut end = 0;
    while end < limit {
        match stream.read(&mut bytes[end..]).map_err(WholeFileError::Damaged)? {
            0 => break,
            read => end += read,
        }
    }
    bytes.truncate(end);
    Ok(bytes)
}

/// When a file was last written, in nanoseconds since the epoch; `None` if the system does not say.
#[must_use]
pub fn written_ns(path: &Path) -> Option<u64> {
    let written = std::fs::metadata(path).ok()?.modified().ok()?;
    let since = written.duration_since(std::time::UNIX_EPOCH).ok()?;
    u64::try_from(since.as_nanos()).ok()
}
