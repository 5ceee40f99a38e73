//! Which kind of input a file is, by its content: `analyze FILE...` takes all of them.

use std::path::Path;

use crate::bundle::read::is_bundle;
use crate::ingest::file::encoding::Utf16;
use crate::ingest::standard_input::{self, Start};
use crate::ingest::whole_file;
use crate::part::is_part;
use railscope_core::decode::flight_recorder::Dump;
use railscope_core::decode::profiler::Header;
use railscope_core::decode::ras::RasStatus;
use railscope_core::link::counter::CounterTracker;
use railscope_core::link::log::LogTracker;
use railscope_core::link::tool::ToolTracker;

/// A kind of input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InputKind {
    /// Frames, or a file of no known kind: reading it says what is wrong.
    Capture,
    /// A log of a job: text that is nothing else.
    Log,
    /// A bundle of all of these.
    Bundle,
    /// Captures of a host, reduced.
    Part,
    /// Samples of NIC counters.
    Counters,
    /// A dump of PyTorch's flight recorder.
    Dump,
    /// An answer of NCCL's RAS.
    RasStatus,
    /// A file or ring of NCCL's profiler plugin.
    Profile,
}

/// Bytes that show what a file is.
const START: usize = 64 * 1024;

/// The kind of a file, or of standard input (`-`). Another pipe could not be read again: it is a
/// capture.
pub(super) fn kind(path: &Path) -> InputKind {
    if path == Path::new("-") {
        return match standard_input::start(START) {
            Start::Terminal => InputKind::Log,
            // Counters, dumps and answers of RAS are read from files.
            Start::Bytes(start) => match kind_of(&start, &|| None) {
                InputKind::Capture | InputKind::Bundle | InputKind::Part => InputKind::Capture,
                _ => InputKind::Log,
            },
            Start::Unknown => InputKind::Capture,
        };
    }
    if !path.is_file() {
        return InputKind::Capture;
    }
    let Ok(start) = whole_file::read_start(path, START) else { return InputKind::Capture };
    kind_of(&start, &|| whole_file::read(path).ok())
}

/// The kind of a file that starts so; `whole` is all of it.
fn kind_of(start: &[u8], whole: &dyn Fn() -> Option<Vec<u8>>) -> InputKind {
    if Header::is_start(start) {
        return InputKind::Profile;
    }
    if is_bundle(start) {
        return InputKind::Bundle;
    }
    if is_part(start) {
        return InputKind::Part;
    }
    // The protocols of pickle that can be a dump's.
    if let [0x80, 2..=5, ..] = start {
        return InputKind::Dump;
    }
    if let Some(encoding) = Utf16::of_mark(start) {
        return kind_of(encoding.text(start).as_bytes(), &|| None);
    }
    if start.is_empty() || !is_text(start) {
        return InputKind::Capture;
    }
    let lines = || start.split(|byte| *byte == b'\n');
    let mut counters = CounterTracker::default();
    let file = counters.add_file("");
    if (1..).zip(lines()).any(|(number, line)| counters.observe(file, number, line)) {
        return InputKind::Counters;
    }
    if start.trim_ascii_start().starts_with(b"{") || start.trim_ascii_start().starts_with(b"[") {
        let whole = whole().unwrap_or_default();
        if Dump::parse(&whole).is_ok() {
            return InputKind::Dump;
        }
        if RasStatus::parse(&whole).is_ok() {
            return InputKind::RasStatus;
        }
    }
    let mut logs = LogTracker::default();
    let log = logs.add_log("");
    let mut tools = ToolTracker::default();
    if (1..).zip(lines()).any(|(number, line)| tools.observe(log, number, line)) {
        return InputKind::Log;
    }
    let is_log =
        (1..).zip(lines()).filter(|(number, line)| logs.observe(log, *number, line)).count();
    // The text of RAS begins with a version, too, but has no other line of NCCL.
    if is_log <= 1 && RasStatus::parse(start).is_ok() {
        return InputKind::RasStatus;
    }
    InputKind::Log
}

/// Bytes that usually show a document of railscope.
const DOCUMENT_START: usize = 4096;

/// How the contract of a document is named, with and without a space.
const CONTRACTS: [&str; 2] = ["\"schema\":\"railscope.", "\"schema\": \"railscope."];

/// Whether a file is a document of railscope, such as a report: the contract is its first key, or, where
/// another program wrote it again, anywhere.
pub(super) fn is_document(path: &Path) -> bool {
    let start = whole_file::read_start(path, DOCUMENT_START).unwrap_or_default();
    let names_one = |text: &[u8]| {
        let text = String::from_utf8_lossy(text);
        CONTRACTS.iter().any(|contract| text.contains(contract))
    };
    start.trim_ascii_start().starts_with(b"{")
        && (names_one(&start)
            || (start.len() == DOCUMENT_START
                && whole_file::read(path).is_ok_and(|all| names_one(&all))))
}

/// Whether nearly all bytes are text: logs may hold a few control characters and broken UTF-8, pastes a NUL.
fn is_text(start: &[u8]) -> bool {
    let is_control = |byte: &&u8| {
        byte.is_ascii_control() && !matches!(byte, b'\t' | b'\n' | b'\r' | 0x08 | 0x0c | 0x1b)
    };
    let controls = start.iter().filter(is_control).count();
    let zeros = start.iter().filter(|byte| **byte == 0).count();
    // Headers of captures have some in their first bytes.
    let is_capture = start.iter().take(HEADER).any(|byte| *byte == 0)
        || MAGICS.iter().any(|magic| start.starts_with(magic));
    !is_capture && controls * 100 <= start.len() + 200 && zeros <= 2 + start.len() / 1000
}

/// Bytes of the shortest header of a capture: ERF.
const HEADER: usize = 16;

/// First bytes of pcap, with microseconds and nanoseconds, and of pcapng.
const MAGICS: &[&[u8]] = &[
    b"\xd4\xc3\xb2\xa1",
    b"\xa1\xb2\xc3\xd4",
    b"\x4d\x3c\xb2\xa1",
    b"\xa1\xb2\x3c\x4d",
    b"\x0a\x0d\x0d\x0a",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_by_content() {
        for (start, kind) in [
            (&b"\xd4\xc3\xb2\xa1\x02\x00\x04\x00"[..], InputKind::Capture),
            (b"\x0a\x0d\x0d\x0a\x1c\x00\x00\x00", InputKind::Capture),
            (b"", InputKind::Capture),
            (b"\x80\x05\x95", InputKind::Dump),
            (b"n1:1:1 [0] NCCL INFO Using network IB\n", InputKind::Log),
            (b"any text at all\n", InputKind::Log),
            (b"RAILPROF\x01\x00\x00\x00", InputKind::Profile),
            (b"mlx5_0 port 1 ==> eth2 (Up)\0\n", InputKind::Log),
            (b"\xff\xfem\x00l\x00x\x005\x00_\x00a\x00\n\x00", InputKind::Log),
            (b"{\"log\":\"n1:1:1 [0] NCCL INFO Using network IB\\n\"}\n", InputKind::Log),
            (
                b"{\"time_ns\":1,\"device\":\"mlx5_0\",\"counters\":{\"out_of_sequence\":1}}\n",
                InputKind::Counters,
            ),
        ] {
            let found = kind_of(start, &|| Some(start.to_vec()));
            assert_eq!(found, kind, "{}", String::from_utf8_lossy(start));
        }
    }
}
