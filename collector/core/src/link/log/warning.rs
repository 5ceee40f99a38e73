//! Warnings of a process: each text once, with its count.

use crate::decode::nccl_log::entry::Entry;
use crate::decode::nccl_log::fault::Cause;
use crate::model::witness::Witness;

/// A warning, or an event of a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// What NCCL printed, without prefix and place.
    pub text: String,
    /// What kind of trouble the text reports.
    pub cause: Cause,
    /// Where NCCL or a plugin warned: file or function, and line.
    pub source: Option<(String, u32)>,
    /// Time as printed with the first one, local to the host.
    pub time: Option<String>,
    /// Number of occurrences.
    pub count: u64,
    /// The first line with this text.
    pub first: Witness,
}

/// Distinct warnings kept per process.
const CAPACITY: usize = 256;

/// The warnings of a process, in order of first occurrence.
#[derive(Clone, Debug, Default)]
pub struct Warnings {
    list: Vec<Warning>,
    dropped: u64,
}

impl Warnings {
    pub(super) fn add(&mut self, entry: &Entry<'_>, witness: Witness) {
        if let Some(known) = self.list.iter_mut().find(|warning| warning.text == entry.text) {
            known.count += 1;
        } else if self.list.len() < CAPACITY {
            self.list.push(Warning {
                text: entry.text.to_owned(),
                cause: Cause::from_text(entry.text),
                source: entry.source.map(|source| (source.file.to_owned(), source.line)),
                time: entry.time.map(str::to_owned),
                count: 1,
                first: witness,
            });
        } else {
            self.dropped += 1;
        }
    }

    /// The warnings.
    pub fn iter(&self) -> impl Iterator<Item = &Warning> {
        self.list.iter()
    }

    /// Warnings that did not fit.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.dropped
    }
}
