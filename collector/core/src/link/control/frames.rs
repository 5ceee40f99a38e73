//! Bootstrap frames: a length of 4 bytes, then as many bytes (NCCL `src/bootstrap.cc`).

use super::ends::Progress;

/// Size of the length.
const LENGTH_BYTES: usize = 4;

/// Longer than any frame: a transport set-up of 64 channels in both directions has 32 KiB.
const FRAME_LIMIT: usize = 64 << 10;

/// Reassembles the frames of one direction.
#[derive(Clone, Debug, Default)]
pub(super) struct Frames {
    partial: Vec<u8>,
}

impl Frames {
    /// Adds bytes and passes each complete frame to `take`, until it wants no more.
    pub(super) fn push(&mut self, bytes: &[u8], take: impl FnMut(&[u8]) -> Progress) -> Progress {
        // Thousands of connections wait between two frames: no room is kept for the next one.
        if self.partial.is_empty() {
            let (rest, progress) = take_frames(bytes, take);
            self.partial = rest.to_vec();
            return progress;
        }
        self.partial.extend_from_slice(bytes);
        let (rest, progress) = take_frames(&self.partial, take);
        if rest.len() < self.partial.len() {
            self.partial = rest.to_vec();
        }
        progress
    }

    /// Adds bytes that the next [`push`](Self::push) will examine.
    pub(super) fn hold(&mut self, bytes: &[u8]) -> Progress {
        self.partial.extend_from_slice(bytes);
        if self.partial.len() > FRAME_LIMIT { Progress::Oversized } else { Progress::More }
    }

    /// Bytes of an incomplete frame.
    pub(super) fn kept(&self) -> usize {
        self.partial.capacity()
    }
}

/// Passes the complete frames at the beginning of `bytes` to `take`, until it wants no more; returns what follows
/// them.
fn take_frames(bytes: &[u8], mut take: impl FnMut(&[u8]) -> Progress) -> (&[u8], Progress) {
    let mut rest = bytes;
    loop {
        let Some((length, body)) = rest.split_first_chunk::<LENGTH_BYTES>() else {
            return (rest, Progress::More);
        };
        let length = u32::from_le_bytes(*length) as usize;
        if length > FRAME_LIMIT {
            return (rest, Progress::Malformed);
        }
        let Some((frame, after)) = body.split_at_checked(length) else {
            return (rest, Progress::More);
        };
        rest = after;
        match take(frame) {
            Progress::More => {}
            end => return (rest, end),
        }
    }
}
