//! Opens the file that a process has mapped, and nothing else: whoever runs the process chose the path.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use nix::fcntl::{OFlag, OpenHow, ResolveFlag, openat2};
use nix::sys::statfs::{BTRFS_SUPER_MAGIC, OVERLAYFS_SUPER_MAGIC, fstatfs};

/// What `/proc/PID/maps` says of a mapping.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mapped {
    /// `START-END`, as in `/proc/PID/map_files`.
    pub(super) range: String,
    /// Major and minor number of its device.
    pub(super) device: (u64, u64),
    pub(super) inode: u64,
    /// As the process sees it.
    pub(super) path: String,
}

impl Mapped {
    /// The file: the mapping itself, which only a privileged process may open, else the file at the
    /// path within the process's root, or here if that cannot be entered, if it is the same one.
    pub(super) fn open(&self, folder: &Path) -> io::Result<File> {
        let mapped = self.mapping(&folder.join("map_files").join(&self.range));
        mapped.or_else(|error| {
            let roots = [folder.join("root"), "/".into()];
            roots.iter().find_map(|root| self.within(root).ok()).ok_or(error)
        })
    }

    fn mapping(&self, path: &Path) -> io::Result<File> {
        regular(&OpenOptions::new().read(true).custom_flags(libc::O_PATH).open(path)?)
    }

    fn within(&self, root: &Path) -> io::Result<File> {
        let directory = libc::O_PATH | libc::O_DIRECTORY;
        let root = OpenOptions::new().read(true).custom_flags(directory).open(root)?;
        // Links lead nowhere but into the process's root, and not through others' descriptors.
        let how = OpenHow::new()
            .flags(OFlag::O_PATH | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC)
            .resolve(ResolveFlag::RESOLVE_IN_ROOT | ResolveFlag::RESOLVE_NO_MAGICLINKS);
        let file = File::from(openat2(&root, self.path.as_str(), how)?);
        if !self.is_same(&file)? {
            return Err(io::Error::other("another file is there now"));
        }
        regular(&file)
    }

    fn is_same(&self, file: &File) -> io::Result<bool> {
        let metadata = file.metadata()?;
        let device = (libc::major(metadata.dev()).into(), libc::minor(metadata.dev()).into());
        // Their files have other devices than their mappings.
        let is_layered = fstatfs(file).is_ok_and(|system| {
            [BTRFS_SUPER_MAGIC, OVERLAYFS_SUPER_MAGIC].contains(&system.filesystem_type())
        });
        Ok(metadata.ino() == self.inode && (is_layered || device == self.device))
    }
}

/// The same file, open for reading. Opening a pipe or a device may do something, or wait.
fn regular(place: &File) -> io::Result<File> {
    let kind = place.metadata()?.file_type();
    if !kind.is_file() {
        let is_odd = kind.is_fifo() || kind.is_char_device() || kind.is_block_device();
        let what = if is_odd { "a pipe or a device" } else { "no file" };
        return Err(io::Error::other(what));
    }
    let path = format!("/proc/self/fd/{}", place.as_raw_fd());
    OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    /// A folder like `/proc/PID` whose root is `root`, without `map_files`.
    fn process() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("root");
        std::fs::create_dir(&root).unwrap();
        (folder, root)
    }

    fn mapped(file: &Path, path: &str) -> Mapped {
        let metadata = file.metadata().unwrap();
        let device = (libc::major(metadata.dev()).into(), libc::minor(metadata.dev()).into());
        Mapped { range: String::new(), device, inode: metadata.ino(), path: path.to_owned() }
    }

    #[test]
    fn only_the_mapped_file_is_opened() {
        let (folder, root) = process();
        let library = root.join("libnccl.so.2");
        std::fs::write(&library, "x").unwrap();
        let own = mapped(&library, "/libnccl.so.2");
        assert!(own.open(folder.path()).is_ok());
        let other = Mapped { inode: own.inode + 1, ..own.clone() };
        assert!(other.open(folder.path()).is_err());
        let elsewhere = Mapped { device: (own.device.0 + 1, own.device.1), ..own };
        let is_layered = elsewhere.open(folder.path()).is_ok();
        let system = fstatfs(File::open(&library).unwrap()).unwrap().filesystem_type();
        assert_eq!(is_layered, [BTRFS_SUPER_MAGIC, OVERLAYFS_SUPER_MAGIC].contains(&system));
    }

    #[test]
    fn links_do_not_leave_the_root_and_pipes_are_not_opened() {
        let (folder, root) = process();
        let outside = folder.path().join("outside");
        std::fs::write(&outside, "x").unwrap();
        std::os::unix::fs::symlink(&outside, root.join("libnccl.so.2")).unwrap();
        std::os::unix::fs::symlink("/..", root.join("up")).unwrap();
        for path in ["/libnccl.so.2", "/up/outside", "/../outside"] {
            assert!(mapped(&outside, path).open(folder.path()).is_err(), "{path}");
        }
        let pipe = root.join("libnccl.so");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        assert!(mapped(&pipe, "/libnccl.so").open(folder.path()).is_err());
    }
}
