//! Complete frames of one direction of a ring connection, in order.

use crate::model::witness::Witness;

/// Consecutive frames.
#[derive(Clone, Debug, Default)]
pub(super) struct Direction {
    bytes: Vec<u8>,
    frames: Vec<FrameEnd>,
}

/// The end of a frame, and the packet that completed it.
#[derive(Clone, Copy, Debug)]
struct FrameEnd {
    end: usize,
    witness: Witness,
}

impl Direction {
    pub(super) fn push(&mut self, frame: &[u8], witness: Witness) {
        self.bytes.extend_from_slice(frame);
        self.frames.push(FrameEnd { end: self.bytes.len(), witness });
    }

    /// Number of frames.
    pub(super) const fn len(&self) -> usize {
        self.frames.len()
    }

    /// The bytes of a frame.
    pub(super) fn get(&self, at: usize) -> Option<&[u8]> {
        let before = at.checked_sub(1).and_then(|before| self.frames.get(before));
        self.bytes.get(before.map_or(0, |place| place.end)..self.frames.get(at)?.end)
    }

    /// The packet that completed a frame.
    pub(super) fn witness(&self, at: usize) -> Option<Witness> {
        self.frames.get(at).map(|place| place.witness)
    }

    /// Lengths of consecutive equally long frames, with their counts; the first few.
    pub(super) fn runs(&self) -> Vec<Run> {
        let mut runs: Vec<Run> = Vec::new();
        let mut before = 0;
        for place in &self.frames {
            let len = place.end - before;
            before = place.end;
            if let Some(run) = runs.last_mut().filter(|run| run.len == len) {
                run.count += 1;
            } else if runs.len() < RUNS {
                runs.push(Run { len, count: 1 });
            } else {
                break;
            }
        }
        runs
    }

    /// Drops the first frames.
    pub(super) fn drop_first(&mut self, count: usize) {
        let last = count.checked_sub(1).and_then(|last| self.frames.get(last));
        let Some(end) = last.map(|place| place.end) else { return };
        self.bytes.drain(..end);
        self.frames.drain(..count);
        for place in &mut self.frames {
            place.end -= end;
        }
        self.bytes.shrink_to_fit();
        self.frames.shrink_to_fit();
    }

    /// Bytes of memory.
    pub(super) fn kept(&self) -> usize {
        self.bytes.capacity() + self.frames.capacity() * size_of::<FrameEnd>()
    }
}

/// Frames of the same length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    /// The length, in bytes.
    pub(super) len: usize,
    /// How many follow each other.
    pub(super) count: usize,
}

/// More runs than the initial gathers make.
const RUNS: usize = 6;
