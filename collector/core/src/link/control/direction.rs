//! Complete frames of one direction of a ring connection, in order.

use std::collections::VecDeque;

use super::pools::SharedFrame;
use crate::model::witness::Witness;

/// Consecutive frames.
#[derive(Clone, Debug, Default)]
pub(super) struct Direction {
    received: VecDeque<Received>,
    frame_bytes: usize,
}

/// What is kept of each frame besides its bytes.
pub(super) const COST: usize = size_of::<Received>();

/// A frame, and the packet that completed it.
#[derive(Clone, Debug)]
struct Received {
    frame: SharedFrame,
    witness: Witness,
}

impl Direction {
    pub(super) fn push(&mut self, frame: SharedFrame, witness: Witness) {
        self.frame_bytes += frame.len();
        self.received.push_back(Received { frame, witness });
    }

    /// Number of frames.
    pub(super) fn len(&self) -> usize {
        self.received.len()
    }

    /// The bytes of a frame.
    pub(super) fn get(&self, at: usize) -> Option<&[u8]> {
        self.received.get(at).map(|received| &***received.frame)
    }

    /// The packet that completed a frame.
    pub(super) fn witness(&self, at: usize) -> Option<Witness> {
        self.received.get(at).map(|received| received.witness)
    }

    /// Lengths of consecutive equally long frames, with their counts; the first few.
    pub(super) fn runs(&self) -> Vec<Run> {
        let mut runs: Vec<Run> = Vec::new();
        for received in &self.received {
            let len = received.frame.len();
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
        let dropped = self.received.drain(..count.min(self.received.len()));
        self.frame_bytes -= dropped.map(|one| one.frame.len()).sum::<usize>();
        if self.received.capacity() > 4 * self.received.len() {
            self.received.shrink_to(2 * self.received.len());
        }
    }

    /// Bytes of its frames, whoever else keeps them, and of what is kept of each.
    pub(super) fn size(&self) -> usize {
        self.frame_bytes + self.received.len() * COST
    }

    /// Bytes of memory, without those of the frames.
    pub(super) fn kept(&self) -> usize {
        self.received.capacity() * COST
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::control::pools::Pools;
    use crate::model::tap::TapId;
    use crate::model::time::Timestamp;

    #[test]
    fn frames_leave_in_order_and_take_their_room_along() {
        let mut pool = Pools::default();
        let mut direction = Direction::default();
        let witness = |number| Witness::Frame { tap: TapId(0), number, time: Timestamp::EPOCH };
        for number in 0..10_000_u64 {
            direction.push(pool.frames.frame(&number.to_le_bytes()), witness(number));
        }
        direction.drop_first(0);
        assert_eq!(direction.len(), 10_000);
        direction.drop_first(9_990);
        assert_eq!(direction.get(0), Some(&9_990_u64.to_le_bytes()[..]));
        assert_eq!(direction.witness(9), Some(witness(9_999)));
        assert!(direction.kept() <= 100 * COST);
        assert_eq!(direction.size(), 10 * (8 + COST));
        direction.drop_first(11);
        assert_eq!((direction.len(), direction.kept(), pool.kept()), (0, 0, 0));
    }
}
