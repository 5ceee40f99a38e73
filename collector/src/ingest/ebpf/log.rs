//! The log of the kernel programs, line by line.

use std::sync::mpsc::{Receiver, Sender, channel};

use aya_log::EbpfLogger;
use log::{Log, Metadata, Record};

use super::error::EbpfError;

/// The ring that programs log to.
pub(in crate::ingest) const MAP: &str = "AYA_LOGS";

/// The reader of one object's log.
pub(in crate::ingest) struct KernelLog {
    logger: EbpfLogger<Lines>,
    lines: Receiver<String>,
}

impl KernelLog {
    pub(in crate::ingest) fn attach(ebpf: &mut aya::Ebpf) -> Result<Self, EbpfError> {
        let (sender, lines) = channel();
        let logger = EbpfLogger::init_with_logger(ebpf, Lines(sender))
            .map_err(|_| EbpfError::Object { part: MAP.to_owned() })?;
        Ok(Self { logger, lines })
    }

    /// Lines since the last call.
    pub(in crate::ingest) fn news(&mut self) -> impl Iterator<Item = String> {
        self.logger.flush();
        self.lines.try_iter().map(|line| format!("kernel programs: {line}"))
    }
}

/// Takes the formatted lines.
struct Lines(Sender<String>);

impl Log for Lines {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &Record<'_>) {
        // The receiver lives as long as this sender.
        _ = self.0.send(record.args().to_string());
    }

    fn flush(&self) {}
}
