//! The records on their way to the sending process.

use std::io::Write as _;
use std::process::ChildStdin;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use railscope_drive::truth::Record;

/// Most records that wait: the sending process only has to read them.
const BOUND: usize = 1 << 16;

/// A bounded queue with a thread that empties it.
pub(super) struct Queue {
    lines: SyncSender<Vec<u8>>,
    thread: JoinHandle<()>,
    lost: u64,
}

impl Queue {
    /// `None` if there is no thread to be had.
    pub(super) fn start(mut to: ChildStdin) -> Option<Self> {
        let (lines, waiting) = sync_channel::<Vec<u8>>(BOUND);
        let write = move || {
            while let Ok(line) = waiting.recv() {
                // A process that is gone says so by giving no answer.
                if to.write_all(&line).is_err() {
                    return;
                }
            }
        };
        let thread = thread::Builder::new().name("records".to_owned()).spawn(write).ok()?;
        Some(Self { lines, thread, lost: 0 })
    }

    /// Puts a record into the queue, if it matters to spans; drops it if the queue is full.
    pub(super) fn put(&mut self, record: &Record) {
        let matters =
            record.is_introduction() || matches!(record, Record::Compute(_) | Record::Call(_));
        let Some(mut line) = matters.then(|| serde_json::to_vec(record).ok()).flatten() else {
            return;
        };
        line.push(b'\n');
        self.lost += u64::from(self.lines.try_send(line).is_err());
    }

    /// Writes the rest; returns how many records were dropped.
    pub(super) fn end(self) -> u64 {
        drop(self.lines);
        // If the process does not read, it is killed later, which ends the thread.
        if self.thread.is_finished() || self.lost == 0 {
            let _ = self.thread.join();
        }
        self.lost
    }
}
