//! The bpf system call: memory shared with a program, a program, and frames that it hands to the kernel as if a
//! NIC had received them (bpf(2), Documentation/bpf/bpf_prog_run.rst).
#![expect(
    unsafe_code,
    reason = "a system call without a wrapper, and memory shared with the kernel"
)]

use std::ffi::c_long;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;

/// Commands of bpf(2).
const MAP_CREATE: c_long = 0;
const PROG_LOAD: c_long = 5;
const PROG_TEST_RUN: c_long = 10;

const MAP_TYPE_ARRAY: u32 = 2;
const F_MMAPABLE: u32 = 1 << 10;
const PROG_TYPE_XDP: u32 = 6;
/// What the program returns happens to the frame.
const F_TEST_XDP_LIVE_FRAMES: u32 = 1 << 1;

/// One instruction: `struct bpf_insn`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct Instruction {
    pub(super) code: u8,
    /// Destination in the lower half, source in the upper.
    pub(super) registers: u8,
    pub(super) offset: i16,
    pub(super) value: i32,
}

/// An array of one value, which a program and this process share.
pub(super) struct Shared {
    map: OwnedFd,
    memory: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the memory belongs to the array alone, and is read and written by atomics.
unsafe impl Sync for Shared {}

impl Shared {
    pub(super) fn new(bytes: usize) -> io::Result<Self> {
        #[repr(C)]
        struct Create {
            kind: u32,
            key_bytes: u32,
            value_bytes: u32,
            entries: u32,
            flags: u32,
        }
        let value_bytes = u32::try_from(bytes).map_err(io::Error::other)?;
        let kind = MAP_TYPE_ARRAY;
        let create = Create { kind, key_bytes: 4, value_bytes, entries: 1, flags: F_MMAPABLE };
        let map = owned(bpf(MAP_CREATE, &create)?);
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let fd = map.as_raw_fd();
        // SAFETY: a fresh mapping of the array, whose size it was made with.
        let memory =
            unsafe { libc::mmap(std::ptr::null_mut(), bytes, access, libc::MAP_SHARED, fd, 0) };
        if memory == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let memory = NonNull::new(memory.cast()).ok_or_else(|| io::Error::other("no memory"))?;
        Ok(Self { map, memory, bytes })
    }

    /// Its words.
    pub(super) fn words(&self) -> &[AtomicU64] {
        // SAFETY: within the mapping, which begins at a page; the kernel may write to it meanwhile,
        // hence the atomics.
        unsafe { std::slice::from_raw_parts(self.memory.as_ptr().cast(), self.bytes / 8) }
    }

    pub(super) fn fd(&self) -> RawFd {
        self.map.as_raw_fd()
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: the mapping that `new` made; nothing reads it any more.
        unsafe { libc::munmap(self.memory.as_ptr().cast(), self.bytes) };
    }
}

/// An XDP program, not attached to any interface.
pub(super) struct Program(OwnedFd);

impl Program {
    pub(super) fn load(code: &[Instruction]) -> io::Result<Self> {
        #[repr(C)]
        struct Load {
            kind: u32,
            instructions: u32,
            code: u64,
            license: u64,
            log_level: u32,
            log_bytes: u32,
            log: u64,
        }
        let mut log = vec![0_u8; 1 << 16];
        let load = Load {
            kind: PROG_TYPE_XDP,
            instructions: u32::try_from(code.len()).map_err(io::Error::other)?,
            code: code.as_ptr() as u64,
            license: c"GPL".as_ptr() as u64,
            log_level: 1,
            log_bytes: log.len() as u32,
            log: log.as_mut_ptr() as u64,
        };
        let loaded = bpf(PROG_LOAD, &load);
        loaded.map(|fd| Self(owned(fd))).map_err(|error| {
            let end = log.iter().position(|byte| *byte == 0).unwrap_or_default();
            io::Error::other(format!("{error}: {}", String::from_utf8_lossy(&log[..end])))
        })
    }

    /// Runs it `times` on a frame at the interface with this index in the calling thread's network
    /// namespace. Each frame is then what the program returns: sent elsewhere, or dropped.
    pub(super) fn run(&self, frame: &[u8], interface: u32, times: u32) -> io::Result<()> {
        /// `struct xdp_md`
        #[repr(C)]
        struct Context {
            data: u32,
            data_end: u32,
            data_meta: u32,
            interface: u32,
            queue: u32,
            egress: u32,
        }
        #[repr(C)]
        struct Run {
            program: RawFd,
            result: u32,
            frame_bytes: u32,
            out_bytes: u32,
            frame: u64,
            out: u64,
            times: u32,
            duration: u32,
            context_bytes: u32,
            context_out_bytes: u32,
            context: u64,
            context_out: u64,
            flags: u32,
            cpu: u32,
            batch: u32,
            unused: u32,
        }
        let frame_bytes = u32::try_from(frame.len()).map_err(io::Error::other)?;
        let (data, data_end, data_meta, queue, egress) = (0, frame_bytes, 0, 0, 0);
        let context = Context { data, data_end, data_meta, interface, queue, egress };
        let run = Run {
            program: self.0.as_raw_fd(),
            result: 0,
            frame_bytes,
            out_bytes: 0,
            frame: frame.as_ptr() as u64,
            out: 0,
            times,
            duration: 0,
            context_bytes: size_of::<Context>() as u32,
            context_out_bytes: 0,
            context: (&raw const context) as u64,
            context_out: 0,
            flags: F_TEST_XDP_LIVE_FRAMES,
            cpu: 0,
            batch: 0,
            unused: 0,
        };
        bpf(PROG_TEST_RUN, &run).map(drop)
    }
}

fn bpf<T>(command: c_long, attributes: &T) -> io::Result<RawFd> {
    let at: *const T = attributes;
    // SAFETY: the kernel reads and writes within the size that it is given; what the attributes point to
    // lives until the call returns.
    let result = unsafe { libc::syscall(libc::SYS_bpf, command, at, size_of::<T>()) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result as RawFd) }
}

fn owned(fd: RawFd) -> OwnedFd {
    // SAFETY: a file descriptor that the kernel has just made, and nothing else owns.
    unsafe { OwnedFd::from_raw_fd(fd) }
}
