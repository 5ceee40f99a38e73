//! A ring's file, opened as nothing but that.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use nix::fcntl::{OFlag, OpenHow, ResolveFlag, openat2};
use nix::sys::statfs::{TMPFS_MAGIC, fstatfs};

/// Bytes of a ring: lanes of 64 KiB to 128 MiB, and the header.
const SIZES: std::ops::RangeInclusive<u64> = 4096..=(1 << 30) + (1 << 20);

/// An open ring.
#[derive(Debug)]
pub struct RingFile {
    file: File,
    /// Device and inode.
    id: (u64, u64),
    user: u32,
    is_writable: bool,
}

impl RingFile {
    /// Opens the file at `path` within the directory `root`, if `user` owns it, and for writing, too, if
    /// `writes` and that is allowed.
    ///
    /// # Errors
    ///
    /// There is none, or it is something else than a regular file of this user in memory.
    pub(super) fn open(root: &Path, path: &Path, user: u32, writes: bool) -> io::Result<Self> {
        let directory = libc::O_PATH | libc::O_DIRECTORY;
        let root = OpenOptions::new().read(true).custom_flags(directory).open(root)?;
        // Links lead nowhere but into the process's root, and not through others' descriptors.
        let how = OpenHow::new()
            .flags(OFlag::O_PATH | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC)
            .resolve(ResolveFlag::RESOLVE_IN_ROOT | ResolveFlag::RESOLVE_NO_MAGICLINKS);
        let place = File::from(openat2(&root, path, how)?);
        let metadata = place.metadata()?;
        if !metadata.is_file() {
            return Err(refused("it is no regular file"));
        }
        if metadata.uid() != user {
            return Err(refused("it belongs to another user than the process"));
        }
        if fstatfs(&place)?.filesystem_type() != TMPFS_MAGIC {
            return Err(refused("it is not in memory (tmpfs)"));
        }
        if !SIZES.contains(&metadata.len()) {
            return Err(refused("it has not the size of a ring"));
        }
        let path = format!("/proc/self/fd/{}", place.as_raw_fd());
        let open = |writes| {
            OpenOptions::new().read(true).write(writes).custom_flags(libc::O_NONBLOCK).open(&path)
        };
        let id = (metadata.dev(), metadata.ino());
        if writes && let Ok(file) = open(true) {
            return Ok(Self { file, id, user, is_writable: true });
        }
        Ok(Self { file: open(false)?, id, user, is_writable: false })
    }

    /// Device and inode.
    #[must_use]
    pub const fn id(&self) -> (u64, u64) {
        self.id
    }

    /// Its bytes now.
    #[must_use]
    pub fn length(&self) -> u64 {
        self.file.metadata().map_or(0, |metadata| metadata.len())
    }

    /// Whether it has a name no more: the plugin has ended, or begun another one.
    #[must_use]
    pub fn is_removed(&self) -> bool {
        self.file.metadata().is_ok_and(|metadata| metadata.nlink() == 0)
    }

    /// Copies bytes; `false` if it has not so many.
    pub fn copy(&self, at: u64, to: &mut [u8]) -> bool {
        self.file.read_exact_at(to, at).is_ok()
    }

    /// Whether words can be written.
    #[must_use]
    pub const fn is_writable(&self) -> bool {
        self.is_writable
    }

    /// Writes a word within its first 4 KiB.
    ///
    /// # Errors
    ///
    /// It is not open for that, was cut, or is another user's now.
    pub fn write(&self, at: u64, word: u64) -> io::Result<()> {
        let metadata = self.file.metadata()?;
        let is_its = metadata.uid() == self.user && SIZES.contains(&metadata.len());
        if !is_its || at.saturating_add(8) > *SIZES.start() {
            return Err(refused("it is no ring any more"));
        }
        self.file.write_all_at(&word.to_le_bytes(), at)
    }
}

fn refused(why: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use nix::sys::stat::Mode;
    use nix::unistd::{geteuid, mkfifo};

    use super::*;

    #[test]
    fn only_a_regular_file_of_the_user_in_memory_is_opened() {
        let Ok(folder) = tempfile::tempdir_in("/dev/shm") else { return };
        let user = geteuid().as_raw();
        let open = |name: &str| RingFile::open(folder.path(), Path::new(name), user, true);
        let said = |name: &str| open(name).map(|_| ()).unwrap_err().to_string();
        std::fs::write(folder.path().join("ring"), vec![0; 8192]).unwrap();
        let ring = open("/ring").unwrap();
        let mut bytes = [1; 8192];
        assert!(ring.copy(0, &mut bytes) && bytes == [0; 8192]);
        assert!(!ring.copy(1, &mut bytes));
        ring.write(128, 7).unwrap();
        assert!(ring.write(4096, 7).is_err());
        assert!(ring.copy(128, &mut bytes[..8]) && bytes[..8] == 7_u64.to_le_bytes());
        // Cut while it is open.
        File::options().write(true).open(folder.path().join("ring")).unwrap().set_len(9).unwrap();
        assert!(!ring.copy(0, &mut bytes) && ring.write(128, 7).is_err());
        std::fs::remove_file(folder.path().join("ring")).unwrap();
        assert!(ring.is_removed());

        std::fs::write(folder.path().join("small"), [0; 100]).unwrap();
        assert!(said("small").contains("size"));
        File::create(folder.path().join("huge")).unwrap().set_len(1 << 40).unwrap();
        assert!(said("huge").contains("size"));
        std::fs::write(folder.path().join("other"), vec![0; 8192]).unwrap();
        let of_other = RingFile::open(folder.path(), Path::new("other"), user + 1, false);
        assert!(of_other.unwrap_err().to_string().contains("another user"));
        symlink("other", folder.path().join("link")).unwrap();
        assert!(open("link").is_err());
        mkfifo(&folder.path().join("pipe"), Mode::S_IRWXU).unwrap();
        assert!(said("pipe").contains("no regular file"));
        std::fs::create_dir(folder.path().join("folder")).unwrap();
        assert!(said("folder").contains("no regular file"));
        symlink("/proc/self", folder.path().join("up")).unwrap();
        assert!(open("up/maps").is_err());
        let elsewhere = tempfile::tempdir_in("/proc/self/cwd").unwrap();
        std::fs::write(elsewhere.path().join("ring"), vec![0; 8192]).unwrap();
        if fstatfs(File::open(elsewhere.path()).unwrap()).unwrap().filesystem_type() != TMPFS_MAGIC
        {
            let on_disk = RingFile::open(elsewhere.path(), Path::new("ring"), user, false);
            assert!(on_disk.unwrap_err().to_string().contains("tmpfs"));
        }
    }
}
