//! What the plugin does for each of NCCL's calls, in terms of no version.

use std::ffi::CStr;
use std::fmt::Write;
use std::sync::Mutex;

use crate::communicator;
use crate::count::{Loss, lost};
use crate::event::{Change, Event};
use crate::handle::{Handle, Kind};
use crate::host::{self, MaskWord};
use crate::output::Output;
use crate::ring::{self, Entry};
use crate::settings::Settings;
use crate::{collective, kernel, lease, next, operation, record, service};

/// What NCCL says of a communicator at its begin, since version 4.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Identity<'a> {
    pub(crate) name: Option<&'a CStr>,
    pub(crate) hash: u64,
    pub(crate) nodes: i32,
    pub(crate) ranks: i32,
    pub(crate) rank: i32,
}

/// Begins and ends of communicators, one at a time.
static LIFE: Mutex<()> = Mutex::new(());

/// Begins a communicator. Returns its handle, and what to log if it is the first.
pub(crate) fn begin(version: u8, identity: Option<Identity<'_>>) -> (u64, Option<String>) {
    let _life = LIFE.lock();
    let is_first = communicator::lock().is_empty();
    let log = is_first.then(|| begin_first(version));
    let entry = Entry {
        number: 0,
        hash: identity.map(|identity| identity.hash),
        rank: identity.and_then(|identity| u32::try_from(identity.rank).ok()),
        ranks: identity.and_then(|identity| u32::try_from(identity.ranks).ok()),
        nodes: identity.and_then(|identity| u32::try_from(identity.nodes).ok()),
        version,
        is_over: false,
        since: host::monotonic(),
        name: host::padded(identity.and_then(|identity| identity.name)),
    };
    (communicator::lock().begin(entry), log)
}

/// Writes NCCL's mask for another communicator: it has one for all.
pub(crate) fn write_mask() {
    lease::write(next::mask());
}

/// Begins ring, file and thread. Returns what to log.
fn begin_first(version: u8) -> String {
    host::read_pid();
    let settings = Settings::from_environment();
    let mut log = String::from("railscope profiler:");
    let next = match &settings.next {
        Some(path) => next::load(path, version),
        None => Ok(0),
    };
    match ring::open(settings.shared.as_deref(), settings.lane) {
        Ok(Some(path)) => _ = write!(log, " ring {}", path.display()),
        Ok(None) => log.push_str(" ring in this process only"),
        Err(error) => _ = write!(log, " no ring ({error}), nothing is recorded"),
    }
    let output = settings.folder.map(|folder| {
        Output::create(&folder, settings.limit).inspect_err(|error| {
            _ = write!(log, ", no file in {} ({error})", folder.display());
        })
    });
    let output = output.and_then(Result::ok);
    if let Some(output) = &output {
        _ = write!(log, ", file {}", output.path().display());
    }
    match (&settings.next, next) {
        (Some(path), Ok(theirs)) => {
            _ = write!(log, ", calls go on to {} (version {theirs})", path.display());
        }
        (Some(path), Err(error)) => _ = write!(log, ", no calls to {} ({error})", path.display()),
        (None, _) => {}
    }
    _ = write!(log, ", mask {:#x}", settings.mask);
    lease::begin(settings.mask);
    service::start(output);
    log
}

/// Ends a communicator, with the last one also ring, file and thread. Returns whether it was the last.
pub(crate) fn end(handle: u64) -> bool {
    let _life = LIFE.lock();
    let mut table = communicator::lock();
    let Some(number) = table.end(handle) else {
        lost(Loss::Stale);
        return false;
    };
    let is_last = table.is_empty();
    drop(table);
    let over = if is_last { None } else { Some(number) };
    operation::sweep(over);
    kernel::sweep(over);
    if is_last {
        service::stop();
        ring::close();
        communicator::lock().clear();
        MaskWord::set_place(std::ptr::null_mut());
    }
    is_last
}

/// Begins an event of a communicator. Returns its handle, 0 if it has none.
pub(crate) fn start(comm: u64, event: Event) -> u64 {
    match event {
        Event::Transfer { parent, number } => {
            operation::begin_transfer(parent, number, host::monotonic())
        }
        Event::Operation(of) => {
            // Under PXN, communicator and collective are addresses of another process.
            let is_own = u32::try_from(of.pid).is_ok_and(|pid| pid == host::pid());
            let comm = if is_own { communicator::number(comm) } else { 0 };
            operation::begin(&of, is_own, comm, host::monotonic())
        }
        Event::Collective(of) => {
            if let Some(hash) = of.comm_hash {
                communicator::learn(comm, hash, of.rank);
            }
            let number = communicator::number(comm);
            let (handle, identity) = collective::begin(number, of.sequence, of.function);
            ring::push(&record::collective(&of, identity, handle, host::monotonic()));
            handle
        }
        Event::Kernel(of) => kernel::begin(&of, host::monotonic()),
        Event::Other => 0,
    }
}

/// Ends an event. Collectives end when they are enqueued, which says nothing.
pub(crate) fn stop(handle: u64) {
    match Handle::unpack(handle) {
        Some(handle) if matches!(handle.kind, Kind::Operation | Kind::Transfer) => {
            operation::stop(handle, host::monotonic());
        }
        Some(handle @ Handle { kind: Kind::Kernel, .. }) => {
            kernel::stop(handle, host::monotonic());
        }
        Some(Handle { kind: Kind::Collective, .. }) => {}
        // Events of network plugins are stopped without a handle.
        None if handle == 0 => {}
        _ => lost(Loss::Stale),
    }
}

/// Takes a state of an event.
pub(crate) fn change(handle: u64, change: Change) {
    match Handle::unpack(handle) {
        Some(handle) if matches!(handle.kind, Kind::Operation | Kind::Transfer) => {
            operation::change(handle, change, host::monotonic);
        }
        Some(handle @ Handle { kind: Kind::Kernel, .. }) => kernel::change(handle, change),
        Some(Handle { kind: Kind::Collective, .. }) => {}
        None if handle == 0 => {}
        _ => lost(Loss::Stale),
    }
}
