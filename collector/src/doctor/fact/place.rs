//! Who looks, and from where: a user, a container, a virtual machine.

use std::net::IpAddr;

use crate::doctor::tree::Tree;

/// Who looks, and from where.
#[derive(Clone, Debug, Default)]
pub struct Place {
    /// Name of the node.
    pub host: String,
    /// The kernel's release: `6.8.0-45-generic`.
    pub kernel: Option<String>,
    /// Whether the files belong to the running system.
    pub is_running_system: bool,
    /// Whether we are root.
    pub is_root: bool,
    /// What shows that this is a container: `/.dockerenv`.
    pub container: Option<String>,
    /// What shows that this is a virtual machine: the kernel's name of its maker.
    pub machine: Option<String>,
    /// Name of the host as the job sees it; `None` if a container's is not known.
    pub job_host: Option<String>,
    /// `/etc/hosts` of the job: addresses and their names.
    pub names: Vec<(IpAddr, Vec<String>)>,
    /// Whether the kernel gives each network namespace its own RDMA devices (`rdma system`).
    pub is_rdma_exclusive: Option<bool>,
}

impl Place {
    /// `job` has the files of the process `pid`.
    pub(super) fn read(tree: &Tree, job: &Tree, pid: Option<u32>) -> Self {
        let is_running_system = tree.is_running_system();
        let of_kernel = tree.text("/proc/sys/kernel/hostname").ok();
        let host = of_kernel
            .or_else(|| tree.text("/etc/hostname").ok())
            .unwrap_or_else(|| "this node".to_owned());
        let name_space = |process: &str| tree.link_name(&format!("/proc/{process}/ns/uts"));
        let is_of_host = pid.is_none_or(|pid| name_space(&pid.to_string()) == name_space("self"));
        let job_host = match is_of_host {
            true => Some(host.clone()),
            false => job.text("/etc/hostname").ok(),
        };
        Self {
            job_host,
            host,
            kernel: tree.text("/proc/sys/kernel/osrelease").ok(),
            is_running_system,
            is_root: nix::unistd::geteuid().is_root(),
            container: container(tree),
            machine: machine(tree),
            names: names(job),
            is_rdma_exclusive: is_rdma_exclusive(tree),
        }
    }
}

/// Docker, Podman and Kubernetes each leave a mark (systemd's `detect_container`).
fn container(tree: &Tree) -> Option<String> {
    let marks = ["/.dockerenv", "/run/.containerenv", "/var/run/secrets/kubernetes.io"];
    let mark = marks.into_iter().find(|mark| tree.has(mark)).map(str::to_owned);
    mark.or_else(|| {
        let environment = tree.bytes("/proc/1/environ").ok()?;
        let text = String::from_utf8_lossy(&environment);
        text.split('\0')
            .any(|set| set.starts_with("container="))
            .then(|| "container= of process 1".to_owned())
    })
}

fn machine(tree: &Tree) -> Option<String> {
    let vendor = tree.text("/sys/class/dmi/id/sys_vendor").ok()?;
    let product = tree.text("/sys/class/dmi/id/product_name").unwrap_or_default();
    let makers = [
        "QEMU",
        "OpenStack",
        "Alibaba",
        "Nutanix",
        "KubeVirt",
        "Red Hat",
        "oVirt",
        "KVM",
        "VMware",
        "Xen",
        "Amazon EC2",
        "Google",
        "Microsoft Corporation",
        "innotek",
    ];
    let is_virtual = makers.iter().any(|maker| vendor.contains(maker) || product.contains(maker));
    // Bare metal of clouds says so in the product's name: `c5n.metal`.
    // x86 processors have a flag for guests.
    let processor = tree.text("/proc/cpuinfo").unwrap_or_default();
    let flags = processor.lines().find(|line| line.starts_with("flags")).unwrap_or_default();
    let is_virtual = is_virtual || flags.split_whitespace().any(|flag| flag == "hypervisor");
    (is_virtual && !product.contains("metal"))
        .then(|| format!("{vendor} {product}").trim().to_owned())
}

/// Lines of `/etc/hosts` (hosts(5)).
fn names(tree: &Tree) -> Vec<(IpAddr, Vec<String>)> {
    let text = tree.text("/etc/hosts").unwrap_or_default();
    let lines = text.lines().filter_map(|line| {
        let mut words = line.split('#').next()?.split_whitespace();
        Some((words.next()?.parse().ok()?, words.map(str::to_owned).collect()))
    });
    lines.collect()
}

/// Linux 5.2; older kernels share devices among namespaces.
fn is_rdma_exclusive(tree: &Tree) -> Option<bool> {
    let mode = tree.text("/sys/module/ib_core/parameters/netns_mode").ok()?;
    match mode.as_str() {
        "Y" | "1" => Some(false),
        "N" | "0" => Some(true),
        _ => None,
    }
}
