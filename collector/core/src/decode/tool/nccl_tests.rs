//! Tables of nccl-tests and rccl-tests (`all_reduce_perf` and the others), of all releases: a column
//! of the root for all since 2.13, `#wrong` instead of `error`, a version line since 2.17; NCCL 1 had times in
//! milliseconds.

use std::collections::BTreeSet;

use super::{Output, Taken, TakesLines};
use crate::model::benchmark::{Benchmark, Figures, Row};

/// A table; lines of NCCL and launchers may stand between its rows.
#[derive(Clone, Debug, Default)]
pub(super) struct NcclTests {
    found: Benchmark,
    hosts: BTreeSet<String>,
    /// The head has `#wrong`; before nccl-tests 2.13 it has `error`, a difference in which small ones are
    /// rounding.
    counts_wrong: bool,
    /// Of the times.
    unit: Unit,
}

/// Most rows read.
const ROWS: usize = 4096;
/// Most ranks whose hosts are read.
const RANKS: usize = 65_536;

impl NcclTests {
    /// The line of its version, of its test, of its options, or the head of its table.
    pub(super) fn begin(line: &str, command: Option<&str>) -> Option<Self> {
        let text = line.trim();
        let mut reader = Self::default();
        let is_begun = text.starts_with("# nccl-tests version")
            || text.starts_with("# Collective test starting:")
            || (text.starts_with("# nThread") && text.contains("minBytes"))
            || is_head(text)
            || row(text, false, Unit::default()).map(|row| reader.found.rows.push(row)).is_some();
        if !is_begun {
            return None;
        }
        reader.found.operation = command.and_then(operation_of);
        reader.comment(text);
        Some(reader)
    }

    /// Whether it is a comment of nccl-tests.
    fn comment(&mut self, text: &str) -> bool {
        let Some(comment) = text.strip_prefix('#') else { return false };
        self.counts_wrong |= is_head(text) && text.contains("#wrong");
        let comment = comment.trim();
        if is_head(text) && comment.starts_with("bytes") {
            self.unit = Unit::Milliseconds;
        }
        if let Some(name) = comment.strip_prefix("Collective test starting:") {
            self.found.operation = operation_of(name);
        } else if let Some(value) = comment.strip_prefix("Avg bus bandwidth") {
            self.found.average_bus_bandwidth =
                bytes_per_second(value.trim_start_matches([' ', ':']));
        } else if let Some(rest) = comment.strip_prefix("Rank ") {
            self.rank(rest);
        } else if let Some(version) = comment.strip_prefix("nccl-tests version ") {
            self.found.version = version.split_whitespace().next().map(str::to_owned);
        }
        true
    }

    /// `0 Group 0 Pid 21 on host1 device 0 [0x07] NVIDIA H100 80GB HBM3`.
    fn rank(&mut self, rest: &str) {
        let Some(rank) = rest.split_whitespace().next().and_then(|rank| rank.parse().ok()) else {
            return;
        };
        let nranks: u32 = self.found.nranks.unwrap_or(0);
        self.found.nranks = Some(nranks.max(u32::saturating_add(rank, 1)));
        let host = rest.split_once(" on ").and_then(|(_, after)| after.split_whitespace().next());
        if let Some(host) = host.filter(|_| self.hosts.len() < RANKS) {
            self.hosts.insert(host.to_owned());
        }
    }
}

impl TakesLines for NcclTests {
    fn take(&mut self, line: &str) -> Taken {
        let text = line.trim();
        if let Some(row) = row(text, self.counts_wrong, self.unit) {
            if self.found.rows.len() < ROWS {
                self.found.rows.push(row);
            }
            return Taken::Yes;
        }
        let is_next = is_head(text) || text.starts_with("# nThread");
        if is_next && !self.found.rows.is_empty() {
            return Taken::End;
        }
        if let Some(version) = text.strip_prefix("rccl-tests: Version ") {
            self.found.version = version.split_whitespace().next().map(str::to_owned);
            return Taken::Yes;
        }
        match self.comment(text) {
            true if text.contains("Collective test concluded") => Taken::Last,
            true => Taken::Yes,
            false => Taken::Foreign,
        }
    }

    fn finish(mut self) -> Option<Output> {
        self.found.hosts = Some(self.hosts.len() as u32).filter(|hosts| *hosts > 0);
        self.found.complete();
        (!self.found.rows.is_empty()).then_some(Output::Benchmark(self.found))
    }
}

/// `#  size  count  type  redop  root  time  algbw  busbw #wrong ...`; NCCL 1 had `bytes  N  type  op`.
fn is_head(text: &str) -> bool {
    let mut words = text.trim_start_matches('#').split_whitespace();
    let first = (words.next(), words.next());
    text.starts_with('#') && (first == (Some("size"), Some("count")) || first == OLD_HEAD)
}

/// Head of the tests of NCCL 1: times in milliseconds.
const OLD_HEAD: (Option<&str>, Option<&str>) = (Some("bytes"), Some("N"));

/// Nanoseconds of the unit of times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Unit {
    #[default]
    Microseconds,
    Milliseconds,
}

impl Unit {
    const fn nanoseconds(self) -> f64 {
        match self {
            Self::Microseconds => 1e3,
            Self::Milliseconds => 1e6,
        }
    }
}

/// `4096 1024 float sum -1 70.65 0.06 0.06 0 71.20 0.06 0.06 0`: before 2.13 only what reduces has an operator,
/// and only what has a root a root; `-S` adds the time of day at the end.
fn row(text: &str, counts_wrong: bool, unit: Unit) -> Option<Row> {
    let mut words = text.split_whitespace().peekable();
    let bytes = words.next()?.parse().ok()?;
    words.next()?.parse::<u64>().ok()?;
    let is_word = |word: &&str| word.starts_with(|c: char| c.is_ascii_alphabetic());
    words.next().filter(is_word)?;
    let operator = words.next_if(is_word);
    let rest: Vec<&str> = words.take_while(|word| !is_time_of_day(word)).collect();
    let (root, rest) = match rest.as_slice() {
        [root, rest @ ..] if rest.len().is_multiple_of(4) => (Some(root.parse().ok()?), rest),
        rest => (None, rest),
    };
    let mut figures = rest.chunks_exact(4);
    let mut next = || figures.next().map(|words| figures_of(words, counts_wrong, unit));
    let (out_of_place, in_place) = (next().flatten(), next().flatten());
    if figures.next().is_some() || !figures.remainder().is_empty() {
        return None;
    }
    out_of_place.or(in_place)?;
    let reduces = operator.is_some_and(|operator| operator != "none");
    Some(Row { bytes, reduces, root, out_of_place, in_place })
}

/// `2025-06-09` or `11:22:33`.
fn is_time_of_day(word: &str) -> bool {
    let mut parts = word.split([':', '-']);
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    word.len() >= 8 && parts.clone().count() == 3 && parts.all(is_number)
}

/// Time, two bandwidths in 10^9 bytes per second, wrong values or `N/A`.
fn figures_of(words: &[&str], counts_wrong: bool, unit: Unit) -> Option<Figures> {
    let [time, algorithm, bus, wrong] = words else { return None };
    let time: f64 = time.parse().ok()?;
    // Printed with `%g`: a million and more has an exponent.
    let many = || wrong.parse().ok().filter(|wrong: &f64| wrong.is_finite() && *wrong >= 0.0);
    let wrong = match counts_wrong {
        true => many().map(|wrong| wrong as u64),
        false => wrong.parse::<u64>().ok(),
    };
    Some(Figures {
        time_ns: (time * unit.nanoseconds()) as u64,
        algorithm_bandwidth: bytes_per_second(algorithm)?,
        bus_bandwidth: bytes_per_second(bus)?,
        wrong,
    })
}

fn bytes_per_second(text: &str) -> Option<u64> {
    let gigabytes: f64 = text.split_whitespace().next()?.parse().ok()?;
    (gigabytes.is_finite() && gigabytes >= 0.0).then_some((gigabytes * 1e9) as u64)
}

/// `all_reduce` from `./build/all_reduce_perf -b 8`.
fn operation_of(command: &str) -> Option<String> {
    let programs = command.split_whitespace().filter_map(|word| word.rsplit('/').next());
    let mut names = programs.filter_map(|name| name.strip_suffix("_perf"));
    names.next().map(str::to_owned)
}
