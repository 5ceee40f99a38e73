//! Captures of ports, frame by frame with nanosecond timestamps, as `tcpdump` would make them.
//!
//! The kernel puts frames into memory that it shares with this process (`sys`); a thread writes
//! them to a classic pcap file. Frames that did not fit are counted.

mod file;
mod sys;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use self::file::PcapFile;
use self::sys::Ring;
use super::clock::Deadline;
use super::{DriveError, Result};

/// Longest time that the kernel may hold back a block that is not full.
const RETIRE: Duration = Duration::from_millis(20);

/// A running capture.
#[derive(Debug)]
pub struct Capture {
    path: PathBuf,
    over: Arc<AtomicBool>,
    thread: JoinHandle<Result<Counts>>,
}

/// Totals of a finished capture.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Frames in the file.
    pub frames: u64,
    /// Frames dropped because the ring was full.
    pub dropped: u64,
}

impl Capture {
    /// Starts capturing the first `snaplen` bytes of each frame at `interface` in the calling
    /// thread's namespace.
    ///
    /// # Errors
    /// `CAP_NET_RAW` is missing there, or the file cannot be written.
    pub fn start(interface: &str, path: &Path, snaplen: u32) -> Result<Self> {
        let file = PcapFile::create(path, snaplen)?;
        let ring = Ring::open(interface, snaplen, RETIRE).map_err(DriveError::io(format!(
            "capture at {interface} (that needs root, or a place of its own: --place)"
        )))?;
        let over = Arc::new(AtomicBool::new(false));
        let seen = over.clone();
        let thread = thread::Builder::new().spawn(move || record(ring, file, &seen));
        let thread = thread.map_err(DriveError::io("start a thread for a capture"))?;
        Ok(Self { path: path.to_owned(), over, thread })
    }

    /// Stops the capture after writing every frame seen so far.
    ///
    /// # Errors
    /// The file could not be written.
    pub fn finish(self) -> Result<(PathBuf, Counts)> {
        self.over.store(true, Ordering::Relaxed);
        let lost = || {
            DriveError::Unusable(format!("{}: the capture ended unexpectedly", self.path.display()))
        };
        let counts = self.thread.join().map_err(|_| lost())??;
        Ok((self.path, counts))
    }
}

fn record(mut ring: Ring, mut file: PcapFile, over: &AtomicBool) -> Result<Counts> {
    let failed = || DriveError::io("read captured frames");
    let mut counts = Counts::default();
    // The kernel delivers the last block some time after its last frame.
    let mut rest = None;
    loop {
        if over.load(Ordering::Relaxed) {
            let rest: &Deadline = rest.get_or_insert_with(|| Deadline::after(RETIRE * 3));
            if rest.left().is_zero() {
                break;
            }
        }
        let waiting = Deadline::after(RETIRE);
        if !ring.wait(RETIRE).map_err(failed())? {
            // A removed interface ends every wait at once.
            thread::sleep(waiting.left());
            continue;
        }
        while let Some(mut block) = ring.next_block() {
            while let Some(frame) = block.next_frame() {
                file.write(&frame)?;
                counts.frames += 1;
            }
        }
    }
    file.flush()?;
    counts.dropped = ring.dropped().map_err(failed())?;
    Ok(counts)
}
