//! Small files that the settings name: passwords, certificates, secrets.

use std::fs::OpenOptions;
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// The bytes of a file of at most `limit`. A pipe or a device is refused: the agent would wait for it.
///
/// # Errors
///
/// It cannot be read, is no file, or is longer.
pub(super) fn read(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    // Opening a pipe waits for its writer, too.
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("no regular file"));
    }
    let mut bytes = Vec::new();
    file.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(io::Error::other(format!("longer than {} KiB", limit >> 10)));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use nix::sys::stat::Mode;
    use nix::unistd::mkfifo;

    use super::*;

    #[test]
    fn only_small_files_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let [file, pipe] = ["file", "pipe"].map(|name| folder.path().join(name));
        std::fs::write(&file, [7; 1024]).unwrap();
        mkfifo(&pipe, Mode::S_IRWXU).unwrap();
        assert_eq!(read(&file, 1024).unwrap(), [7; 1024]);
        let why = |path: &Path, limit| read(path, limit).unwrap_err().to_string();
        assert_eq!(why(&file, 1023), "longer than 0 KiB");
        assert_eq!(why(&pipe, 1024), "no regular file");
        assert_eq!(why(folder.path(), 1024), "no regular file");
    }
}
