//! One direction of a TCP connection: segments in any order in, bytes in order out.

use super::held::{HeldSegments, Segment};
use super::position::Position;
use super::sink::{Advance, Chunk, DirectionTotals, Interest, Unanswered};
use crate::model::time::Timestamp;

/// Largest TCP window (RFC 7323, section 2.3: 65,535 scaled by 14 bits): nobody sends further
/// ahead.
const WINDOW: u64 = 1 << 30;

/// After this many consecutive segments outside the window, the stream continues there.
const STRAYS: u8 = 8;

/// The payload of a frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct Payload<'a> {
    /// Sequence number of its first byte.
    pub(super) sequence: u32,
    /// The captured bytes.
    pub(super) bytes: &'a [u8],
    /// Bytes on the wire.
    pub(super) len: u32,
    /// When the frame passed the tap.
    pub(super) time: Timestamp,
    /// Number of the frame.
    pub(super) number: u64,
}

/// The next thing in a direction.
#[derive(Clone, Copy, Debug)]
pub(super) enum Piece<'a> {
    /// Payload that continues the stream.
    Bytes(Chunk<'a>),
    /// This many bytes were not captured.
    Gap(u64),
}

/// One direction.
#[derive(Clone, Debug, Default)]
pub(super) struct Half {
    start: Option<Position>,
    next: Option<Position>,
    fin: Option<Position>,
    held: HeldSegments,
    is_enough: bool,
    is_in_gap: bool,
    strays: u8,
    totals: DirectionTotals,
    /// The other end has everything before it.
    acknowledged: Option<Position>,
    /// The end of what was sent, with what is held and what is missing.
    sent: Option<Position>,
    /// The latest payload.
    latest: Option<Timestamp>,
}

/// Timers of TCP are longer than this (RFC 6298 asks for a second; Linux' `TCP_RTO_MIN` is 200 ms): a
/// repetition after less is a copy at the tap, or was asked for.
const SHORTEST_TIMER_NS: u64 = 100_000_000;

impl Half {
    /// Whether the first byte has this sequence number; `None` if the first byte is unknown.
    pub(super) fn starts_at(&self, sequence: u32) -> Option<bool> {
        self.start.map(|start| start == Position::first(sequence))
    }

    /// Totals so far.
    pub(super) const fn totals(&self) -> DirectionTotals {
        self.totals
    }

    /// Bytes held back until missing ones arrive.
    pub(super) const fn held(&self) -> usize {
        self.held.cost()
    }

    /// Whether everything up to the FIN was delivered or given up.
    pub(super) fn is_finished(&self) -> bool {
        self.fin.zip(self.next).is_some_and(|(fin, next)| fin <= next)
    }

    /// Sets the sequence number of the first byte, unless an earlier segment did.
    pub(super) fn begin(&mut self, sequence: u32) {
        if self.next.is_none() {
            let position = Position::first(sequence);
            (self.start, self.next) = (Some(position), Some(position));
        }
    }

    /// Nothing follows at or after this sequence number.
    pub(super) fn end(&mut self, sequence: u32) {
        self.begin(sequence);
        if let Some(next) = self.next {
            self.fin.get_or_insert(next.near(sequence));
        }
        if self.is_enough {
            self.give_up_waiting(&mut |_| Interest::Enough);
        }
    }

    /// Processes the payload of a segment; holds back at most `limit` bytes behind missing ones.
    pub(super) fn receive(
        &mut self,
        payload: &Payload<'_>,
        limit: usize,
        out: &mut impl FnMut(Piece<'_>) -> Interest,
    ) -> Reception {
        self.begin(payload.sequence);
        let Some(mut next) = self.next else { return Reception::Taken };
        let mut start = next.near(payload.sequence);
        if start.since(next) > WINDOW || next.since(start) > WINDOW {
            self.strays += 1;
            if self.strays < STRAYS {
                return Reception::Stray;
            }
            start = next.following(payload.sequence);
            self.skip_to(start, out);
            next = self.next.unwrap_or(start);
        }
        self.strays = 0;
        let end = start.plus(u64::from(payload.len));
        let kept_end = start.plus(payload.bytes.len() as u64).min(end);
        let Payload { bytes, time, number, .. } = *payload;
        let segment = Segment { start, end, kept_end, bytes, time, number };
        // What lies before the start was sent before the capture.
        if self.sent.max(self.start) < Some(end) {
            self.sent = Some(end);
            self.totals.unanswered = None;
            self.totals.advance = Some(Advance::on(self.totals.advance, time));
        } else if self.acknowledged.is_some_and(|known| end > known)
            && self.latest.is_some_and(|at| time.nanos_since(at) >= SHORTEST_TIMER_NS)
        {
            let unanswered =
                self.totals.unanswered.get_or_insert(Unanswered { tries: 0, since: time });
            unanswered.tries += 1;
        }
        self.latest = Some(time);
        if self.is_enough {
            self.skip_to(end, out);
        } else if start > next {
            self.held.insert(&segment);
        } else if end > next {
            self.pass(&segment, out);
            self.release(out);
        }
        let mut reception = Reception::Taken;
        while self.held.cost() > limit
            && let Some(start) = self.held.start()
        {
            self.skip_to(start, out);
            reception = Reception::Overflow;
        }
        reception
    }

    /// The other end has everything before this sequence number: bytes not captured by now are lost
    /// to the capture. `is_farewell`: it closes the connection, which no data has to reach it for.
    pub(super) fn acknowledge(
        &mut self,
        sequence: u32,
        is_farewell: bool,
        out: &mut impl FnMut(Piece<'_>) -> Interest,
    ) {
        self.begin(sequence);
        let Some(next) = self.next else { return };
        let mut received = next.near(sequence);
        // The FIN is acknowledged like a byte.
        if let Some(fin) = self.fin
            && received == fin.plus(1)
        {
            received = fin;
        }
        // Whatever else it acknowledges, the other end answers.
        if !is_farewell || self.acknowledged < Some(received) {
            self.totals.unanswered = None;
        }
        self.acknowledged = self.acknowledged.max(Some(received));
        if received.since(next) <= WINDOW {
            self.skip_to(received, out);
        }
    }

    /// Delivers everything held, with gaps, including the one before the FIN.
    pub(super) fn give_up_waiting(&mut self, out: &mut impl FnMut(Piece<'_>) -> Interest) {
        while let Some(start) = self.held.start().or(self.unfinished()) {
            self.skip_to(start, out);
        }
    }

    /// The FIN, if bytes before it are missing.
    fn unfinished(&self) -> Option<Position> {
        let (fin, next) = self.fin.zip(self.next)?;
        (next < fin && fin.since(next) <= WINDOW).then_some(fin)
    }

    /// Gives up what is missing before `position`.
    fn skip_to(&mut self, position: Position, out: &mut impl FnMut(Piece<'_>) -> Interest) {
        while let Some(next) = self.next
            && next < position
        {
            let present = self.held.start().map_or(position, |start| start.min(position));
            self.miss(present.since(next), out);
            self.release(out);
        }
        self.release(out);
    }

    /// Delivers the next part of a segment; bytes that are held came first and take precedence.
    fn pass(&mut self, segment: &Segment<'_>, out: &mut impl FnMut(Piece<'_>) -> Interest) {
        while let Some(next) = self.next
            && next < segment.end
        {
            let to = self.held.start().map_or(segment.end, |held| held.min(segment.end));
            self.pass_part(segment, next, to, out);
            self.release(out);
        }
    }

    /// Delivers held bytes that are next.
    fn release(&mut self, out: &mut impl FnMut(Piece<'_>) -> Interest) {
        while let Some(next) = self.next
            && self.held.start().is_some_and(|start| start <= next)
            && let Some(held) = self.held.pop()
        {
            let segment = held.view();
            self.pass_part(&segment, next, segment.end, out);
        }
    }

    fn pass_part(
        &mut self,
        segment: &Segment<'_>,
        from: Position,
        to: Position,
        out: &mut impl FnMut(Piece<'_>) -> Interest,
    ) {
        let kept_to = segment.kept_end.clamp(from, to.max(from));
        let kept = kept_to.since(from);
        if kept > 0 {
            self.next = Some(kept_to);
            self.totals.bytes += kept;
            self.is_in_gap = false;
            let bytes = segment.between(from, kept_to);
            self.deliver(
                Piece::Bytes(Chunk { bytes, time: segment.time, number: segment.number }),
                out,
            );
        }
        self.miss(to.since(kept_to), out);
    }

    /// The next `bytes` bytes are missing.
    fn miss(&mut self, bytes: u64, out: &mut impl FnMut(Piece<'_>) -> Interest) {
        let Some(next) = self.next else { return };
        if bytes == 0 {
            return;
        }
        self.next = Some(next.plus(bytes));
        self.totals.bytes += bytes;
        if !self.is_enough {
            self.totals.missing_bytes += bytes;
            self.totals.gaps += u64::from(!self.is_in_gap);
            self.is_in_gap = true;
            self.deliver(Piece::Gap(bytes), out);
        }
    }

    fn deliver(&mut self, piece: Piece<'_>, out: &mut impl FnMut(Piece<'_>) -> Interest) {
        if !self.is_enough && out(piece) == Interest::Enough {
            self.is_enough = true;
            self.held.forget_bytes();
        }
    }
}

/// What happened to a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reception {
    /// Delivered, held, or a duplicate.
    Taken,
    /// Outside the window, dropped.
    Stray,
    /// Not held back, since the limit is reached: the missing bytes before it became a gap.
    Overflow,
}
