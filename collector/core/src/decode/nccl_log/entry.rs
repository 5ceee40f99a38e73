//! The grammar around a message: time, host, process, thread, device, source, level.
//!
//! ```text
//! INFO   HOST:PID:TID [DEV] NCCL INFO message
//! WARN   [time] HOST:PID:TID [DEV] FILE:LINE (FUNCTION) NCCL WARN message
//! TRACE  HOST:PID:TID [DEV] 12.345678 FUNCTION:LINE NCCL TRACE message
//! CALL   HOST:PID:TID NCCL CALL message
//!        NCCL version 2.27.5+cuda12.9
//! ```
//!
//! NCCL 2.2 does not write `NCCL` before the level. RCCL prints `RCCL version : 2.21.5-HEAD:9a0e6a1`.
//!
//! The time (2.26 and later) has a free format; FILE may be a C++ signature with blanks and `::`
//! (aws-ofi-nccl); FUNCTION is there in 2.29 and later.

use std::sync::LazyLock;

use memchr::memmem::Finder;

use super::message::Message;

/// Severity of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// `NCCL version ...` without a prefix.
    Version,
    /// `NCCL WARN`.
    Warn,
    /// `NCCL INFO`.
    Info,
    /// `NCCL CALL`.
    Call,
    /// `NCCL TRACE`.
    Trace,
}

/// The writer of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Origin<'a> {
    /// Name of the host up to the first dot.
    pub host: &'a str,
    /// Process.
    pub pid: u32,
    /// Thread.
    pub tid: u32,
    /// The thread's current CUDA device; service threads may print another than their rank's.
    pub device: Option<i32>,
}

/// The place in the source that warned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source<'a> {
    /// File, or signature of a function.
    pub file: &'a str,
    /// Line in that file or function.
    pub line: u32,
    /// Name of the function.
    pub function: Option<&'a str>,
}

/// One entry of a log.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Entry<'a> {
    /// Time as printed, local to the host, if there is one.
    pub time: Option<&'a str>,
    /// Its writer; `None` if the start of the line is missing.
    pub origin: Option<Origin<'a>>,
    /// Its severity.
    pub level: Level,
    /// Source location of a warning.
    pub source: Option<Source<'a>>,
    /// Text of the message.
    pub text: &'a str,
    /// The parsed message.
    pub message: Message<'a>,
    /// Long enough that NCCL may have truncated it; the last value of a list is left out.
    pub is_cut: bool,
    /// It followed another entry on the same line.
    pub is_glued: bool,
}

/// NCCL truncates entries at 1024 bytes, some of which a timestamp may have taken.
const CUT_BYTES: usize = 980;

/// The entries on one line, as [`clean`](super::clean()) returns it: usually none or one, more if
/// two processes wrote at the same time.
#[must_use]
pub fn entries(line: &str) -> Entries<'_> {
    Entries { rest: line, host: None, is_first: true }
}

/// The entries of one line.
#[derive(Clone, Debug)]
pub struct Entries<'a> {
    rest: &'a str,
    /// The host that wrote the previous entry.
    host: Option<&'a str>,
    is_first: bool,
}

impl<'a> Iterator for Entries<'a> {
    type Item = Entry<'a>;

    fn next(&mut self) -> Option<Entry<'a>> {
        let line = std::mem::take(&mut self.rest);
        let Some((head, level, body)) = split_mark(line) else {
            return self.is_first.then(|| bare_version(line)).flatten();
        };
        let is_glued = !std::mem::replace(&mut self.is_first, false);
        let prefix = Prefix::read(head, self.host);
        self.host = prefix.as_ref().map(|prefix| prefix.origin.host).or(self.host);
        let text = self.cut_next(body);
        let text = end_of_json(head, text).trim();
        let start = prefix.as_ref().map_or(0, |prefix| prefix.start);
        let len = line.len().saturating_sub(start).saturating_sub(self.rest.len());
        let is_cut = len >= CUT_BYTES;
        Some(Entry {
            time: prefix.as_ref().and_then(|prefix| prefix.time),
            origin: prefix.as_ref().map(|prefix| prefix.origin),
            level,
            source: prefix
                .filter(|_| level == Level::Warn)
                .and_then(|prefix| Source::read(prefix.tail)),
            text,
            message: Message::read(text, is_cut),
            is_cut,
            is_glued,
        })
    }
}

impl<'a> Entries<'a> {
    /// The part of `body` before another entry, which is kept for the next call.
    fn cut_next(&mut self, body: &'a str) -> &'a str {
        let next = split_mark(body).and_then(|(head, ..)| Prefix::read(head, self.host));
        let Some((text, rest)) = next.and_then(|next| body.split_at_checked(next.start)) else {
            return body;
        };
        self.rest = rest;
        text
    }
}

/// `NCCL version 2.18.6+cuda12.9` or `RCCL version : 2.21.5-HEAD:9a0e6a1`, which processes print to
/// standard output.
fn bare_version(line: &str) -> Option<Entry<'_>> {
    let text = line.get(line.find("CCL version ")?.checked_sub(1)?..)?;
    let message = Message::read(text, false);
    matches!(message, Message::Release(_)).then_some(Entry {
        time: None,
        origin: None,
        level: Level::Version,
        source: None,
        text,
        message,
        is_cut: false,
        is_glued: false,
    })
}

static NAME: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("NCCL "));
static INFO: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(" INFO "));
static WARN: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(" WARN "));

/// The text before and after a mark that was found at `at`.
fn around<'a>(line: &'a str, at: usize, mark: &Finder<'_>) -> Option<(&'a str, &'a str)> {
    let (head, rest) = line.split_at_checked(at)?;
    Some((head, rest.get(mark.needle().len()..)?))
}

/// The text before and after the first mark of an entry.
fn split_mark(line: &str) -> Option<(&str, Level, &str)> {
    split_named(line).or_else(|| split_unnamed(line))
}

/// The text around ` <level> ` of NCCL 2.2, which does not name itself: only behind
/// `HOST:PID:TID [DEV]`, since other programs have the same levels.
fn split_unnamed(line: &str) -> Option<(&str, Level, &str)> {
    [(&*INFO, Level::Info), (&*WARN, Level::Warn)].into_iter().find_map(|(mark, level)| {
        let at = mark.find(line.as_bytes())?;
        let (head, body) = around(line, at, mark)?;
        let prefix = Prefix::read(head, None)?;
        let is_its = match level {
            Level::Warn => Source::read(prefix.tail).is_some(),
            _ => prefix.tail.is_empty(),
        };
        // A time is no origin.
        let is_host = prefix.origin.host.contains(|c: char| c.is_ascii_alphabetic());
        prefix.origin.device.filter(|_| is_its && is_host)?;
        Some((head, level, body))
    })
}

/// The text before and after the first ` NCCL <level> `.
fn split_named(line: &str) -> Option<(&str, Level, &str)> {
    NAME.find_iter(line.as_bytes()).find_map(|at| {
        let (head, rest) = around(line, at, &NAME)?;
        let (word, body) = rest.split_once(' ').unwrap_or((rest, ""));
        let level = match word {
            "INFO" => Level::Info,
            "WARN" => Level::Warn,
            "CALL" => Level::Call,
            "TRACE" => Level::Trace,
            _ => return None,
        };
        head.ends_with(' ').then_some((head, level, body))
    })
}

/// The parsed text before the level.
struct Prefix<'a> {
    /// Offset in the head where the entry starts, after others' prefixes.
    start: usize,
    time: Option<&'a str>,
    origin: Origin<'a>,
    /// The text after the device.
    tail: &'a str,
}

impl<'a> Prefix<'a> {
    /// The last `HOST:PID:TID` that is followed by `[DEV]` or by nothing. `known` is a host whose
    /// name may follow other text without a blank.
    fn read(head: &'a str, known: Option<&str>) -> Option<Self> {
        let mut rest = head.trim_end();
        let mut next = None;
        loop {
            let (before, word) = rest.rsplit_once(' ').unwrap_or(("", rest));
            let device = next.map(device);
            let is_place = device.is_none_or(|device| device.is_some());
            let origin = is_place.then(|| Origin::read(word, device.flatten(), known)).flatten();
            if let Some((glue, origin)) = origin {
                let at = rest.len().saturating_sub(word.len());
                let tail = head.get(rest.len()..)?.trim();
                let tail = next.map_or(tail, |next| tail.strip_prefix(next).unwrap_or(tail));
                let at = at.saturating_add(glue.len());
                let (start, time) = time(head.get(..at)?);
                return Some(Self { start, time, origin, tail: tail.trim() });
            }
            if before.is_empty() {
                return None;
            }
            // Consecutive blanks make empty words, which do not count as neighbours.
            next = if word.is_empty() { next } else { Some(word) };
            rest = before;
        }
    }
}

impl<'a> Origin<'a> {
    /// `HOST:PID:TID` at the end of a word, and the text before it: `[1,0]<stdout>:` of mpirun, the
    /// quote of a JSON string, the end of an entry of the same host.
    fn read(word: &'a str, device: Option<i32>, known: Option<&str>) -> Option<(&'a str, Self)> {
        let (rest, tid) = word.rsplit_once(':')?;
        let (rest, pid) = rest.rsplit_once(':')?;
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        let name = rest.rsplit(|c| !is_name(c)).next()?;
        let cut = known
            .filter(|known| name.ends_with(known))
            .map_or(0, |known| name.len().saturating_sub(known.len()));
        let host = name.get(cut..).filter(|host| !host.is_empty())?;
        let (pid, tid) = (pid.parse().ok()?, tid.parse().ok()?);
        Some((rest.strip_suffix(host)?, Self { host, pid, tid, device }))
    }
}

impl<'a> Source<'a> {
    /// `FILE:LINE` or `FILE:LINE (FUNCTION)`.
    fn read(text: &'a str) -> Option<Self> {
        let split = |text: &'a str| {
            let (file, line) = text.rsplit_once(':')?;
            Some((file, line.parse().ok()?))
        };
        let with_function = text.strip_suffix(')').and_then(|text| text.rsplit_once(" ("));
        if let Some((place, function)) = with_function
            && let Some((file, line)) = split(place)
        {
            return Some(Self { file, line, function: Some(function) });
        }
        let (file, line) = split(text)?;
        Some(Self { file, line, function: None })
    }
}

/// `[0]`; the outer `None` is anything else.
fn device(word: &str) -> Option<i32> {
    word.strip_prefix('[')?.strip_suffix(']')?.parse().ok()
}

/// The bracketed time at the end of `before`, and its offset.
fn time(before: &str) -> (usize, Option<&str>) {
    let stamp = before.trim_end().strip_suffix(']').and_then(|text| text.rsplit_once('['));
    match stamp {
        Some((rest, time)) if time.contains(':') && time.contains(|c: char| c.is_ascii_digit()) => {
            (rest.len(), Some(time))
        }
        _ => (before.len(), None),
    }
}

/// The message of a line that is a JSON string, as Docker writes it: up to the string's end.
fn end_of_json<'a>(head: &str, text: &'a str) -> &'a str {
    if head.contains("{\"log\":\"") { text.split("\\n\"").next().unwrap_or(text) } else { text }
}
