//! Limits lines of one kind: whoever can cause lines could fill a disk, or hide other lines among them.

use std::collections::BTreeMap;
use std::time::Duration;

/// Lines of a kind at once, and the time after which one more is due.
const BURST: u32 = 20;
const REFILL: Duration = Duration::from_secs(5);

/// Kinds kept apart; all others share one limit.
const KINDS: usize = 64;

/// Characters that tell kinds apart: up to the first number, path or quotation.
const KIND_LENGTH: usize = 32;

/// Limits by kind.
#[derive(Debug, Default)]
pub(super) struct Limiter {
    kinds: BTreeMap<String, Bucket>,
}

#[derive(Debug)]
struct Bucket {
    lines: u32,
    filled: Duration,
    held_back: u64,
}

/// What becomes of a line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Admission {
    /// It is logged.
    Line,
    /// It is logged after a line on those that were not.
    LineAfter(String),
    /// It is only counted.
    HeldBack,
}

impl Limiter {
    /// Whether to log `text`, `now` after the start.
    pub(super) fn admit(&mut self, text: &str, now: Duration) -> Admission {
        let mut kind = kind(text);
        if self.kinds.len() >= KINDS && !self.kinds.contains_key(&kind) {
            kind = String::new();
        }
        let bucket = self.kinds.entry(kind.clone()).or_insert(Bucket {
            lines: BURST,
            filled: now,
            held_back: 0,
        });
        let due = now.saturating_sub(bucket.filled).as_secs() / REFILL.as_secs();
        let due = u32::try_from(due).unwrap_or(u32::MAX);
        bucket.lines = bucket.lines.saturating_add(due).min(BURST);
        bucket.filled += REFILL * due;
        if bucket.lines == 0 {
            bucket.held_back += 1;
            return Admission::HeldBack;
        }
        bucket.lines -= 1;
        match std::mem::take(&mut bucket.held_back) {
            0 => Admission::Line,
            count => Admission::LineAfter(summary(&kind, count)),
        }
    }

    /// A line for each kind of which lines were held back.
    pub(super) fn summaries(&mut self) -> Vec<String> {
        let held = self.kinds.iter_mut().filter(|(_, bucket)| bucket.held_back > 0);
        held.map(|(kind, bucket)| summary(kind, std::mem::take(&mut bucket.held_back))).collect()
    }
}

fn kind(text: &str) -> String {
    let is_own = |c: &char| !c.is_ascii_digit() && !matches!(c, '/' | '`' | '"' | '\'');
    text.chars().take(KIND_LENGTH).take_while(is_own).collect()
}

fn summary(kind: &str, count: u64) -> String {
    let lines = if count == 1 { "line was" } else { "lines were" };
    match kind.trim_end() {
        "" => format!("{count} more {lines} held back: too many at once"),
        kind => format!("{count} more {lines} held back: too many like `{kind}`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_of_one_kind_hides_no_other() {
        let mut limiter = Limiter::default();
        let at = Duration::from_secs;
        let mut flood = |count: u32, now| {
            let mut admit = |rank: &u32| {
                limiter.admit(&format!("rank {rank} of 8"), now) != Admission::HeldBack
            };
            (0..count).filter(&mut admit).count()
        };
        assert_eq!(flood(10_000, at(0)), BURST as usize);
        assert_eq!(flood(10, at(4)), 0);
        assert_eq!(limiter.admit("critical: loss", at(4)), Admission::Line);
        let after = format!("{} more lines were held back: too many like `rank`", 10_010 - BURST);
        assert_eq!(limiter.admit("rank 1", at(5)), Admission::LineAfter(after));
        assert_eq!(limiter.admit("rank 1", at(5)), Admission::HeldBack);
        assert_eq!(limiter.summaries(), ["1 more line was held back: too many like `rank`"]);
        assert!(limiter.summaries().is_empty());
    }

    #[test]
    fn kinds_are_bounded() {
        let mut limiter = Limiter::default();
        let text = |number: u32| number.to_string().bytes().map(|c| char::from(c + 49)).collect();
        let said = (0..10_000).map(text);
        let lines =
            said.filter(|text: &String| limiter.admit(text, Duration::ZERO) != Admission::HeldBack);
        assert_eq!(lines.count(), KINDS + BURST as usize);
        assert!(limiter.kinds.len() <= KINDS + 1);
    }
}
