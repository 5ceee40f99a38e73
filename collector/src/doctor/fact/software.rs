//! Versions: what NCCL, its plugins, CUDA and drivers are on disk and in the kernel.

use std::collections::BTreeSet;

use crate::doctor::tree::Tree;

/// Versions of a node.
#[derive(Clone, Debug, Default)]
pub struct Software {
    /// NCCL and RCCL libraries, with their version if the name or the package has it.
    pub nccl: Vec<Library>,
    /// Network plugins of NCCL: `libnccl-net*.so`.
    pub plugins: Vec<String>,
    /// CUDA toolkits and their versions.
    pub cuda: Vec<Library>,
    /// libibverbs, with the version of rdma-core.
    pub verbs: Option<Library>,
    /// libfabric, with its version of pkg-config.
    pub libfabric: Option<Library>,
    /// First line of `/proc/driver/nvidia/version`, which names the kind of the module.
    pub nvidia: Option<String>,
    /// Modules that matter, with their version if it says one of its own.
    pub modules: Vec<(String, Option<String>)>,
    /// Clients of peer memory that `ib_core` knows: `nv_mem`.
    pub peer_memory: Vec<String>,
    /// Architecture of the kernel: `x86_64`, `aarch64`.
    pub architecture: &'static str,
}

/// A file and its version.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Library {
    /// Where it is.
    pub path: String,
    /// Its version, if it is known without loading it.
    pub version: Option<String>,
}

/// Kernel modules whose presence matters.
const MODULES: &[&str] = &[
    "mlx5_core",
    "mlx5_ib",
    "bnxt_re",
    "irdma",
    "ionic_rdma",
    "efa",
    "efa_nv_peermem",
    "rdma_rxe",
    "siw",
    "ib_core",
    "ib_uverbs",
    "rdma_cm",
    "nvidia",
    "nvidia_peermem",
    "nv_peer_mem",
    "amdgpu",
    "gdrdrv",
];

/// Folders of libraries on the distributions, in containers and of vendors.
const FOLDERS: &[&str] = &[
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
    "/usr/local/lib",
    "/usr/local/lib64",
    "/usr/local/cuda/lib64",
    "/usr/local/nccl/lib",
    "/usr/local/gib/lib64",
    "/usr/local/nvidia/lib64",
    "/opt/amazon/ofi-nccl/lib",
    "/opt/amazon/ofi-nccl/lib/x86_64-linux-gnu",
    "/opt/aws-ofi-nccl/lib",
    "/opt/hpcx/nccl_rdma_sharp_plugin/lib",
    "/opt/rocm/lib",
    "/opt/conda/lib",
];

/// Folders with one folder for each Python.
const PYTHONS: &[&str] =
    &["/usr/lib", "/usr/local/lib", "/opt/conda/lib", "/opt/venv/lib", "/opt/pytorch/lib"];

impl Software {
    /// Libraries are those of `job`, which a process in a container has of its own; the kernel is the node's.
    pub(super) fn read(tree: &Tree, job: &Tree) -> Self {
        let mut found = Self { architecture: std::env::consts::ARCH, ..Self::default() };
        let mut seen = BTreeSet::new();
        for folder in FOLDERS {
            for name in job.names(folder).unwrap_or_default() {
                let path = format!("{folder}/{name}");
                let is_nccl =
                    ["libnccl.so", "librccl.so"].iter().any(|stem| name.starts_with(stem));
                if is_nccl {
                    found.add_nccl(job, &path, &mut seen);
                } else if name.starts_with("libnccl-net") && name.ends_with(".so") {
                    found.plugins.push(path);
                } else if name.starts_with("libibverbs.so.1")
                    && found.verbs.as_ref().is_none_or(|one| one.version.is_none())
                {
                    found.verbs = Some(Library { version: verbs_version(&name), path });
                }
            }
        }
        for python in pythons(job) {
            let path = format!("{python}/nvidia/nccl/lib/libnccl.so.2");
            if job.has(&path) {
                found.nccl.push(Library { version: wheel_version(job, &python), path });
            }
        }
        found.cuda = cuda(job);
        found.libfabric = libfabric(job);
        found.nvidia = tree
            .text("/proc/driver/nvidia/version")
            .ok()
            .and_then(|text| Some(text.lines().next()?.to_owned()));
        found.modules = modules(tree);
        found.peer_memory = tree.names("/sys/kernel/mm/memory_peers").unwrap_or_default();
        found
    }

    /// A library has several names; the longest name of its file has the version.
    fn add_nccl(&mut self, tree: &Tree, path: &str, seen: &mut BTreeSet<String>) {
        let real = format!("/{}", tree.real_parts(path).join("/"));
        if real.len() > 1 && seen.insert(real.clone()) {
            let version = real.rsplit_once(".so.").map(|(_, version)| version.to_owned());
            self.nccl.push(Library {
                version: version.filter(|version| version.contains('.')),
                path: real,
            });
        }
    }

    /// A module that is loaded or built in.
    #[must_use]
    pub fn module(&self, name: &str) -> Option<&(String, Option<String>)> {
        self.modules.iter().find(|(known, _)| known == name)
    }

    /// Whether the NVIDIA driver is the open one, which can export DMA-BUFs; `None` without the driver.
    #[must_use]
    pub fn is_open_nvidia(&self) -> Option<bool> {
        self.nvidia.as_ref().map(|line| line.contains("Open Kernel Module"))
    }

    /// Release of the NVIDIA driver: of `NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.90.07  Fri ...`.
    #[must_use]
    pub fn nvidia_release(&self) -> Option<&str> {
        let is_release = |word: &&str| {
            word.contains('.') && word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
        };
        self.nvidia.as_deref()?.split_whitespace().find(is_release)
    }

    /// Releases of NCCL on disk, without duplicates: `2.27.5`.
    #[must_use]
    pub fn nccl_versions(&self) -> BTreeSet<&str> {
        self.nccl.iter().filter_map(|library| library.version.as_deref()).collect()
    }
}

/// `libibverbs.so.1.14.50.0` is of rdma-core 50 (its `CMakeLists.txt`: 1.14.${PACKAGE_VERSION}).
fn verbs_version(name: &str) -> Option<String> {
    let version = name.strip_prefix("libibverbs.so.1.")?;
    version.contains('.').then(|| format!("1.{version}"))
}

fn pythons(tree: &Tree) -> Vec<String> {
    let folders = PYTHONS.iter().flat_map(|folder| {
        let names = tree.names(folder).unwrap_or_default();
        let pythons = names.into_iter().filter(|name| name.starts_with("python3"));
        pythons.flat_map(move |name| {
            ["site-packages", "dist-packages"].map(|packages| format!("{folder}/{name}/{packages}"))
        })
    });
    folders.filter(|folder| tree.has(folder)).collect()
}

/// `nvidia_nccl_cu12-2.27.5.dist-info` beside the package.
fn wheel_version(tree: &Tree, packages: &str) -> Option<String> {
    let names = tree.names(packages).ok()?;
    names.iter().find_map(|name| {
        let (package, version) = name.strip_suffix(".dist-info")?.split_once('-')?;
        package.starts_with("nvidia_nccl").then(|| version.to_owned())
    })
}

/// The version is in pkg-config's file: that in the library's name is of its interface.
fn libfabric(tree: &Tree) -> Option<Library> {
    let folders = ["/opt/amazon/efa/lib64", "/opt/amazon/efa/lib"].iter().chain(FOLDERS);
    let found = folders.map(|folder| format!("{folder}/pkgconfig/libfabric.pc"));
    found.into_iter().find_map(|path| {
        let text = tree.text(&path).ok()?;
        let version = text.lines().find_map(|line| line.strip_prefix("Version:"));
        Some(Library { version: version.map(|version| version.trim().to_owned()), path })
    })
}

fn cuda(tree: &Tree) -> Vec<Library> {
    let names = tree.names("/usr/local").unwrap_or_default();
    let toolkits = names.iter().filter(|name| name.starts_with("cuda-"));
    toolkits
        .filter_map(|name| {
            let path = format!("/usr/local/{name}");
            let text = tree.text(&format!("{path}/version.json")).ok()?;
            let json: serde_json::Value = serde_json::from_str(&text).ok()?;
            let version = json.pointer("/cuda/version")?.as_str()?.to_owned();
            Some(Library { path, version: Some(version) })
        })
        .collect()
}

fn modules(tree: &Tree) -> Vec<(String, Option<String>)> {
    let loaded = MODULES.iter().filter(|name| tree.has(&format!("/sys/module/{name}")));
    let version = |name: &str| tree.text(&format!("/sys/module/{name}/version")).ok();
    loaded.map(|name| ((*name).to_owned(), version(name).filter(|text| !text.is_empty()))).collect()
}
