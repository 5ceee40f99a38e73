//! Raw calls: clocks, shared memory, locks of files, the thread, and NCCL's mask.

#![expect(unsafe_code, reason = "the C boundary")]

use std::ffi::{c_int, c_void};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicU64, Ordering::Relaxed};

/// Nanoseconds of `CLOCK_MONOTONIC`. The vDSO answers: no system call.
pub(crate) fn monotonic() -> u64 {
    read(libc::CLOCK_MONOTONIC)
}

/// Nanoseconds since 1970.
pub(crate) fn realtime() -> u64 {
    read(libc::CLOCK_REALTIME)
}

fn read(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place for the answer; the call keeps no pointer.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    seconds.wrapping_mul(1_000_000_000).wrapping_add(u64::try_from(time.tv_nsec).unwrap_or(0))
}

/// A number that differs between threads, without a system call.
pub(crate) fn thread_hint() -> usize {
    // SAFETY: no arguments, no failure. On Linux it is the address of the thread's own block.
    let address = unsafe { libc::pthread_self() };
    // Stacks lie apart by pages and megabytes: threads differ in the higher bits.
    usize::try_from(address >> 12).unwrap_or(0).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32
}

/// Reserves a file's bytes, so that no write to its memory can fail later.
pub(crate) fn reserve(file: &File, bytes: usize) -> io::Result<()> {
    let bytes = libc::off_t::try_from(bytes).map_err(io::Error::other)?;
    // SAFETY: the descriptor is open; the call takes no pointer.
    match unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, bytes) } {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

/// Marks a file as in use by this process, until the file is closed.
pub(crate) fn hold(file: &File) {
    // SAFETY: the descriptor is open; the call takes no pointer.
    unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_SH | libc::LOCK_NB) };
}

/// Whether a process has marked a file as in use.
pub(crate) fn is_held(file: &File) -> bool {
    // SAFETY: the descriptor is open; the call takes no pointer.
    let taken = unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) };
    taken != 0
}

/// Words of memory, shared with whoever maps the same file.
#[derive(Debug)]
pub(crate) struct Mapping {
    address: *mut c_void,
    bytes: usize,
}

// SAFETY: the memory is reached only as atomic words, and lives as long as the mapping.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps a file of so many bytes, or memory of this process alone.
    pub(crate) fn new(file: Option<&File>, bytes: usize) -> io::Result<Self> {
        let (flags, descriptor) = match file {
            Some(file) => (libc::MAP_SHARED, file.as_raw_fd()),
            None => (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1),
        };
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice touches no memory in use.
        let address =
            unsafe { libc::mmap(std::ptr::null_mut(), bytes, access, flags, descriptor, 0) };
        if address == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { address, bytes })
    }

    /// The memory as words.
    pub(crate) fn words(&self) -> &[AtomicU64] {
        // SAFETY: the mapping is readable and writable, aligned to pages, of `bytes` bytes, and
        // lives as long as `self`; atomics may be shared with other processes.
        unsafe { std::slice::from_raw_parts(self.address.cast(), self.bytes / 8) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's own, and no borrow of it is left.
        unsafe { libc::munmap(self.address, self.bytes) };
    }
}

/// Where NCCL keeps its activation mask: one number for the process.
static MASK: AtomicPtr<AtomicI32> = AtomicPtr::new(std::ptr::null_mut());

/// NCCL's activation mask.
pub(crate) struct MaskWord;

impl MaskWord {
    /// Notes where the mask is; null forgets it.
    pub(crate) fn set_place(place: *mut c_int) {
        MASK.store(place.cast(), Relaxed);
    }

    pub(crate) fn get() -> Option<u64> {
        let place = MASK.load(Relaxed);
        // SAFETY: NCCL's mask lives as long as NCCL is loaded, which is longer than any
        // communicator; it is forgotten with the last one. NCCL reads and writes it relaxed.
        let mask = unsafe { place.as_ref() }?.load(Relaxed);
        Some(u64::from(mask.cast_unsigned()))
    }

    pub(crate) fn set(mask: u64) {
        let place = MASK.load(Relaxed);
        // SAFETY: as in `get`.
        if let Some(place) = unsafe { place.as_ref() } {
            place.store(i32::try_from(mask & 0x7fff_ffff).unwrap_or(0), Relaxed);
        }
    }
}

/// A thread of the plugin's own, which takes none of the job's signals.
///
/// It is made by the C library, since a thread of Rust's leaves destructors behind that keep the
/// library loaded.
#[derive(Debug)]
pub(crate) struct Worker {
    thread: libc::pthread_t,
}

impl Worker {
    /// Starts `run`, which has to return when it is asked to; `None` if there can be no thread.
    pub(crate) fn start(run: fn()) -> Option<Self> {
        extern "C" fn main(run: *mut c_void) -> *mut c_void {
            // SAFETY: `start` passes a function of this type.
            let run = unsafe { std::mem::transmute::<*mut c_void, fn()>(run) };
            // A panic ends the thread, not the job.
            let _ = std::panic::catch_unwind(run);
            std::ptr::null_mut()
        }
        let mut all = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
        let mut before = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
        let mut thread = std::mem::MaybeUninit::<libc::pthread_t>::uninit();
        // SAFETY: every pointer is to a live local value; the set is filled before it is used, and
        // the old one read only where it was written.
        unsafe {
            libc::sigfillset(all.as_mut_ptr());
            if libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr()) != 0 {
                return None;
            }
            let made = libc::pthread_create(
                thread.as_mut_ptr(),
                std::ptr::null(),
                main,
                run as *mut c_void,
            );
            libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), std::ptr::null_mut());
            if made != 0 {
                return None;
            }
            let thread = thread.assume_init();
            libc::pthread_setname_np(thread, c"railscope-prof".as_ptr());
            Some(Self { thread })
        }
    }

    /// Waits until it has returned.
    pub(crate) fn join(self) {
        // SAFETY: the thread is joinable, and joined only here.
        unsafe { libc::pthread_join(self.thread, std::ptr::null_mut()) };
    }
}
