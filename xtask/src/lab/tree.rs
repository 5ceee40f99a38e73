//! The tree: Debian packages unpacked, but not installed. Their scripts do not run; the few needed
//! steps of these are done here.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

/// Folders that Debian's packages still name by their old places.
const MERGED: &[&str] = &["bin", "sbin", "lib", "lib64"];

/// Unpacks `packages` into `root`.
pub(super) fn unpack(packages: &[PathBuf], root: &Path) -> Result<()> {
    for name in MERGED {
        fs::create_dir_all(root.join("usr").join(name)).context("create the tree")?;
        symlink(format!("usr/{name}"), root.join(name)).context("create the tree")?;
    }
    for package in packages {
        unpack_one(package, root).with_context(|| format!("unpack {}", package.display()))?;
    }
    let write = |name: &str, text: &str| fs::write(root.join(name), text);
    write("etc/passwd", "root:x:0:0:root:/tmp:/bin/bash\nnobody:x:65534:65534::/:/bin/false\n")
        .and_then(|()| write("etc/group", "root:x:0:\nnogroup:x:65534:\n"))
        .and_then(|()| write("etc/hosts", "127.0.0.1 localhost lab\n"))
        .and_then(|()| symlink("mawk", root.join("usr/bin/awk")))
        .context("complete the tree")
}

fn unpack_one(package: &Path, root: &Path) -> Result<()> {
    let mut content = Command::new("dpkg-deb")
        .arg("--fsys-tarfile")
        .arg(package)
        .stdout(Stdio::piped())
        .spawn()
        .context("start dpkg-deb")?;
    let archive = content.stdout.take().context("read from dpkg-deb")?;
    let unpacked = Command::new("tar")
        .args(["--extract", "--keep-directory-symlink", "--no-same-owner", "--directory"])
        .arg(root)
        .args(["--exclude=./usr/share/doc", "--exclude=./usr/share/man"])
        .args(["--exclude=./usr/share/locale"])
        .stdin(archive)
        .status();
    // Wait for both first, even if tar failed: no process is left behind.
    let read = content.wait().context("wait for dpkg-deb")?;
    let unpacked = unpacked.context("start tar")?;
    ensure!(read.success(), "dpkg-deb: {read}");
    ensure!(unpacked.success(), "tar: {unpacked}");
    Ok(())
}

/// Writes `modules.dep`, which a kernel's package leaves to the machine it is installed on.
pub(super) fn index_modules(root: &Path, modules: &Path) -> Result<()> {
    let release = modules.file_name().context("the kernel has no release")?;
    let mut depmod = program(root, "depmod", "usr/bin/kmod");
    let status = depmod.arg("-b").arg(root).arg(release).status().context("start depmod")?;
    ensure!(status.success(), "depmod: {status}");
    Ok(())
}

/// A program of the tree, run on the host with the tree's own libraries and called `name`.
pub(super) fn program(root: &Path, name: &str, path: &str) -> Command {
    let mut command = Command::new(root.join("usr/lib64/ld-linux-x86-64.so.2"));
    command.arg("--library-path").arg(root.join("usr/lib/x86_64-linux-gnu"));
    command.arg("--argv0").arg(name).arg(root.join(path));
    command
}
