//! A Unix socket at a path, which is there as long as its listener.

use std::fs::{self, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// The file of a listening socket. It is removed when this is dropped, which must be after its listener: if one
/// listens there still, it is another process's.
#[derive(Debug)]
pub struct SocketFile(PathBuf);

impl SocketFile {
    /// Listens at `path`, with these rights for the owner and the group. Replaces the socket of a process that is
    /// gone.
    ///
    /// # Errors
    ///
    /// A process listens there, something else is there, or the folder cannot be written.
    pub fn listen(path: &Path, mode: u32) -> io::Result<(Self, UnixListener)> {
        let listener = match UnixListener::bind(path) {
            Err(error) if error.kind() == ErrorKind::AddrInUse => {
                remove_stale(path)?;
                UnixListener::bind(path)?
            }
            other => other?,
        };
        fs::set_permissions(path, Permissions::from_mode(mode))?;
        listener.set_nonblocking(true)?;
        Ok((Self(path.to_owned()), listener))
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        // Without the right to remove it, the next start replaces it.
        _ = remove_stale(&self.0);
    }
}

fn remove_stale(path: &Path) -> io::Result<()> {
    if !fs::symlink_metadata(path)?.file_type().is_socket() {
        return Err(io::Error::new(ErrorKind::AlreadyExists, "a file is there"));
    }
    if UnixStream::connect(path).is_ok() {
        return Err(io::Error::new(ErrorKind::AddrInUse, "another process listens there"));
    }
    fs::remove_file(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_stale_socket_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.sock");
        let mode = || path.metadata().unwrap().permissions().mode() & 0o777;
        let refused = || SocketFile::listen(&path, 0o600).unwrap_err().to_string();
        let (file, listener) = SocketFile::listen(&path, 0o660).unwrap();
        assert_eq!(mode(), 0o660);
        assert_eq!(refused(), "another process listens there");
        drop(listener);
        // Another takes the place of one that is gone, whose end then removes nothing.
        let (next, listener) = SocketFile::listen(&path, 0o600).unwrap();
        drop(file);
        assert_eq!(mode(), 0o600);
        drop((listener, next));
        assert!(!path.exists());
        fs::write(&path, "mine").unwrap();
        assert_eq!(refused(), "a file is there");
        assert_eq!(fs::read(&path).unwrap(), b"mine");
    }
}
