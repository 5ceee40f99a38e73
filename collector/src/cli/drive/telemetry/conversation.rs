//! What the sending process answers: JSON, one per line of its standard output.

use std::io::{self, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::process::ChildStdout;
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use serde::{Deserialize, Serialize};

use railscope_drive::clock::Deadline;
use railscope_drive::telemetry::Delivery;

/// An answer.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Answer {
    /// The first: it reads records.
    Ready,
    /// The only one: it cannot send, and why.
    Unable(String),
    /// The last: what was delivered.
    Delivered(Delivery),
}

/// Longest answer.
const BYTES: usize = 1 << 16;

/// Prints an answer.
pub(super) fn answer(answer: &Answer) -> io::Result<()> {
    let mut line = serde_json::to_vec(answer)?;
    line.push(b'\n');
    let mut out = io::stdout().lock();
    out.write_all(&line)?;
    out.flush()
}

/// The next answer; `None` if it does not come in time. Without a thread: see the module above.
pub(super) fn answer_within(from: &mut ChildStdout, patience: Duration) -> Option<Answer> {
    let deadline = Deadline::after(patience);
    let mut line = Vec::new();
    while line.last() != Some(&b'\n') && line.len() < BYTES {
        let left = u16::try_from(deadline.left().as_millis()).unwrap_or(u16::MAX);
        let mut ready = [PollFd::new(from.as_fd(), PollFlags::POLLIN)];
        if poll(&mut ready, PollTimeout::from(left)).ok()? == 0 {
            return None;
        }
        let mut byte = [0];
        from.read_exact(&mut byte).ok()?;
        line.extend(byte);
    }
    serde_json::from_slice(&line).ok()
}
