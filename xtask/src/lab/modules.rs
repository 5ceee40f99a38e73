//! Kernel modules and what each needs: `modules.dep`, as depmod writes it.

use anyhow::{Context, Result};

/// The files of `names` and their dependencies, in an order in which they can be inserted. Built-in
/// modules have no file.
pub(super) fn closure<'a>(dep: &'a str, builtin: &str, names: &[&str]) -> Result<Vec<&'a str>> {
    let mut files: Vec<&str> = Vec::new();
    for name in names {
        if builtin.lines().any(|path| is_module(path, name)) {
            continue;
        }
        let line =
            dep.lines().find_map(|line| line.split_once(':').filter(|l| is_module(l.0, name)));
        let (file, needed) = line.with_context(|| format!("the kernel has no module {name}"))?;
        // Each line lists all dependencies, the lowest last.
        for file in needed.split_whitespace().rev().chain([file]) {
            if !files.contains(&file) {
                files.push(file);
            }
        }
    }
    Ok(files)
}

/// Whether `path` is the file of the module `name`, compressed or not.
fn is_module(path: &str, name: &str) -> bool {
    let file = path.rsplit('/').next().unwrap_or(path);
    file.split_once(".ko").is_some_and(|(stem, _)| stem.replace('-', "_") == name)
}

#[cfg(test)]
mod tests {
    use super::closure;

    const DEP: &str = "kernel/fs/9p/9p.ko.xz: kernel/net/9p/9pnet.ko.xz kernel/fs/netfs.ko.xz\n\
        kernel/net/9p/9pnet.ko.xz: kernel/fs/netfs.ko.xz\nkernel/fs/netfs.ko.xz:\n\
        kernel/net/ib-core.ko:\n";

    #[test]
    fn what_is_needed_comes_first_and_once() {
        let files =
            closure(DEP, "kernel/virtio_pci.ko\n", &["virtio_pci", "9pnet", "9p", "ib_core"]);
        assert_eq!(
            files.unwrap(),
            [
                "kernel/fs/netfs.ko.xz",
                "kernel/net/9p/9pnet.ko.xz",
                "kernel/fs/9p/9p.ko.xz",
                "kernel/net/ib-core.ko"
            ]
        );
    }

    #[test]
    fn an_absent_module_is_named() {
        let error = closure(DEP, "", &["rdma_rxe"]).unwrap_err().to_string();
        assert_eq!(error, "the kernel has no module rdma_rxe");
    }
}
