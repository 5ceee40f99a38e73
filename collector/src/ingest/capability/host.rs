//! Facts about this process and its kernel.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use crate::ingest::kernel_file;

/// A capability that a source needs (capabilities(7)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capability {
    /// Read files whatever their mode.
    DacReadSearch,
    /// Attach programs to interfaces.
    NetAdmin,
    /// Receive all packets of an interface.
    NetRaw,
    /// Inspect processes of other users.
    SysPtrace,
    /// Everything else; includes `Bpf` and `Perfmon`.
    SysAdmin,
    /// Attach to tracepoints and functions, and read their arguments. Linux 5.8.
    Perfmon,
    /// Load programs and create maps. Linux 5.8.
    Bpf,
}

impl Capability {
    /// Bit in `/proc/PID/status` (linux/capability.h).
    const fn bit(self) -> u32 {
        match self {
            Self::DacReadSearch => 2,
            Self::NetAdmin => 12,
            Self::NetRaw => 13,
            Self::SysPtrace => 19,
            Self::SysAdmin => 21,
            Self::Perfmon => 38,
            Self::Bpf => 39,
        }
    }

    /// The kernel's name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::DacReadSearch => "CAP_DAC_READ_SEARCH",
            Self::NetAdmin => "CAP_NET_ADMIN",
            Self::NetRaw => "CAP_NET_RAW",
            Self::SysPtrace => "CAP_SYS_PTRACE",
            Self::SysAdmin => "CAP_SYS_ADMIN",
            Self::Perfmon => "CAP_PERFMON",
            Self::Bpf => "CAP_BPF",
        }
    }
}

/// Version of the kernel: `6.18` of `6.18.44-fc`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct KernelRelease(pub u32, pub u32);

impl fmt::Display for KernelRelease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0, self.1)
    }
}

/// Facts about this process and its kernel. A fact that cannot be read counts as absent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Host {
    /// Effective capabilities, by bit.
    effective: u64,
    /// This is the initial user namespace. In others, capabilities cover only what belongs to them: their
    /// network, but not kernel programs.
    pub is_initial_user_namespace: bool,
    /// The kernel's version.
    pub kernel: Option<KernelRelease>,
    /// The kernel exports its types (`/sys/kernel/btf/vmlinux`).
    pub has_btf: bool,
    /// Where tracefs is mounted, if it is.
    pub tracefs: Option<PathBuf>,
    /// Uprobes work without tracefs (Linux 4.17).
    pub has_uprobe_events: bool,
    /// A filesystem for pinned programs is mounted at `/sys/fs/bpf`.
    pub has_bpffs: bool,
    /// `kernel.unprivileged_bpf_disabled`: 0 allows a few kinds of programs without capabilities, but
    /// none that are used here.
    pub unprivileged_bpf_disabled: Option<u8>,
    /// `kernel.perf_event_paranoid`.
    pub perf_event_paranoid: Option<i32>,
    /// There is an RDMA device in this process's network namespace.
    pub has_rdma_device: bool,
}

/// Linux itself knows no higher value of `kernel.perf_event_paranoid`. Above, kernels of Debian and Ubuntu refuse
/// `perf_event_open` altogether: Debian 11 (5.10) and Ubuntu 22.04 (5.15) to everyone without `CAP_SYS_ADMIN`, Debian
/// 12 (6.1) not to those with `CAP_PERFMON`. Which of them this kernel is, it does not say.
const HIGHEST_PARANOIA: i32 = 2;

impl Host {
    /// From the filesystems `proc` and `sysfs` at these paths.
    #[must_use]
    pub fn read(proc: &Path, sysfs: &Path) -> Self {
        let text = |path: PathBuf| kernel_file::text(&path).unwrap_or_default();
        let status = text(proc.join("self/status"));
        let mounts = kernel_file::bytes(&proc.join("self/mounts"), 1 << 20).unwrap_or_default();
        let tracefs = ["kernel/tracing", "kernel/debug/tracing"].map(|path| sysfs.join(path));
        let uid_map = text(proc.join("self/uid_map"));
        let devices = fs::read_dir(sysfs.join("class/infiniband"));
        Self {
            effective: effective(&status).unwrap_or(0),
            is_initial_user_namespace: uid_map.split_whitespace().eq(["0", "0", "4294967295"]),
            kernel: release(&text(proc.join("sys/kernel/osrelease"))),
            has_btf: sysfs.join("kernel/btf/vmlinux").exists(),
            tracefs: tracefs.into_iter().find(|path| path.join("events").is_dir()),
            has_uprobe_events: sysfs.join("bus/event_source/devices/uprobe/type").exists(),
            has_bpffs: String::from_utf8_lossy(&mounts).lines().any(is_bpffs),
            unprivileged_bpf_disabled: text(proc.join("sys/kernel/unprivileged_bpf_disabled"))
                .parse()
                .ok(),
            perf_event_paranoid: text(proc.join("sys/kernel/perf_event_paranoid")).parse().ok(),
            has_rdma_device: devices.is_ok_and(|mut devices| devices.next().is_some()),
        }
    }

    /// Whether the kernel may refuse tracepoints to a process without `CAP_SYS_ADMIN`.
    #[must_use]
    pub fn may_refuse_tracepoints(&self) -> bool {
        self.perf_event_paranoid.is_some_and(|value| value > HIGHEST_PARANOIA)
    }

    /// Whether this process has the capability.
    #[must_use]
    pub const fn has(&self, capability: Capability) -> bool {
        self.effective & (1 << capability.bit()) != 0
    }
}

/// Effective capabilities, of `/proc/PID/status`.
#[must_use]
pub fn effective(status: &str) -> Option<u64> {
    let digits = status.lines().find_map(|line| line.strip_prefix("CapEff:"))?;
    u64::from_str_radix(digits.trim(), 16).ok()
}

/// The version in a kernel's release: `6.18.44-fc`.
#[must_use]
pub fn release(text: &str) -> Option<KernelRelease> {
    let mut numbers = text.split(|c: char| !c.is_ascii_digit());
    let mut number = || numbers.next()?.parse().ok();
    Some(KernelRelease(number()?, number()?))
}

fn is_bpffs(mount: &str) -> bool {
    let mut fields = mount.split(' ').skip(1);
    fields.next() == Some("/sys/fs/bpf") && fields.next() == Some("bpf")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_s_words() {
        assert_eq!(release("6.18.44-fc-v669"), Some(KernelRelease(6, 18)));
        assert_eq!(release("5.14-rc1"), Some(KernelRelease(5, 14)));
        assert_eq!(release("next"), None);
        assert!(KernelRelease(6, 6) > KernelRelease(5, 15));
        assert_eq!(effective("CapPrm:\t0\nCapEff:\t000000c000001000\n"), Some(0xc0_0000_1000));
        assert!(is_bpffs("bpf /sys/fs/bpf bpf rw,nosuid,mode=700 0 0"));
        assert!(!is_bpffs("none /sys/fs/bpf tmpfs rw 0 0"));
    }
}
