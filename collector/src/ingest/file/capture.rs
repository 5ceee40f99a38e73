//! One capture file: its buffer, the reader of its format, and its counters.

use std::mem::{Discriminant, discriminant};

use super::buffer::Buffer;
use super::error::IngestError;
use super::event::{FileSummary, Progress, SourceEvent};
use super::foreign;
use super::input::Input;
use super::notices::Notices;
use super::pcap::{self, PcapReader};
use super::pcapng::{self, PcapNgReader};
use super::problem::{Consequence, FileProblem, ProblemKind};
use super::record::{Found, Record};
use super::stream::Stream;
use railscope_core::model::frame::Frame;
use railscope_core::model::time::Timestamp;

/// Bytes read to recognise a foreign file: a tar header is the longest signature.
const FOREIGN_BYTES: usize = 512;

/// A capture file with a valid start.
#[derive(Debug)]
pub(super) struct CaptureFile {
    buffer: Buffer,
    format: Format,
    /// The frame that was read last.
    record: Record,
    /// Whether that frame was not yet delivered.
    pub(super) is_held: bool,
    frames: u64,
    dropped_frames: u64,
    skipped_blocks: u64,
    /// Kinds of problems already reported.
    reported: Vec<Discriminant<ProblemKind>>,
}

#[derive(Debug)]
enum Format {
    Pcap(PcapReader),
    PcapNg(PcapNgReader),
}

/// Result of polling a file.
#[derive(Debug)]
pub(super) enum Polled {
    Frame,
    /// No frame, perhaps a notice.
    Other,
    /// The file has ended and must not be polled again.
    End,
}

impl CaptureFile {
    /// Recognizes the compression and the format, and reads the file's header. With `is_ahead`, another thread
    /// decompresses.
    pub(super) fn open(input: Input, is_ahead: bool) -> Result<Self, IngestError> {
        let name = input.name.clone();
        let stream = match Stream::open(input) {
            Ok(stream) if is_ahead => stream.decompress_ahead(),
            Ok(stream) => stream,
            Err(source) => return Err(IngestError::Open { file: name, source }),
        };
        let mut buffer = Buffer::new(stream);
        match Format::open(&name, &mut buffer) {
            Ok(Some(format)) => Ok(Self {
                buffer,
                format,
                record: Record::NONE,
                is_held: false,
                frames: 0,
                dropped_frames: 0,
                skipped_blocks: 0,
                reported: Vec::new(),
            }),
            Ok(None) => {
                // Best effort: guess from the bytes that are there.
                let _ = buffer.fill(FOREIGN_BYTES);
                let start = buffer.at_hand();
                let start = &start[..start.len().min(FOREIGN_BYTES)];
                Err(IngestError::Foreign { file: name, looks_like: foreign::recognise(start) })
            }
            Err(ProblemKind::Cut { have: 0, .. }) => Err(IngestError::Empty { file: name }),
            Err(problem) => {
                Err(IngestError::Header { file: name, offset: buffer.offset(), problem })
            }
        }
    }

    /// The same file from its start on; `None` if it is compressed or can be read only once.
    pub(super) fn again(&self) -> Option<Self> {
        Self::open(self.buffer.stream().again()?, false).ok()
    }

    /// Reads to the next frame or notice.
    #[inline(always)]
    pub(super) fn poll(&mut self, notices: &mut Notices) -> Polled {
        let found = match &mut self.format {
            Format::Pcap(reader) => reader.poll(&mut self.buffer, &mut self.record, notices),
            Format::PcapNg(reader) => reader.poll(&mut self.buffer, &mut self.record, notices),
        };
        match found {
            Ok(Found::Frame) => {
                self.frames += 1;
                Polled::Frame
            }
            other => self.on_no_frame(other, notices),
        }
    }

    #[cold]
    fn on_no_frame(&mut self, found: Result<Found, ProblemKind>, notices: &mut Notices) -> Polled {
        match found {
            Ok(Found::Frame | Found::Other) => return Polled::Other,
            Ok(Found::Problem(kind, offset)) => {
                self.report(kind, offset, notices);
                return Polled::Other;
            }
            Ok(Found::End) => {}
            Err(kind) => self.report(kind, self.buffer.offset(), notices),
        }
        notices.push(SourceEvent::FileEnd(FileSummary {
            file: self.name().to_owned(),
            frames: self.frames,
            dropped_frames: self.dropped_frames,
            untimed_frames: match &self.format {
                Format::Pcap(_) => 0,
                Format::PcapNg(reader) => reader.untimed_frames(),
            },
            skipped_blocks: self.skipped_blocks,
            bytes: self.buffer.offset(),
        }));
        Polled::End
    }

    /// Counts a problem, and reports it if it is the first of its kind in this file.
    fn report(&mut self, kind: ProblemKind, offset: u64, notices: &mut Notices) {
        match kind.consequence() {
            Consequence::FrameDropped => self.dropped_frames += 1,
            Consequence::BlockSkipped => self.skipped_blocks += 1,
            Consequence::FileEnds => {}
        }
        if self.reported.contains(&discriminant(&kind)) {
            return;
        }
        self.reported.push(discriminant(&kind));
        notices.push(SourceEvent::Problem(FileProblem {
            file: self.name().to_owned(),
            compression: self.buffer.stream().compression(),
            offset,
            kind,
            frames_read: self.frames,
        }));
    }

    /// The time of the last polled frame.
    #[inline]
    pub(super) fn time(&self) -> Timestamp {
        self.record.time
    }

    /// The last polled frame.
    #[inline]
    pub(super) fn frame(&self) -> Frame<'_> {
        let record = &self.record;
        Frame {
            tap: record.tap,
            number: self.frames + self.dropped_frames,
            time: record.time,
            wire_len: record.wire_len,
            bytes: self.buffer.slice(record.position, record.len),
            link_type: record.link_type,
            direction: record.direction,
        }
    }

    pub(super) fn progress(&self) -> Progress {
        self.buffer.stream().progress()
    }

    fn name(&self) -> &str {
        self.buffer.stream().name()
    }
}

impl Format {
    /// The format, from the file's first bytes; `None` if it is not a capture.
    fn open(name: &str, buffer: &mut Buffer) -> Result<Option<Self>, ProblemKind> {
        let magic = match buffer.words::<1>() {
            Ok(words) => words.map(|[magic]| magic),
            // Fewer than four bytes: a truncated capture, or anything else.
            Err(problem @ ProblemKind::Cut { .. }) => {
                let start = buffer.at_hand();
                let is_capture = pcap::MAGICS.iter().any(|magic| magic.starts_with(start))
                    || pcapng::MAGIC.starts_with(start);
                return if is_capture { Err(problem) } else { Ok(None) };
            }
            Err(problem) => return Err(problem),
        };
        match magic {
            None => Err(ProblemKind::Cut { have: 0, need: 4 }),
            Some(pcapng::MAGIC) => {
                PcapNgReader::open(name, buffer).map(|reader| Some(Self::PcapNg(reader)))
            }
            Some(magic) if pcap::MAGICS.contains(&magic) => {
                PcapReader::open(name, buffer).map(|reader| Some(Self::Pcap(reader)))
            }
            Some(_) => Ok(None),
        }
    }
}
