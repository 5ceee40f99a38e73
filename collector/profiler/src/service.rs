//! The thread of the plugin: it follows the lease, and writes the file. It ends with the last
//! communicator, before NCCL unloads the library.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use crate::communicator;
use crate::host::{self, Worker};
use crate::lease;
use crate::next;
use crate::operation;
use crate::output::Output;
use crate::ring;

/// Between two looks at the lease, and two writes to the file.
const PERIOD: Duration = Duration::from_millis(50);

/// Transfers that wait for longer are reported while they wait.
const LONG: u64 = 1_000_000_000;

static SERVICE: Mutex<Service> =
    Mutex::new(Service { worker: None, output: None, is_over: true, reported: 0 });
static WAKE: Condvar = Condvar::new();

struct Service {
    worker: Option<Worker>,
    output: Option<Output>,
    is_over: bool,
    /// When open transfers were reported last.
    reported: u64,
}

fn locked() -> std::sync::MutexGuard<'static, Service> {
    SERVICE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts the thread. Without one, no lease is followed, and the file is written at the end.
pub(crate) fn start(output: Option<Output>) {
    let mut service = locked();
    service.output = output;
    service.is_over = false;
    service.reported = host::monotonic();
    service.worker = Worker::start(run);
}

/// Ends the thread and the file.
pub(crate) fn stop() {
    let worker = {
        let mut service = locked();
        service.is_over = true;
        service.worker.take()
    };
    WAKE.notify_all();
    if let Some(worker) = worker {
        worker.join();
    }
    let mut service = locked();
    service.turn();
    service.output = None;
}

/// Writes what is left when the process exits without ending its communicators. The thread may be
/// gone, or hold the lock: then that was written already, or is being written.
pub(crate) fn flush() {
    if let Ok(mut service) = SERVICE.try_lock()
        && !service.is_over
    {
        service.turn();
    }
}

fn run() {
    let mut service = locked();
    while !service.is_over {
        service.turn();
        service = WAKE.wait_timeout(service, PERIOD).unwrap_or_else(PoisonError::into_inner).0;
    }
}

impl Service {
    fn turn(&mut self) {
        let now = host::monotonic();
        if now.saturating_sub(self.reported) >= LONG {
            self.reported = now;
            operation::report_open(now.saturating_sub(LONG), now);
        }
        {
            let ring = ring::lock();
            let Some(ring) = &*ring else { return };
            let mask = lease::follow(ring.header().lease(), next::mask());
            ring.header().show(mask, lease::base());
        }
        if let Some(output) = &mut self.output {
            let mut table = communicator::lock();
            output.add_communicators(&mut table);
            drop(table);
            if let Some(ring) = &*ring::lock() {
                output.drain(ring);
            }
        }
    }
}
