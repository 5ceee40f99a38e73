//! System calls that the agent has no use for: with them, whoever takes it over could start programs, change
//! the system, or leave its namespaces.
//!
//! They are refused by a list of what is refused, not of what is allowed: what a libc or a resolver calls
//! differs from release to release, and an agent that ends at an unknown call would be worse. systemd's unit
//! has a list of what is allowed (`SystemCallFilter=`) on top.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, apply_filter_all_threads,
};

#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: TargetArch = TargetArch::x86_64;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: TargetArch = TargetArch::aarch64;

/// Refused with `EPERM`, whatever the arguments.
const REFUSED: &[i64] = &[
    // Programs, and other processes' memory.
    libc::SYS_execve,
    libc::SYS_execveat,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    // Namespaces and mounts.
    libc::SYS_setns,
    libc::SYS_unshare,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_open_by_handle_at,
    libc::SYS_mknodat,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_quotactl,
    libc::SYS_acct,
    // The kernel itself.
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_reboot,
    libc::SYS_syslog,
    libc::SYS_personality,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_vhangup,
    // Clocks and names.
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    // Users and keys.
    libc::SYS_setuid,
    libc::SYS_setgid,
    libc::SYS_setreuid,
    libc::SYS_setregid,
    libc::SYS_setresuid,
    libc::SYS_setresgid,
    libc::SYS_setfsuid,
    libc::SYS_setfsgid,
    libc::SYS_setgroups,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
];

/// The same of one architecture.
#[cfg(target_arch = "x86_64")]
const REFUSED_HERE: &[i64] = &[
    libc::SYS_fork,
    libc::SYS_vfork,
    libc::SYS_mknod,
    libc::SYS_iopl,
    libc::SYS_ioperm,
    libc::SYS_modify_ldt,
    libc::SYS_kexec_file_load,
];
#[cfg(target_arch = "aarch64")]
const REFUSED_HERE: &[i64] = &[libc::SYS_kexec_file_load];

/// Flags of `clone` that make namespaces.
const NAMESPACES: [i32; 7] = [
    libc::CLONE_NEWNS,
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
];

/// Refuses them from now on, in all threads.
pub(super) fn refuse() -> Result<(), seccompiler::Error> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
        REFUSED.iter().chain(REFUSED_HERE).map(|call| (*call, Vec::new())).collect();
    let mut of_clone = Vec::new();
    for flag in NAMESPACES {
        let flag = u64::from(flag.unsigned_abs());
        let has = SeccompCmpOp::MaskedEq(flag);
        let condition = SeccompCondition::new(0, SeccompCmpArgLen::Qword, has, flag)?;
        of_clone.push(SeccompRule::new(vec![condition])?);
    }
    rules.insert(libc::SYS_clone, of_clone);
    apply(rules, libc::EPERM)?;
    // Its flags are behind a pointer, which a filter cannot follow: libc takes `clone` instead.
    apply([(libc::SYS_clone3, Vec::new())].into(), libc::ENOSYS)
}

fn apply(rules: BTreeMap<i64, Vec<SeccompRule>>, error: i32) -> Result<(), seccompiler::Error> {
    let refused = SeccompAction::Errno(error.unsigned_abs());
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refused, ARCHITECTURE)?;
    let program: BpfProgram = filter.try_into()?;
    apply_filter_all_threads(&program)
}
