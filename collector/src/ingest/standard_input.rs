//! The start of standard input, without taking it: what it is decides who reads it.

use std::io::{self, IsTerminal};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use super::whole_file;

/// What is known of standard input before it is read.
#[derive(Debug)]
pub enum Start {
    /// Its first bytes, uncompressed only if it is a file.
    Bytes(Vec<u8>),
    /// Somebody types or pastes.
    Terminal,
    /// It cannot be looked at without reading it.
    Unknown,
}

/// The first bytes of standard input, at most `limit`; of a pipe, what is in it once there is
/// something.
#[must_use]
pub fn start(limit: usize) -> Start {
    let stdin = io::stdin();
    if stdin.is_terminal() {
        return Start::Terminal;
    }
    let own = Path::new("/dev/stdin");
    let Ok(kind) = own.metadata().map(|file| file.file_type()) else { return Start::Unknown };
    let bytes = match kind.is_fifo() {
        true => of_pipe(&stdin, limit).ok(),
        false if kind.is_file() => whole_file::read_start(own, limit).ok(),
        false => None,
    };
    bytes.map_or(Start::Unknown, Start::Bytes)
}

/// `tee(2)` copies between pipes and leaves the source as it is.
#[cfg(target_os = "linux")]
fn of_pipe(stdin: &io::Stdin, limit: usize) -> io::Result<Vec<u8>> {
    let (reader, writer) = nix::unistd::pipe()?;
    let limit = limit.min(PIPE);
    nix::fcntl::tee(stdin, &writer, limit, nix::fcntl::SpliceFFlags::empty())?;
    drop(writer);
    let mut bytes = Vec::new();
    io::Read::read_to_end(&mut std::fs::File::from(reader), &mut bytes)?;
    Ok(bytes)
}

#[cfg(not(target_os = "linux"))]
fn of_pipe(_stdin: &io::Stdin, _limit: usize) -> io::Result<Vec<u8>> {
    Err(io::ErrorKind::Unsupported.into())
}

/// What a pipe holds without a reader (`pipe(7)`).
#[cfg(target_os = "linux")]
const PIPE: usize = 64 * 1024;
