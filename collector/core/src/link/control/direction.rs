//! Complete frames of one direction of a ring connection, in order.

use std::sync::Arc;

use super::frame_pool::SharedFrame;
use crate::model::witness::Witness;

/// Consecutive frames.
#[derive(Clone, Debug, Default)]
pub(super) struct Direction {
    places: Vec<Place>,
    bytes: usize,
}

/// A frame, and the packet that completed it.
#[derive(Clone, Debug)]
struct Place {
    frame: Arc<SharedFrame>,
    witness: Witness,
}

impl Direction {
    pub(super) fn push(&mut self, frame: Arc<SharedFrame>, witness: Witness) {
        self.bytes += frame.bytes().len();
        self.places.push(Place { frame, witness });
    }

    /// Number of frames.
    pub(super) const fn len(&self) -> usize {
        self.places.len()
    }

    /// The bytes of a frame.
    pub(super) fn get(&self, at: usize) -> Option<&[u8]> {
        self.places.get(at).map(|place| place.frame.bytes())
    }

    /// The packet that completed a frame.
    pub(super) fn witness(&self, at: usize) -> Option<Witness> {
        self.places.get(at).map(|place| place.witness)
    }

    /// Lengths of consecutive equally long frames, with their counts; the first few.
    pub(super) fn runs(&self) -> Vec<Run> {
        let mut runs: Vec<Run> = Vec::new();
        for place in &self.places {
            let len = place.frame.bytes().len();
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
        self.places.drain(..count.min(self.places.len()));
        self.places.shrink_to_fit();
        self.bytes = self.places.iter().map(|place| place.frame.bytes().len()).sum();
    }

    /// Bytes of memory, if no other connection kept the same frames.
    pub(super) fn kept(&self) -> usize {
        self.bytes + self.places.capacity() * size_of::<Place>()
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
