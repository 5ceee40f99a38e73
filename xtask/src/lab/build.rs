//! Builds the lab once: packages, tree, initramfs. An existing one of the same recipe is reused.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use super::apt::Apt;
use super::kernel::{self, Kernel};
use super::packages::Package;
use super::{recipe, tree};
use crate::clock::timed;
use crate::repository::root;

/// Pauses between two lines of progress.
const PROGRESS: Duration = Duration::from_secs(5);

/// A lab that is ready to boot. Its folder is locked while this lives.
pub(crate) struct Built {
    pub(super) folder: PathBuf,
    pub(super) tree: PathBuf,
    /// The newest.
    pub(super) kernel: Kernel,
    /// One from before Linux 6.6.
    pub(super) older_kernel: Kernel,
    _lock: File,
}

/// The lab, built if it does not exist.
pub(super) fn build(mirror: Option<&str>) -> Result<Built> {
    ensure!(cfg!(target_arch = "x86_64"), "the lab needs an x86-64 host");
    let folder = root().join("target/lab");
    fs::create_dir_all(&folder).with_context(|| format!("create {}", folder.display()))?;
    let lock = lock(&folder)?;
    let tree = folder.join("tree");
    // Names recipe and packages, and is written last.
    let manifest = folder.join("manifest.txt");
    let recipe = format!("recipe {}\n", recipe::key());
    if !fs::read_to_string(&manifest).is_ok_and(|text| text.starts_with(&recipe)) {
        let mirror = match mirror {
            Some(mirror) => mirror.to_owned(),
            None => crate::mirror::of_host().context("name a Debian mirror with --mirror")?,
        };
        let (packages, seconds) = timed(|| make_tree(&folder, &tree, mirror));
        let lines = packages?.iter().map(line_of_manifest).collect::<String>();
        fs::write(&manifest, recipe + &lines)
            .with_context(|| format!("write {}", manifest.display()))?;
        eprintln!(
            "lab: built in {seconds:.0} s; {} has versions and checksums",
            manifest.display()
        );
    }
    let modules = kernel::modules(&tree)?;
    let [newest, older] = modules.as_slice() else {
        bail!("{} has {} kernels, not 2", tree.display(), modules.len());
    };
    let kernel = Kernel::prepare(&folder, &tree, newest)?;
    let older_kernel = Kernel::prepare(&folder, &tree, older)?;
    Ok(Built { folder, tree, kernel, older_kernel, _lock: lock })
}

/// One lab at a time: they share tree and results.
fn lock(folder: &Path) -> Result<File> {
    let path = folder.join("lock");
    let lock = File::create(&path).with_context(|| format!("create {}", path.display()))?;
    if lock.try_lock().is_err() {
        eprintln!("lab: another `cargo xtask lab` uses {}; waiting for it", folder.display());
        lock.lock().with_context(|| format!("lock {}", path.display()))?;
    }
    Ok(lock)
}

fn make_tree(folder: &Path, tree: &Path, mirror: String) -> Result<Vec<Package>> {
    eprintln!("lab: reading the lists of {mirror}");
    let apt = Apt::new(folder.join("apt"), mirror)?;
    let mut names: Vec<_> = recipe::PACKAGES.iter().map(ToString::to_string).collect();
    for suite in [recipe::KERNEL_SUITE, recipe::OLDER_KERNEL_SUITE] {
        names.extend(kernel::packages(&apt.depends(recipe::KERNEL, suite)?)?);
    }
    let packages = apt.resolve(&names)?;
    download(&apt, &names, &packages)?;

    eprintln!("lab: unpacking {} packages", packages.len());
    if tree.exists() {
        fs::remove_dir_all(tree).with_context(|| format!("remove {}", tree.display()))?;
    }
    let files: Vec<_> = packages.iter().map(|package| apt.archives().join(&package.file)).collect();
    tree::unpack(&files, tree)?;
    for modules in kernel::modules(tree)? {
        tree::index_modules(tree, &modules)?;
    }
    Ok(packages)
}

/// Downloads, and prints progress every few seconds.
fn download(apt: &Apt, names: &[String], packages: &[Package]) -> Result<()> {
    const MB: u64 = 1_000_000;
    let total = packages.iter().map(|package| package.bytes).sum::<u64>() / MB;
    eprintln!("lab: downloading {} packages, {total} MB", packages.len());
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let progress = scope.spawn(|| {
            while !ended.load(Ordering::Relaxed) {
                std::thread::park_timeout(PROGRESS);
                if !ended.load(Ordering::Relaxed) {
                    eprintln!("lab: {} of {total} MB", size(&apt.archives()) / MB);
                }
            }
        });
        let outcome = apt.download(names);
        ended.store(true, Ordering::Relaxed);
        progress.thread().unpark();
        outcome
    })
}

/// Bytes of the files in `folder` and below, some of which may vanish meanwhile.
fn size(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let sizes = entries.map(|entry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => size(&entry.path()),
        Ok(metadata) => metadata.len(),
        Err(_) => 0,
    });
    sizes.sum()
}

fn line_of_manifest(package: &Package) -> String {
    format!("{} {} {}\n", package.file, package.bytes, package.checksum)
}
