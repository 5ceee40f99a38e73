//! System calls for namespaces and interfaces.
#![expect(unsafe_code, reason = "system calls that no safe wrapper offers")]

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::process::Command;

use nix::fcntl::{OFlag, open};
use nix::sched::{CloneFlags, unshare};
use nix::sys::signal::Signal;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};
use nix::sys::stat::Mode;
use nix::unistd::{geteuid, getppid, write};

use crate::{DriveError, Result};

/// Maps the user to root in a new user namespace. Prepared in advance: between fork and exec no
/// memory may be allocated.
#[derive(Clone, Debug)]
pub(super) struct Identity {
    user: CString,
    group: CString,
}

impl Identity {
    pub(super) fn mapping(user: u32, group: u32) -> Self {
        let line = |id: u32| CString::new(format!("0 {id} 1")).unwrap_or_default();
        Self { user: line(user), group: line(group) }
    }

    /// Moves this single-threaded process into new user and network namespaces.
    pub(super) fn unshare(&self) -> nix::Result<()> {
        unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNET)?;
        let put = |path: &CStr, line: &CStr| -> nix::Result<()> {
            let file = open(path, OFlag::O_WRONLY, Mode::empty())?;
            write(file, line.to_bytes()).map(drop)
        };
        put(c"/proc/self/uid_map", &self.user)?;
        // user_namespaces(7): without this, an unprivileged process may not map a group.
        put(c"/proc/self/setgroups", c"deny")?;
        put(c"/proc/self/gid_map", &self.group)
    }
}

/// Runs `command` in new namespaces that end with it.
pub(super) fn in_own_namespaces(command: &mut Command, identity: Option<Identity>) {
    let enter = move || match &identity {
        Some(identity) => identity.unshare().map_err(io::Error::from),
        None => unshare(CloneFlags::CLONE_NEWNET).map_err(io::Error::from),
    };
    // SAFETY: between fork and exec the closure only makes system calls on memory prepared before;
    // it takes no lock.
    unsafe { command.pre_exec(enter) };
}

/// Kills this process when the thread that started it ends.
///
/// # Errors
/// The kernel refuses, or `parent` has already ended.
pub fn die_with_parent(parent: u32) -> Result<()> {
    nix::sys::prctl::set_pdeathsig(Signal::SIGKILL)
        .map_err(|error| DriveError::io("ask to die with the parent")(error.into()))?;
    if u32::try_from(getppid().as_raw()).ok() == Some(parent) {
        return Ok(());
    }
    Err(DriveError::Unusable(format!("the process that started this rank, {parent}, is gone")))
}

/// The effective user id.
#[must_use]
pub fn user_id() -> u32 {
    geteuid().as_raw()
}

/// `SIOCETHTOOL` commands of linux/ethtool.h that disable offloads: checksums (`ETHTOOL_STXCSUM`)
/// and segmentation (`ETHTOOL_STSO`, `ETHTOOL_SGSO`).
const OFFLOADS: [u32; 3] = [0x0000_0017, 0x0000_001f, 0x0000_0024];

/// Makes an interface of the calling thread's namespace send packets as on a wire: no larger than
/// its MTU, with checksums.
pub(super) fn send_real_packets(interface: &str) -> Result<()> {
    /// `struct ethtool_value`
    #[repr(C)]
    struct Value {
        command: u32,
        data: u32,
    }
    for command in OFFLOADS {
        let mut value = Value { command, data: 0 };
        let mut request = request(interface);
        request.ifr_ifru.ifru_data = (&raw mut value).cast();
        // SAFETY: SIOCETHTOOL with these commands reads an `ethtool_value` behind `ifr_data`, which
        // lives until the call returns.
        unsafe { ask(libc::SIOCETHTOOL, &mut request) }
            .map_err(DriveError::io(format!("switch off offloads of {interface}")))?;
    }
    Ok(())
}

/// MTU of an interface, in bytes.
pub(super) fn mtu(interface: &str) -> Result<u32> {
    let mut request = request(interface);
    // SAFETY: SIOCGIFMTU fills in `ifru_mtu`.
    let mtu = unsafe {
        ask(libc::SIOCGIFMTU, &mut request)
            .map_err(DriveError::io(format!("read the MTU of {interface}")))?;
        request.ifr_ifru.ifru_mtu
    };
    Ok(mtu.unsigned_abs())
}

/// A request about an interface.
fn request(interface: &str) -> libc::ifreq {
    // SAFETY: `ifreq` is plain data, for which zeroes are valid.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    let name = request.ifr_name.iter_mut().zip(interface.bytes());
    // The last byte stays 0.
    name.take(libc::IFNAMSIZ - 1).for_each(|(to, from)| *to = from.cast_signed());
    request
}

/// # Safety
/// What `request` points to must be what the call `number` takes.
unsafe fn ask(number: libc::c_ulong, request: &mut libc::ifreq) -> io::Result<()> {
    let socket = socket(AddressFamily::Inet, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None)?;
    // SAFETY: as the caller promises; the socket and the request live until the call returns.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), number, &raw mut *request) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
