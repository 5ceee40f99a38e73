//! Loads a copy of the library, and calls it as NCCL does.

#![expect(unsafe_code, reason = "the C boundary")]

use std::ffi::{CString, c_char, c_int, c_ulong, c_void};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI32, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

use railscope_core::decode::profiler::{Header, Item, Record, Stream, read_ring};
use tempfile::TempDir;

use super::descriptor::Descriptor;

type Logger = unsafe extern "C" fn(c_int, c_ulong, *const c_char, c_int, *const c_char, ...);
type InitV1 = unsafe extern "C" fn(*mut *mut c_void, *mut c_int) -> c_int;
type InitV4 = unsafe extern "C" fn(
    *mut *mut c_void,
    *mut c_int,
    *const c_char,
    u64,
    c_int,
    c_int,
    c_int,
    Option<Logger>,
) -> c_int;
type InitV5 = unsafe extern "C" fn(
    *mut *mut c_void,
    u64,
    *mut c_int,
    *const c_char,
    c_int,
    c_int,
    c_int,
    Option<Logger>,
) -> c_int;

#[repr(C)]
struct Table {
    name: *const c_char,
    init: *const c_void,
    start: unsafe extern "C" fn(*mut c_void, *mut *mut c_void, *mut c_void) -> c_int,
    stop: unsafe extern "C" fn(*mut c_void) -> c_int,
    record: unsafe extern "C" fn(*mut c_void, c_int, *mut c_void) -> c_int,
    finalize: unsafe extern "C" fn(*mut c_void) -> c_int,
}

/// The library reads the environment of the process: one test at a time.
static ENVIRONMENT: Mutex<()> = Mutex::new(());

/// The library as Cargo built it, beside this program.
pub(crate) fn built() -> PathBuf {
    let program = std::env::current_exe().unwrap();
    program.parent().unwrap().join("libnccl_profiler_railscope.so")
}

/// A process of NCCL's that has loaded the library.
pub(crate) struct Nccl {
    library: *mut c_void,
    table: &'static Table,
    pub(crate) version: u8,
    /// NCCL's mask, one for the process.
    pub(crate) mask: &'static AtomicI32,
    pub(crate) folder: TempDir,
    path: PathBuf,
    _one_at_a_time: MutexGuard<'static, ()>,
}

// SAFETY: the functions of the library may be called by any thread.
unsafe impl Sync for Nccl {}

impl Nccl {
    /// Loads a copy of the library, with more variables than those that name its folders.
    pub(crate) fn load(version: u8, variables: &[(&str, &str)]) -> Self {
        let guard = ENVIRONMENT.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("libnccl-profiler-railscope.so");
        std::fs::copy(built(), &path).unwrap();
        let own = folder.path().to_str().unwrap();
        for name in ["MASK", "RING_KIB", "LIMIT_MIB", "NEXT"] {
            set_variable(&format!("RAILSCOPE_PROFILER_{name}"), "");
        }
        set_variable("RAILSCOPE_PROFILER_DIR", &format!("{own}/files"));
        set_variable("RAILSCOPE_PROFILER_SHM", own);
        for (name, value) in variables {
            set_variable(name, value);
        }
        let (library, table) = open(&path, version);
        let mask = Box::leak(Box::new(AtomicI32::new(0)));
        Self { library, table, version, mask, folder, path, _one_at_a_time: guard }
    }

    /// Begins a communicator. Returns its context.
    pub(crate) fn init(&self, hash: u64, rank: i32) -> usize {
        let mut ctx: *mut c_void = std::ptr::null_mut();
        let mask = std::ptr::from_ref(self.mask).cast_mut().cast::<c_int>();
        let name = c"world".as_ptr();
        // SAFETY: the signatures are those of NCCL's headers.
        let result = unsafe {
            match self.version {
                1..=3 => {
                    let init: InitV1 = std::mem::transmute(self.table.init);
                    init(&raw mut ctx, mask)
                }
                4 => {
                    let init: InitV4 = std::mem::transmute(self.table.init);
                    init(&raw mut ctx, mask, name, hash, 2, 4, rank, None)
                }
                _ => {
                    let init: InitV5 = std::mem::transmute(self.table.init);
                    init(&raw mut ctx, hash, mask, name, 2, 4, rank, None)
                }
            }
        };
        assert_eq!(result, 0);
        assert!(!ctx.is_null());
        ctx.addr()
    }

    /// Starts an event. The place for the handle holds what was there before.
    pub(crate) fn start(&self, ctx: usize, mut descriptor: Descriptor) -> usize {
        let before = descriptor.bytes;
        let handle = self.start_quickly(ctx, &mut descriptor);
        assert_ne!(handle, 0xdead, "the handle was not written");
        assert_eq!(descriptor.bytes, before, "the descriptor was changed");
        handle
    }

    /// The same without a look at what the library did.
    pub(crate) fn start_quickly(&self, ctx: usize, descriptor: &mut Descriptor) -> usize {
        let mut handle: *mut c_void = std::ptr::without_provenance_mut(0xdead);
        let place = (&raw mut descriptor.bytes).cast();
        // SAFETY: descriptor and handle are as NCCL's headers have them.
        let result = unsafe { (self.table.start)(pointer(ctx), &raw mut handle, place) };
        assert_eq!(result, 0);
        handle.expose_provenance()
    }

    pub(crate) fn stop(&self, handle: usize) {
        // SAFETY: any handle may come.
        assert_eq!(unsafe { (self.table.stop)(pointer(handle)) }, 0);
    }

    pub(crate) fn state(&self, handle: usize, state: i32, size: u64) {
        let mut args = [size, 0];
        // SAFETY: any handle may come; the arguments are as large as the largest.
        let result =
            unsafe { (self.table.record)(pointer(handle), state, args.as_mut_ptr().cast()) };
        assert_eq!(result, 0);
    }

    /// As NCCL calls it for events that have no arguments.
    pub(crate) fn bare_state(&self, handle: usize, state: i32) {
        // SAFETY: arguments may be null.
        let result = unsafe { (self.table.record)(pointer(handle), state, std::ptr::null_mut()) };
        assert_eq!(result, 0);
    }

    pub(crate) fn finalize(&self, ctx: usize) {
        // SAFETY: any context may come.
        assert_eq!(unsafe { (self.table.finalize)(pointer(ctx)) }, 0);
    }

    /// Unloads the library, as NCCL does after its last communicator, and loads it again.
    pub(crate) fn reload(&mut self) {
        self.unload();
        (self.library, self.table) = open(&self.path, self.version);
    }

    fn unload(&mut self) {
        // SAFETY: it was opened once.
        unsafe { libc::dlclose(self.library) };
        assert!(!self.is_mapped(), "the library stays loaded");
    }

    /// Whether the process has the library mapped.
    fn is_mapped(&self) -> bool {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        maps.contains(self.path.to_str().unwrap())
    }

    /// Unloads the library and reads what its files hold.
    pub(crate) fn end(mut self) -> Recorded {
        self.unload();
        assert!(!self.ring_path().exists(), "the ring is left behind");
        self.read()
    }

    /// Reads what the files hold so far.
    pub(crate) fn read(&self) -> Recorded {
        let mut recorded = Recorded::default();
        let Ok(entries) = std::fs::read_dir(self.folder.path().join("files")) else {
            return recorded;
        };
        let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        for path in paths {
            recorded.bytes += std::fs::metadata(&path).unwrap().len();
            let mut stream = Stream::default();
            let bytes = std::fs::read(&path).unwrap();
            stream.feed(&bytes, &mut |item| recorded.add(item)).unwrap();
            stream.end(&mut |item| recorded.add(item)).unwrap();
        }
        recorded
    }

    /// Where the ring lies.
    pub(crate) fn ring_path(&self) -> PathBuf {
        self.folder.path().join(format!("railscope-profiler.{}", std::process::id()))
    }

    /// The ring as another process sees it.
    pub(crate) fn ring(&self) -> Vec<u8> {
        std::fs::read(self.ring_path()).unwrap()
    }

    /// What the ring holds.
    pub(crate) fn read_ring(&self) -> Recorded {
        let mut recorded = Recorded::default();
        read_ring(&self.ring(), &mut |item| recorded.add(item)).unwrap();
        recorded
    }
}

/// What was read, by kind.
#[derive(Debug, Default)]
pub(crate) struct Recorded {
    pub(crate) headers: Vec<Header>,
    pub(crate) communicators: Vec<railscope_core::decode::profiler::Communicator>,
    pub(crate) records: Vec<Record>,
    /// Words that were overwritten.
    pub(crate) overwritten: u64,
    /// Records that the ring got, and what was lost.
    pub(crate) counts: Option<(u64, [u64; 8])>,
    pub(crate) bytes: u64,
}

impl Recorded {
    fn add(&mut self, item: Item) {
        match item {
            Item::Header(header) => self.headers.push(header),
            Item::Communicator(one) => self.communicators.push(one),
            Item::Record(record) => self.records.push(record),
            Item::Overwritten(words) => self.overwritten += words,
            Item::Counts { records, lost } => self.counts = Some((records, lost)),
            Item::Damaged(words) => panic!("{words} words are damaged"),
        }
    }

    pub(crate) fn lost(&self) -> [u64; 8] {
        self.counts.unwrap().1
    }
}

fn open(path: &Path, version: u8) -> (*mut c_void, &'static Table) {
    let path = CString::new(path.to_str().unwrap()).unwrap();
    // SAFETY: a path that ends.
    let library = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    assert!(!library.is_null(), "dlopen fails");
    let symbol = CString::new(format!("ncclProfiler_v{version}")).unwrap();
    // SAFETY: an open library, and a table that lives as long as it.
    let table = unsafe { libc::dlsym(library, symbol.as_ptr()).cast::<Table>().as_ref() };
    (library, table.expect("the symbol is there"))
}

fn pointer(handle: usize) -> *mut c_void {
    std::ptr::with_exposed_provenance_mut(handle)
}

fn set_variable(name: &str, value: &str) {
    // SAFETY: tests that read or change the environment hold `ENVIRONMENT`.
    unsafe { std::env::set_var(name, value) };
}

/// NCCL's mask as a number.
pub(crate) fn mask(of: &Nccl) -> i32 {
    of.mask.load(Relaxed)
}
