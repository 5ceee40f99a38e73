//! What the lab is made of.

/// The suite that programs come from. Its C library is at least as new as that of hosts that are
/// supported, so that what was compiled on the host runs in the guest.
pub(super) const SUITE: &str = "trixie";

/// The suite that the kernel comes from: rdma_rxe honours network namespaces only since 7.x.
pub(super) const KERNEL_SUITE: &str = "trixie-backports";

/// The suite of an older kernel, with which many training hosts run: before 6.6, where traffic control
/// has filters only.
pub(super) const OLDER_KERNEL_SUITE: &str = "bookworm";

/// The package that depends on a suite's newest kernel.
pub(super) const KERNEL: &str = "linux-image-amd64";

/// Packages for the guest, and QEMU, which runs on the host.
pub(super) const PACKAGES: &[&str] = &[
    "bash",
    "busybox-static",
    "coreutils",
    "dash",
    "grep",
    "hostname",
    "ibverbs-providers",
    "ibverbs-utils",
    "iproute2",
    "iputils-ping",
    "kmod",
    "libc-bin",
    "mawk",
    "nftables",
    "perftest",
    "procps",
    "python3-minimal",
    "python3-pyverbs",
    "qemu-system-x86",
    "rdmacm-utils",
    "sed",
    "tcpdump",
    // The older kernel depends on an initramfs generator: this is the smallest.
    "tiny-initramfs",
    "util-linux",
];

/// Modules that the initramfs needs to reach the tree over 9p; all others are in the tree.
pub(super) const BOOT_MODULES: &[&str] = &["virtio_pci", "9pnet_virtio", "9p", "overlay"];

/// All of the above that the unpacked tree depends on, so that a change makes a new one.
pub(super) fn key() -> String {
    let words = [&[SUITE, KERNEL_SUITE, OLDER_KERNEL_SUITE, KERNEL], PACKAGES].concat().join(" ");
    format!("{:08x}", crc32fast::hash(words.as_bytes()))
}
