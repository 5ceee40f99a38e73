//! Frames of bootstrap rings, each kept once: a rank passes on what it received, so one frame goes over
//! all connections of a ring, and over most of them past two taps.

use std::hash::BuildHasher;
use std::sync::{Arc, Weak};

use foldhash::fast::RandomState;
use hashbrown::HashTable;

/// Fewest entries at which those without a frame are looked for.
const FIRST_SWEEP: usize = 64;

/// The bytes of a frame, which go when the last connection drops them.
#[derive(Debug)]
pub(super) struct SharedFrame(Box<[u8]>);

impl SharedFrame {
    pub(super) const fn bytes(&self) -> &[u8] {
        &self.0
    }
}

/// Finds frames that some connection keeps.
#[derive(Clone, Debug, Default)]
pub(super) struct FramePool {
    entries: HashTable<Entry>,
    hasher: RandomState,
    sweep_at: usize,
}

#[derive(Clone, Debug)]
struct Entry {
    hash: u64,
    frame: Weak<SharedFrame>,
}

impl FramePool {
    /// The frame with these bytes: the one that is kept, else a new one.
    pub(super) fn share(&mut self, bytes: &[u8]) -> Arc<SharedFrame> {
        let hash = self.hasher.hash_one(bytes);
        let kept = self.entries.iter_hash(hash).filter(|entry| entry.hash == hash);
        let mut kept = kept.filter_map(|entry| entry.frame.upgrade());
        if let Some(kept) = kept.find(|kept| kept.bytes() == bytes) {
            return kept;
        }
        if self.entries.len() >= self.sweep_at {
            self.entries.retain(|entry| entry.frame.strong_count() > 0);
            self.sweep_at = (2 * self.entries.len()).max(FIRST_SWEEP);
            self.entries.shrink_to(self.sweep_at, |entry| entry.hash);
        }
        let frame = Arc::new(SharedFrame(bytes.into()));
        let entry = Entry { hash, frame: Arc::downgrade(&frame) };
        self.entries.insert_unique(hash, entry, |entry| entry.hash);
        frame
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_frames_are_one_as_long_as_somebody_keeps_it() {
        let mut pool = FramePool::default();
        let first = pool.share(b"topology of rank 3");
        assert!(Arc::ptr_eq(&first, &pool.share(b"topology of rank 3")));
        let other = pool.share(b"topology of rank 4");
        assert!(!Arc::ptr_eq(&first, &other) && other.bytes() == b"topology of rank 4");
        drop(first);
        assert_eq!(Arc::strong_count(&pool.share(b"topology of rank 3")), 1);
    }

    #[test]
    fn what_nobody_keeps_is_swept() {
        let mut pool = FramePool::default();
        let kept: Vec<_> = (0..1000_u32).map(|number| pool.share(&number.to_le_bytes())).collect();
        for number in 1000..100_000_u32 {
            pool.share(&number.to_le_bytes());
            assert!(pool.entries.len() <= 2 * kept.len());
        }
        for (number, kept) in kept.iter().enumerate() {
            assert!(Arc::ptr_eq(kept, &pool.share(&(number as u32).to_le_bytes())));
        }
    }
}
