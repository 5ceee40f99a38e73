//! Frames of bootstrap rings, each kept once: a rank passes on what it received, so the same frame appears
//! on every connection of its ring, and most connections are seen at two taps.

use std::hash::BuildHasher;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use foldhash::fast::RandomState;
use hashbrown::HashTable;

/// Fewest entries at which those are looked for whose frame nobody keeps.
const FIRST_SWEEP: usize = 64;

/// What a frame takes besides its bytes: itself with the counts of its `Arc`, and two slots of the table.
const FRAME_COST: usize =
    size_of::<SharedFrame>() + 2 * size_of::<usize>() + 2 * size_of::<Entry>();

/// A frame, which goes when the last connection drops it. Its bytes are in a box, because the `Weak` of an entry
/// keeps the allocation of the `Arc`.
#[derive(Debug)]
pub(super) struct SharedFrame {
    bytes: Box<[u8]>,
    kept: Arc<AtomicUsize>,
}

impl SharedFrame {
    fn new(bytes: &[u8], kept: &Arc<AtomicUsize>) -> Arc<Self> {
        kept.fetch_add(FRAME_COST + bytes.len(), Ordering::Relaxed);
        Arc::new(Self { bytes: bytes.into(), kept: Arc::clone(kept) })
    }

    pub(super) const fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for SharedFrame {
    fn drop(&mut self) {
        self.kept.fetch_sub(FRAME_COST + self.bytes.len(), Ordering::Relaxed);
    }
}

/// Finds frames that some connection keeps.
#[derive(Debug, Default)]
pub(super) struct FramePool {
    entries: HashTable<Entry>,
    hasher: RandomState,
    sweep_at: usize,
    kept: Arc<AtomicUsize>,
}

#[derive(Debug)]
struct Entry {
    hash: u64,
    frame: Weak<SharedFrame>,
}

/// A copy is made to report what is known, and gets next to no frames: it finds none of those that are kept, but
/// counts them, because its connections keep them.
impl Clone for FramePool {
    fn clone(&self) -> Self {
        Self { kept: Arc::clone(&self.kept), ..Self::default() }
    }
}

impl FramePool {
    /// The frame with these bytes: the one that is kept, else a new one.
    pub(super) fn share(&mut self, bytes: &[u8]) -> Arc<SharedFrame> {
        let hash = self.hasher.hash_one(bytes);
        let similar = self.entries.iter_hash(hash).filter(|entry| entry.hash == hash);
        let mut frames = similar.filter_map(|entry| entry.frame.upgrade());
        if let Some(known) = frames.find(|frame| frame.bytes() == bytes) {
            return known;
        }
        let frame = SharedFrame::new(bytes, &self.kept);
        let entry = Entry { hash, frame: Arc::downgrade(&frame) };
        // Or a frame that comes and goes all the time would leave an entry each time.
        let is_free = |entry: &Entry| entry.hash == hash && entry.is_free();
        match self.entries.find_mut(hash, is_free) {
            Some(free) => *free = entry,
            None => self.insert(entry),
        }
        frame
    }

    /// Drops the entries whose frame nobody keeps.
    pub(super) fn sweep(&mut self) {
        self.entries.retain(|entry| !entry.is_free());
        self.sweep_at = (2 * self.entries.len()).max(FIRST_SWEEP);
        self.entries.shrink_to(self.sweep_at, |entry| entry.hash);
    }

    /// Bytes of memory of all frames that are kept.
    pub(super) fn kept(&self) -> usize {
        self.kept.load(Ordering::Relaxed)
    }

    fn insert(&mut self, entry: Entry) {
        if self.entries.len() >= self.sweep_at {
            self.sweep();
        }
        self.entries.insert_unique(entry.hash, entry, |entry| entry.hash);
    }
}

impl Entry {
    fn is_free(&self) -> bool {
        self.frame.strong_count() == 0
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
        assert_eq!(pool.kept(), FRAME_COST + 18);
        let other = pool.share(b"topology of rank 4");
        assert!(!Arc::ptr_eq(&first, &other) && other.bytes() == b"topology of rank 4");
        drop((first, other));
        assert_eq!(pool.kept(), 0);
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
        drop(kept);
        pool.sweep();
        assert_eq!((pool.entries.len(), pool.kept()), (0, 0));
    }

    #[test]
    fn a_frame_that_comes_and_goes_has_one_entry() {
        let mut pool = FramePool::default();
        let kept: Vec<_> = (0..1000_u32).map(|number| pool.share(&number.to_le_bytes())).collect();
        for _ in 0..100_000 {
            pool.share(b"");
        }
        assert_eq!(pool.entries.len(), kept.len() + 1);
    }
}
