//! The agent's log: lines on standard error, which may be a full disk, a pipe that nobody reads, or gone.
//!
//! A thread writes, so that no writer ever waits. What cannot be written is counted, and so is what
//! `limiter` holds back. Lines hold foreign text (names, paths, answers): only what is printable gets in.

mod limiter;

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, channel, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use self::limiter::{Admission, Limiter};
use crate::printable::printable;
use railscope_core::metrics::own::LogFigures;

/// Lines that wait for the writer.
const WAITING: usize = 256;

/// Characters of a line; the rest is cut.
const LONGEST: usize = 2000;

/// How long the writer may take at the end.
const PATIENCE: Duration = Duration::from_secs(1);

/// Takes lines.
pub struct Log {
    lines: SyncSender<String>,
    /// Disconnected when the writer has ended.
    writer: Receiver<()>,
    limiter: Limiter,
    begun: Instant,
    counts: Arc<LogCounts>,
}

/// What became of lines.
#[derive(Debug, Default)]
pub(super) struct LogCounts {
    written: AtomicU64,
    held_back: AtomicU64,
    lost: AtomicU64,
}

impl Log {
    /// A log on `out`. Without a thread for it, all lines are lost and counted.
    pub fn start(out: impl Write + Send + 'static) -> Self {
        let (sender, lines) = sync_channel(WAITING);
        let (ended, writer) = channel();
        let counts = Arc::new(LogCounts::default());
        let counted = Arc::clone(&counts);
        // If there is no thread, the closure and with it the receiver is dropped.
        _ = thread::Builder::new().name("log".to_owned()).spawn(move || {
            write_all(&lines, out, &counted);
            drop(ended);
        });
        Self { lines: sender, writer, limiter: Limiter::default(), begun: now(), counts }
    }

    /// Logs a line. Never waits.
    pub fn say(&mut self, text: &str) {
        match self.limiter.admit(text, self.begun.elapsed()) {
            Admission::Line => self.put(text),
            Admission::LineAfter(summary) => {
                self.put(&summary);
                self.put(text);
            }
            Admission::HeldBack => _ = self.counts.held_back.fetch_add(1, Ordering::Relaxed),
        }
    }

    /// Writes what is left, if that is possible.
    pub fn end(mut self) {
        for summary in self.limiter.summaries() {
            self.put(&summary);
        }
        let Self { lines, writer, .. } = self;
        drop(lines);
        // The writer may be stuck: then its thread ends with the process.
        let (Ok(()) | Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected)) =
            writer.recv_timeout(PATIENCE);
    }

    pub(super) fn counts(&self) -> Arc<LogCounts> {
        Arc::clone(&self.counts)
    }

    fn put(&mut self, text: &str) {
        let mut line: String = printable(text).chars().take(LONGEST).collect();
        line.push('\n');
        if self.lines.try_send(line).is_err() {
            self.counts.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl LogCounts {
    pub(super) fn figures(&self) -> LogFigures {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        LogFigures {
            written: read(&self.written),
            held_back: read(&self.held_back),
            lost: read(&self.lost),
        }
    }
}

fn write_all(lines: &Receiver<String>, mut out: impl Write, counts: &LogCounts) {
    for line in lines {
        // In one piece, so that other writers' lines do not mix with it.
        let outcome = out.write_all(line.as_bytes()).and_then(|()| out.flush());
        let count = if outcome.is_ok() { &counts.written } else { &counts.lost };
        count.fetch_add(1, Ordering::Relaxed);
    }
}

#[expect(clippy::disallowed_methods, reason = "lines are limited per time")]
fn now() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::Mutex;

    use super::*;

    #[derive(Clone, Default)]
    struct Shared(Arc<Mutex<Vec<u8>>>);

    impl Write for Shared {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    struct Full;

    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// A pipe that nobody reads.
    struct Stuck;

    impl Write for Stuck {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            loop {
                thread::park();
            }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn lines_are_printable_and_bounded() {
        let out = Shared::default();
        let mut log = Log::start(out.clone());
        log.say("rank\n\x1b[2J\u{9b}1m\u{202e}x");
        log.say(&"y".repeat(LONGEST + 1));
        let counts = log.counts();
        log.end();
        let text = String::from_utf8(out.0.lock().unwrap().clone()).unwrap();
        let expected = "rank\u{fffd}\u{fffd}[2J\u{fffd}1m\u{fffd}x";
        assert_eq!(text, format!("{expected}\n{}\n", "y".repeat(LONGEST)));
        assert_eq!(counts.figures(), LogFigures { written: 2, held_back: 0, lost: 0 });
    }

    #[test]
    fn a_log_that_cannot_be_written_stops_nobody() {
        let mut full = Log::start(Full);
        let counts = full.counts();
        full.say("x");
        full.end();
        assert_eq!(counts.figures().lost, 1);
        let mut stuck = Log::start(Stuck);
        let counts = stuck.counts();
        // Each of its own kind.
        let name = |number: usize| {
            let letter = |digit: usize| char::from(b'a' + (digit % 26) as u8);
            [number / 26, number].map(letter).iter().collect::<String>()
        };
        (0..2 * WAITING).for_each(|number| stuck.say(&format!("{}:", name(number))));
        stuck.end();
        let LogFigures { written, held_back, lost } = counts.figures();
        assert!(written == 0 && lost + held_back > 0, "{held_back} {lost}");
    }
}
