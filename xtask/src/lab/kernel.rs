//! Kernels that guests boot: which packages have them, and where they lie in the tree.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::initramfs;

/// The packages of the kernel that `depends`, what `apt-cache depends linux-image-amd64` printed,
/// leads to: image and modules, in one package or, since Linux 7, in two.
pub(super) fn packages(depends: &str) -> Result<Vec<String>> {
    let release = release(depends).with_context(|| {
        format!("no kernel release in what apt-cache depends printed: {}", depends.trim())
    })?;
    Ok(match version(release) {
        Some((..7, _)) => vec![format!("linux-image-{release}")],
        _ => vec![format!("linux-binary-{release}"), format!("linux-modules-{release}")],
    })
}

fn release(depends: &str) -> Option<&str> {
    let mut names = depends.lines().filter_map(|line| line.trim().strip_prefix("Depends: "));
    let release = names.find_map(|name| name.strip_prefix("linux-image-"))?;
    release.starts_with(|c: char| c.is_ascii_digit()).then_some(release)
}

/// `(6, 1)` of 6.1.0-50-amd64.
fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(['.', '-', '+']).map(|number| number.parse().ok());
    Some((numbers.next()??, numbers.next()??))
}

/// One that can be booted.
pub(super) struct Kernel {
    pub(super) image: PathBuf,
    pub(super) initramfs: PathBuf,
}

impl Kernel {
    /// The kernel whose modules lie in `modules`; writes its initramfs into `lab`.
    pub(super) fn prepare(lab: &Path, tree: &Path, modules: &Path) -> Result<Self> {
        let release = modules.file_name().unwrap_or_default().display();
        let initramfs = lab.join(format!("initramfs-{release}"));
        fs::write(&initramfs, initramfs::make(tree, modules)?)
            .with_context(|| format!("write {}", initramfs.display()))?;
        let places = [modules.join("vmlinuz"), tree.join(format!("boot/vmlinuz-{release}"))];
        let image = places.into_iter().find(|place| place.exists());
        Ok(Self {
            image: image.with_context(|| format!("no image of kernel {release}"))?,
            initramfs,
        })
    }
}

/// The folders with the modules of the kernels in `tree`, the newest kernel first.
pub(super) fn modules(tree: &Path) -> Result<Vec<PathBuf>> {
    let folder = tree.join("usr/lib/modules");
    let entries = fs::read_dir(&folder).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let entries = entries.with_context(|| format!("list {}", folder.display()))?;
    let mut folders: Vec<PathBuf> = entries.into_iter().map(|entry| entry.path()).collect();
    folders.sort_by_key(|folder| folder.file_name().and_then(|name| version(name.to_str()?)));
    folders.reverse();
    Ok(folders)
}

#[cfg(test)]
mod tests {
    use super::{packages, version};

    #[test]
    fn the_release_is_in_the_name_of_the_image() {
        let depends = "linux-image-amd64\n  Depends: linux-base-amd64\n  \
            Depends: linux-image-7.3.4+deb13-amd64\n  Depends: linux-modules-amd64\n";
        assert_eq!(
            packages(depends).unwrap(),
            ["linux-binary-7.3.4+deb13-amd64", "linux-modules-7.3.4+deb13-amd64"]
        );
        let older = "linux-image-amd64\n  Depends: linux-image-6.1.0-50-amd64\n";
        assert_eq!(packages(older).unwrap(), ["linux-image-6.1.0-50-amd64"]);
        assert!(packages("linux-image-amd64\n").is_err());
    }

    #[test]
    fn versions_are_numbers() {
        assert_eq!(version("6.1.0-50-amd64"), Some((6, 1)));
        assert!(version("6.12.117+deb12-amd64") > version("6.2.0-1-amd64"));
        assert_eq!(version("kernel"), None);
    }
}
