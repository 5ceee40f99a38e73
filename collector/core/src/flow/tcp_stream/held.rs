//! Segments waiting for bytes before them.

use std::collections::VecDeque;

use super::position::Position;
use crate::model::time::Timestamp;

/// Charged per segment beside its bytes, so that tiny segments are bounded, too.
const SEGMENT_COST: usize = 64;

/// Payload of one segment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Segment<'a> {
    /// Position of its first byte.
    pub(super) start: Position,
    /// Position after its last byte.
    pub(super) end: Position,
    /// Position after the last captured byte: the snap length removed the rest.
    pub(super) kept_end: Position,
    /// The captured bytes; empty if nobody wants them.
    pub(super) bytes: &'a [u8],
    /// When its frame passed the tap.
    pub(super) time: Timestamp,
    /// Number of its frame.
    pub(super) number: u64,
}

impl<'a> Segment<'a> {
    /// The captured bytes between two positions.
    pub(super) fn between(&self, from: Position, to: Position) -> &'a [u8] {
        let place = |position: Position| position.since(self.start) as usize;
        self.bytes.get(place(from)..place(to)).unwrap_or_default()
    }
}

/// A segment that owns its bytes.
#[derive(Clone, Debug)]
pub(super) struct HeldSegment {
    start: Position,
    end: Position,
    kept_end: Position,
    bytes: Box<[u8]>,
    time: Timestamp,
    number: u64,
}

impl HeldSegment {
    /// The segment with its bytes borrowed from here.
    pub(super) fn view(&self) -> Segment<'_> {
        let Self { start, end, kept_end, ref bytes, time, number } = *self;
        Segment { start, end, kept_end, bytes, time, number }
    }

    fn cost(&self) -> usize {
        self.bytes.len() + SEGMENT_COST
    }
}

/// The waiting segments of one direction, in order, without overlaps: the first copy of a byte
/// counts.
#[derive(Clone, Debug, Default)]
pub(super) struct HeldSegments {
    segments: VecDeque<HeldSegment>,
    cost: usize,
}

impl HeldSegments {
    /// Memory held: bytes, and a fixed cost per segment.
    pub(super) const fn cost(&self) -> usize {
        self.cost
    }

    /// Where the first segment starts.
    pub(super) fn start(&self) -> Option<Position> {
        self.segments.front().map(|segment| segment.start)
    }

    /// Inserts the parts of `segment` that are not there yet.
    pub(super) fn insert(&mut self, segment: &Segment<'_>) {
        let mut at = self.segments.partition_point(|held| held.end <= segment.start);
        let mut from = segment.start;
        while from < segment.end {
            let (free_to, taken_to) = match self.segments.get(at) {
                Some(held) if held.start < segment.end => (held.start, held.end),
                _ => (segment.end, segment.end),
            };
            if from < free_to {
                let kept_end = segment.kept_end.clamp(from, free_to);
                let bytes = segment.between(from, kept_end);
                let held = HeldSegment {
                    start: from,
                    end: free_to,
                    kept_end,
                    bytes: bytes.into(),
                    time: segment.time,
                    number: segment.number,
                };
                self.cost += held.cost();
                self.segments.insert(at, held);
                at += 1;
            }
            from = taken_to;
            at += 1;
        }
    }

    /// Removes the first segment.
    pub(super) fn pop(&mut self) -> Option<HeldSegment> {
        let segment = self.segments.pop_front()?;
        self.cost -= segment.cost();
        if self.segments.is_empty() {
            self.segments = VecDeque::new();
        }
        Some(segment)
    }

    /// Drops the bytes but keeps their positions.
    pub(super) fn forget_bytes(&mut self) {
        for segment in &mut self.segments {
            segment.bytes = Box::default();
        }
        self.cost = self.segments.len() * SEGMENT_COST;
    }
}
