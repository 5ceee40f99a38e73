//! Signs of trouble: warnings of NCCL, other lines of it that report failures, and lines of other
//! programs. Lines that differ in long numbers only count as one.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use crate::decode::phrases::Phrases;
use crate::model::witness::Witness;

/// Lines of one text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sign {
    /// The first such line, without prefix.
    pub text: String,
    /// Who wrote it.
    pub writer: Writer,
    /// Time as printed with the first one, local to the host.
    pub time: Option<String>,
    /// Hosts that wrote it, in order; none if the lines do not name them.
    pub hosts: Vec<String>,
    /// The process that wrote the first one: host and process id.
    pub process: Option<(String, u32)>,
    /// Number of lines.
    pub count: u64,
    /// The first line.
    pub first: Witness,
}

/// Who wrote a sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Writer {
    /// NCCL, as a warning or an event of a port.
    Warning,
    /// NCCL, as information.
    Info,
    /// Another program.
    Other,
}

/// Where a line comes from.
pub(super) struct Origin<'a> {
    pub(super) process: Option<(&'a str, u32)>,
    pub(super) time: Option<&'a str>,
    pub(super) witness: Witness,
}

/// Distinct texts kept.
const CAPACITY: usize = 4_096;
/// Hosts kept of a text.
const HOST_CAPACITY: usize = 256;
/// Bytes kept of a text.
const TEXT_BYTES: usize = 1_024;
/// Digits from which on a number is left out of the comparison: process ids, addresses, sizes.
const LONG_NUMBER: usize = 4;

/// Words of information that report a failure.
static FAILURES: LazyLock<Phrases> = LazyLock::new(|| {
    Phrases::new(&[
        "ailed",
        "rror",
        "timed out",
        "refused",
        "unreachable",
        "No route",
        "closed by",
        "Unable to",
        "incompatible",
        "not supported",
        "ismatch",
        "annot ",
    ])
});

/// All signs, in order of their first lines.
#[derive(Clone, Debug, Default)]
pub struct Signs {
    list: Vec<Sign>,
    by_text: BTreeMap<(Writer, String), usize>,
    dropped: u64,
}

/// Whether a line of information reports a failure.
pub(super) fn is_failure(text: &str) -> bool {
    FAILURES.is_in(text.as_bytes())
}

impl Signs {
    pub(super) fn add(&mut self, writer: Writer, text: &str, origin: &Origin<'_>) {
        let key = (writer, shape(text));
        let host = origin.process.map(|(host, _)| host);
        if let Some(known) = self.by_text.get(&key).and_then(|at| self.list.get_mut(*at)) {
            known.count += 1;
            let new = host.filter(|host| !known.hosts.iter().any(|one| one == host));
            if known.hosts.len() < HOST_CAPACITY {
                known.hosts.extend(new.map(str::to_owned));
            }
            return;
        }
        if self.list.len() >= CAPACITY {
            self.dropped += 1;
            return;
        }
        self.by_text.insert(key, self.list.len());
        self.list.push(Sign {
            text: cut(text).to_owned(),
            writer,
            time: origin.time.map(str::to_owned),
            hosts: host.map(str::to_owned).into_iter().collect(),
            process: origin.process.map(|(host, pid)| (host.to_owned(), pid)),
            count: 1,
            first: origin.witness,
        });
    }

    /// The signs.
    pub fn iter(&self) -> impl Iterator<Item = &Sign> {
        self.list.iter()
    }

    /// Signs that did not fit.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.dropped
    }
}

/// The text without long numbers.
fn shape(text: &str) -> String {
    let mut shape = String::with_capacity(text.len().min(TEXT_BYTES));
    let mut rest = cut(text);
    while let Some(at) = rest.find(|c: char| c.is_ascii_hexdigit()) {
        let (before, number) = rest.split_at(at);
        let len = number.bytes().take_while(u8::is_ascii_hexdigit).count();
        let (number, after) = number.split_at(len);
        shape.push_str(before);
        let is_long = number.len() >= LONG_NUMBER && number.bytes().any(|c| c.is_ascii_digit());
        shape.push_str(if is_long { "#" } else { number });
        rest = after;
    }
    shape.push_str(rest);
    shape
}

fn cut(text: &str) -> &str {
    let mut end = text.len().min(TEXT_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_differ_in_long_numbers_are_one() {
        let mut signs = Signs::default();
        let witness = Witness::Line { log: crate::model::witness::LogId(0), number: 1 };
        for (host, text) in [
            ("a", "connect to 10.0.0.1<40213> failed"),
            ("b", "connect to 10.0.0.1<40214> failed"),
            ("b", "connect to 10.0.0.2<40214> failed"),
        ] {
            let origin = Origin { process: Some((host, 1)), time: None, witness };
            signs.add(Writer::Warning, text, &origin);
        }
        let kept: Vec<_> = signs.iter().map(|sign| (sign.count, sign.hosts.len())).collect();
        assert_eq!(kept, [(2, 2), (1, 1)]);
    }
}
