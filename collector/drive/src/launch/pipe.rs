//! Messages as lines of a pipe, from a rank's process to the one that started it.

use std::io::{BufWriter, Write};

use super::message::{Message, Outlet};
use crate::{DriveError, Result};

/// The writing end: a rank's standard output.
#[derive(Debug)]
pub struct PipeOutlet<W: Write> {
    out: BufWriter<W>,
}

impl<W: Write> PipeOutlet<W> {
    /// Writes to `out`.
    pub fn new(out: W) -> Self {
        Self { out: BufWriter::with_capacity(1 << 16, out) }
    }
}

impl<W: Write> Outlet for PipeOutlet<W> {
    fn send(&mut self, message: &Message) -> Result<()> {
        let failed = || DriveError::io("report to the process that started this rank");
        serde_json::to_writer(&mut self.out, message).map_err(|error| failed()(error.into()))?;
        self.out.write_all(b"\n").map_err(failed())?;
        // Records are frequent, and the truth file is not urgent.
        if matches!(message, Message::Record(_)) { Ok(()) } else { self.finish() }
    }

    fn finish(&mut self) -> Result<()> {
        self.out.flush().map_err(DriveError::io("report to the process that started this rank"))
    }
}
