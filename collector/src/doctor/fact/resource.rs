//! What a process may use: memory that it pins, shared memory, files, control groups.

use crate::doctor::tree::{Known, Missing, Tree};
use crate::ingest::capability::effective;

/// What a process may use.
#[derive(Clone, Debug)]
pub struct Resources {
    /// Whose limits these are: `this process`, `process 1234`.
    pub whose: String,
    /// Bytes that it may pin; `None` is no limit.
    pub locked: Known<Option<u64>>,
    /// Files that it may open.
    pub files: Known<Option<u64>>,
    /// Whether its capabilities let it pin more than the limit (`CAP_IPC_LOCK`).
    pub may_lock_all: Option<bool>,
    /// Bytes of `/dev/shm`.
    pub shared_memory: Known<u64>,
    /// Limits of its control group, by the file that sets them.
    pub group: Vec<(String, String)>,
    /// Bytes of memory of the node.
    pub memory: Option<u64>,
    /// Bytes of it that are set aside as huge pages.
    pub huge_pages: Option<u64>,
    /// Character devices of RDMA that are there, and whether we may open them.
    pub character_devices: Vec<(String, bool)>,
}

impl Resources {
    /// `job` has the files of the process, which may see others than we do.
    pub(super) fn read(tree: &Tree, job: &Tree, pid: Option<u32>) -> Self {
        let process = pid.map_or_else(|| "self".to_owned(), |pid| pid.to_string());
        let limits = limits(tree, &process);
        let limit = |name: &str| limits.clone().map(|text| limit(&text, name));
        let status = tree.text(&format!("/proc/{process}/status")).unwrap_or_default();
        Self {
            whose: pid.map_or_else(|| "this process".to_owned(), |pid| format!("process {pid}")),
            locked: limit("Max locked memory"),
            files: limit("Max open files"),
            may_lock_all: effective(&status).map(|bits| bits >> IPC_LOCK & 1 == 1),
            shared_memory: shared_memory(job),
            group: group(tree, &process),
            memory: memory(tree, "MemTotal:").map(|kib| kib * 1024),
            // All sizes since Linux 4.20; the default size alone before.
            huge_pages: memory(tree, "Hugetlb:")
                .or_else(|| {
                    let pages = memory(tree, "HugePages_Total:")?;
                    Some(pages.saturating_mul(memory(tree, "Hugepagesize:")?))
                })
                .map(|kib| kib.saturating_mul(1024)),
            character_devices: character_devices(tree),
        }
    }
}

/// `CAP_IPC_LOCK` (linux/capability.h).
const IPC_LOCK: u32 = 14;

fn limits(tree: &Tree, process: &str) -> Known<String> {
    // Below another root, its `/proc/self` is not ours.
    let of_self = || tree.of_running_system("limits of this process");
    if process == "self" {
        of_self()?;
    }
    tree.text(&format!("/proc/{process}/limits"))
}

/// The soft limit; `None` for none.
fn limit(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

fn shared_memory(tree: &Tree) -> Known<u64> {
    let path = "/dev/shm";
    tree.of_running_system("size of /dev/shm")?;
    let found = nix::sys::statvfs::statvfs(&tree.path(path));
    let found = found.map_err(|error| Missing::of_error(path, &error.into()))?;
    Ok(found.blocks().saturating_mul(found.fragment_size()))
}

fn memory(tree: &Tree, name: &str) -> Option<u64> {
    let text = tree.text("/proc/meminfo").ok()?;
    text.lines().find_map(|line| line.strip_prefix(name)?.split_whitespace().next()?.parse().ok())
}

/// Limits that are set in version 2's files, up to the root; the nearest of each counts.
fn group(tree: &Tree, process: &str) -> Vec<(String, String)> {
    let groups = tree.text(&format!("/proc/{process}/cgroup")).unwrap_or_default();
    let Some(own) = groups.lines().find_map(|line| line.strip_prefix("0::")) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for file in ["memory.max", "pids.max", "rdma.max", "cpuset.cpus.effective"] {
        let folders = std::iter::successors(Some(own.trim_end_matches('/')), |folder| {
            Some(folder.rsplit_once('/')?.0)
        });
        let mut values = folders.filter_map(|folder| {
            let path = format!("/sys/fs/cgroup{folder}/{file}");
            tree.text(&path).ok().map(|value| (path, value))
        });
        let is_set = |value: &str| !value.is_empty() && value != "max";
        found.extend(values.find(|(_, value)| is_set(value)));
    }
    found
}

fn character_devices(tree: &Tree) -> Vec<(String, bool)> {
    let names = tree.names("/dev/infiniband").unwrap_or_default();
    let wanted = names.into_iter().filter(|name| name.starts_with("uverbs") || name == "rdma_cm");
    wanted
        .map(|name| {
            let path = tree.path(&format!("/dev/infiniband/{name}"));
            let flags = nix::unistd::AccessFlags::R_OK | nix::unistd::AccessFlags::W_OK;
            let may_open = nix::unistd::access(&path, flags).is_ok();
            (name, may_open)
        })
        .collect()
}
