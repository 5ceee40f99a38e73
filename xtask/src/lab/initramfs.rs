//! The guest's first root: enough to reach the tree over 9p.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::cpio::Archive;
use super::modules;
use super::recipe::BOOT_MODULES;

/// Modules are inserted in the order of their names.
const INIT: &str = r"#!/bin/busybox sh
b=/bin/busybox
$b mount -t proc proc /proc
$b mount -t devtmpfs dev /dev
for module in /modules/*; do $b insmod $module; done
over9p=trans=virtio,version=9p2000.L,msize=262144
$b mount -t 9p -o $over9p,ro,cache=loose tree /tree
$b mount -t tmpfs changes /changes
$b mkdir /changes/upper /changes/work
$b mount -t overlay -o lowerdir=/tree,upperdir=/changes/upper,workdir=/changes/work overlay /new
$b mkdir -p /new/host /new/repo
$b mount -t 9p -o $over9p host /new/host
$b mount -t 9p -o $over9p,ro repo /new/repo
$b mount --move /dev /new/dev
$b umount /proc
exec $b switch_root /new /bin/bash -c '. /repo/tests/lab/agent.sh'
";

/// The archive for the kernel in `modules`, of the unpacked `tree`.
pub(super) fn make(tree: &Path, modules: &Path) -> Result<Vec<u8>> {
    let read = |path: &Path| fs::read(path).with_context(|| format!("read {}", path.display()));
    let list = |name: &str| -> Result<String> {
        Ok(String::from_utf8_lossy(&read(&modules.join(name))?).into_owned())
    };
    let (dep, builtin) = (list("modules.dep")?, list("modules.builtin")?);
    let mut archive = Archive::default();
    for name in ["bin", "modules", "proc", "dev", "tree", "changes", "new"] {
        archive.folder(name);
    }
    archive.program("bin/busybox", read(&tree.join("usr/bin/busybox"))?);
    for (place, file) in modules::closure(&dep, &builtin, BOOT_MODULES)?.iter().enumerate() {
        let name = file.rsplit('/').next().unwrap_or(file);
        archive.program(&format!("modules/{place:02}-{name}"), read(&modules.join(file))?);
    }
    archive.program("init", INIT.into());
    archive.finish().context("make the first root")
}
