//! TCP conversations between a few hosts, as a tap sees them, through the whole pipeline.

use railscope_core::flow::tracker::FlowConfig;
use railscope_core::model::frame::Frame;
use railscope_core::model::tap::{LinkType, Tap, TapFormat, TapId};
use railscope_core::model::time::Timestamp;
use railscope_core::pipeline::{Pipeline, PipelineConfig};
use railscope_core::report::{Detail, Report, ReportContext};

use super::invariants;

/// Time between two segments.
const TICK_NS: u64 = 1_000_000;

/// Payload of a segment.
const SEGMENT_BYTES: usize = 1_400;

const FIN: u8 = 0x01;
const SYN: u8 = 0x02;
const ACK: u8 = 0x10;

/// Panics if an invariant of a report on what was said does not hold.
pub fn check(report_of: impl Fn() -> Report) {
    let report = report_of();
    let json = invariants::json(&report);
    invariants::check(&report);
    assert_eq!(json, invariants::json(&report_of()), "the same packets give the same report");
    // Claims cost what was sent, not what they claim.
    assert!(json.len() < (64 << 10) + 64 * report.capture.wire_bytes as usize, "{}", json.len());
}

/// Who of a connection speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speaker {
    Client,
    Server,
}

/// Last byte of an address in 10.0.0.0/24, and a port.
pub type End = (u8, u16);

/// A connection.
#[derive(Clone, Copy, Debug)]
struct Line {
    /// Client and server.
    ends: [End; 2],
    next: [u32; 2],
}

/// A tap and what it has seen.
pub struct Talk {
    pipeline: Pipeline,
    lines: Vec<Line>,
    frames: u64,
}

impl Default for Talk {
    fn default() -> Self {
        let flow = FlowConfig { flow_capacity: 16, line_rate_bps: None, keeps_details: true };
        let mut pipeline = Pipeline::new(PipelineConfig { flow, message_capacity: Some(64) });
        pipeline.add_tap(Tap {
            file: "talk".to_owned(),
            format: TapFormat::PcapNg,
            interface: None,
            link_type: LinkType::Ethernet,
            snap_len: None,
            line_rate_bps: None,
        });
        Self { pipeline, lines: Vec::new(), frames: 0 }
    }
}

impl Talk {
    /// Opens a connection from host `client`, which has a port of its own; returns its number.
    pub fn open(&mut self, client: u8, server: End) -> usize {
        let number = self.lines.len();
        let port = 32_768 + (number % 28_000) as u16;
        self.lines.push(Line { ends: [(client, port), server], next: [1, 1] });
        self.segment(number, Speaker::Client, SYN, 0, &[]);
        self.segment(number, Speaker::Server, SYN | ACK, 0, &[]);
        number
    }

    /// One of the ends says something.
    pub fn say(&mut self, line: usize, speaker: Speaker, bytes: &[u8]) {
        for bytes in bytes.chunks(SEGMENT_BYTES) {
            let Some(known) = self.lines.get_mut(line) else { return };
            let next = &mut known.next[speaker as usize];
            let sequence = *next;
            *next = next.wrapping_add(bytes.len() as u32);
            self.segment(line, speaker, ACK, sequence, bytes);
        }
    }

    /// The tap misses so many bytes.
    pub fn miss(&mut self, line: usize, speaker: Speaker, bytes: u32) {
        if let Some(known) = self.lines.get_mut(line) {
            let next = &mut known.next[speaker as usize];
            *next = next.wrapping_add(bytes);
        }
    }

    /// One of the ends says that it is done.
    pub fn end(&mut self, line: usize, speaker: Speaker) {
        let Some(known) = self.lines.get_mut(line) else { return };
        let next = &mut known.next[speaker as usize];
        let sequence = *next;
        *next = next.wrapping_add(1);
        self.segment(line, speaker, FIN | ACK, sequence, &[]);
    }

    /// The report on all that was said.
    pub fn report(self) -> Report {
        self.pipeline.finish(ReportContext { detail: Detail::Full, ..Default::default() })
    }

    fn segment(&mut self, line: usize, speaker: Speaker, flags: u8, sequence: u32, bytes: &[u8]) {
        let Some(known) = self.lines.get(line) else { return };
        let way = speaker as usize;
        let ([from, to], heard) = ([known.ends[way], known.ends[1 - way]], known.next[1 - way]);
        let [l0, l1] = (40 + bytes.len() as u16).to_be_bytes();
        let mut frame = vec![2, 0, 0, 0, 0, to.0, 2, 0, 0, 0, 0, from.0, 0x08, 0];
        frame.extend([0x45, 0, l0, l1, 0, 0, 0x40, 0, 64, 6, 0, 0]);
        frame.extend([10, 0, 0, from.0, 10, 0, 0, to.0]);
        frame.extend(from.1.to_be_bytes());
        frame.extend(to.1.to_be_bytes());
        frame.extend(sequence.to_be_bytes());
        frame.extend(heard.to_be_bytes());
        frame.extend([0x50, flags, 0xff, 0xff, 0, 0, 0, 0]);
        frame.extend(bytes);
        self.frames += 1;
        self.pipeline.handle_frame(&Frame {
            tap: TapId(0),
            number: self.frames,
            time: Timestamp::from_nanos(1_700_000_000_000_000_000 + self.frames * TICK_NS),
            wire_len: frame.len() as u32,
            bytes: &frame,
            link_type: LinkType::Ethernet,
            direction: None,
        });
    }
}
