//! Values that several connections have in common, each kept once as long as one of them keeps it, and counted.

use std::borrow::Borrow;
use std::hash::{BuildHasher, Hash};
use std::ops::Deref;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use foldhash::fast::RandomState;
use hashbrown::HashTable;

/// Fewest entries at which those are looked for whose value nobody keeps.
const FIRST_SWEEP: usize = 64;

/// What can be kept once.
pub trait Pooled: Hash + Eq {
    /// Bytes of memory besides its own.
    fn bytes_beyond(&self) -> usize;
}

/// A value, which goes when the last connection drops it.
#[derive(Debug)]
pub struct Shared<T: Pooled> {
    value: T,
    kept: Arc<AtomicUsize>,
}

impl<T: Pooled> Shared<T> {
    /// What a value takes: itself with the counts of its `Arc`, two slots of the table, and what is beyond.
    fn cost(value: &T) -> usize {
        size_of::<Self>()
            + 2 * size_of::<usize>()
            + 2 * size_of::<Entry<T>>()
            + value.bytes_beyond()
    }

    fn new(value: T, kept: &Arc<AtomicUsize>) -> Arc<Self> {
        kept.fetch_add(Self::cost(&value), Ordering::Relaxed);
        Arc::new(Self { value, kept: Arc::clone(kept) })
    }

    /// One that no pool knows.
    #[must_use]
    pub fn alone(value: T) -> Arc<Self> {
        Self::new(value, &Arc::default())
    }
}

impl<T: Pooled> Deref for Shared<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: Pooled> Drop for Shared<T> {
    fn drop(&mut self) {
        self.kept.fetch_sub(Self::cost(&self.value), Ordering::Relaxed);
    }
}

/// Finds values that some connection keeps. What is large in them is in a box, because the `Weak` of an entry keeps
/// the allocation of the `Arc`.
#[derive(Debug)]
pub(super) struct Pool<T: Pooled> {
    entries: HashTable<Entry<T>>,
    hasher: RandomState,
    sweep_at: usize,
    kept: Arc<AtomicUsize>,
}

#[derive(Debug)]
struct Entry<T: Pooled> {
    hash: u64,
    value: Weak<Shared<T>>,
}

impl<T: Pooled> Default for Pool<T> {
    fn default() -> Self {
        Self {
            entries: HashTable::new(),
            hasher: RandomState::default(),
            sweep_at: 0,
            kept: Arc::default(),
        }
    }
}

/// A copy is made to report what is known, and gets next to nothing: it finds none of the values that are kept, but
/// counts them, because its connections keep them.
impl<T: Pooled> Clone for Pool<T> {
    fn clone(&self) -> Self {
        Self { kept: Arc::clone(&self.kept), ..Self::default() }
    }
}

impl<T: Pooled> Pool<T> {
    /// The value that equals `value`: the one that is kept, else a new one, which `own` makes.
    pub(super) fn share<Q: Hash + Eq + ?Sized>(
        &mut self,
        value: &Q,
        own: impl FnOnce() -> T,
    ) -> Arc<Shared<T>>
    where
        T: Borrow<Q>,
    {
        let hash = self.hasher.hash_one(value);
        let similar = self.entries.iter_hash(hash).filter(|entry| entry.hash == hash);
        let mut known = similar.filter_map(|entry| entry.value.upgrade());
        if let Some(known) = known.find(|known| known.value.borrow() == value) {
            return known;
        }
        let shared = Shared::new(own(), &self.kept);
        let entry = Entry { hash, value: Arc::downgrade(&shared) };
        // Or a value that comes and goes all the time would leave an entry each time.
        let is_free = |entry: &Entry<T>| entry.hash == hash && entry.is_free();
        match self.entries.find_mut(hash, is_free) {
            Some(free) => *free = entry,
            None => self.insert(entry),
        }
        shared
    }

    /// Drops the entries whose value nobody keeps.
    pub(super) fn sweep(&mut self) {
        self.entries.retain(|entry| !entry.is_free());
        self.sweep_at = (2 * self.entries.len()).max(FIRST_SWEEP);
        self.entries.shrink_to(self.sweep_at, |entry| entry.hash);
    }

    /// Bytes of memory of all values that are kept.
    pub(super) fn kept(&self) -> usize {
        self.kept.load(Ordering::Relaxed)
    }

    fn insert(&mut self, entry: Entry<T>) {
        if self.entries.len() >= self.sweep_at {
            self.sweep();
        }
        self.entries.insert_unique(entry.hash, entry, |entry| entry.hash);
    }
}

impl<T: Pooled> Entry<T> {
    fn is_free(&self) -> bool {
        self.value.strong_count() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::control::facts::RingMember;

    #[test]
    fn equal_frames_are_one_as_long_as_somebody_keeps_it() {
        let mut pool = Pool::<Box<[u8]>>::default();
        let first = pool.frame(b"topology of rank 3");
        assert!(Arc::ptr_eq(&first, &pool.frame(b"topology of rank 3")));
        let frame: Box<[u8]> = b"topology of rank 3"[..].into();
        assert_eq!(pool.kept(), Shared::cost(&frame));
        let other = pool.frame(b"topology of rank 4");
        assert!(!Arc::ptr_eq(&first, &other) && ***other == b"topology of rank 4"[..]);
        drop((first, other));
        assert_eq!(pool.kept(), 0);
        assert_eq!(Arc::strong_count(&pool.frame(b"topology of rank 3")), 1);
    }

    #[test]
    fn what_nobody_keeps_is_swept() {
        let mut pool = Pool::<Box<[u8]>>::default();
        let kept: Vec<_> = (0..1000_u32).map(|number| pool.frame(&number.to_le_bytes())).collect();
        for number in 1000..100_000_u32 {
            pool.frame(&number.to_le_bytes());
            assert!(pool.entries.len() <= 2 * kept.len());
        }
        for (number, kept) in kept.iter().enumerate() {
            assert!(Arc::ptr_eq(kept, &pool.frame(&(number as u32).to_le_bytes())));
        }
        drop(kept);
        pool.sweep();
        assert_eq!((pool.entries.len(), pool.kept()), (0, 0));
    }

    #[test]
    fn a_frame_that_comes_and_goes_has_one_entry() {
        let mut pool = Pool::<Box<[u8]>>::default();
        let kept: Vec<_> = (0..1000_u32).map(|number| pool.frame(&number.to_le_bytes())).collect();
        for _ in 0..100_000 {
            pool.frame(b"");
        }
        assert_eq!(pool.entries.len(), kept.len() + 1);
    }

    #[test]
    fn equal_members_are_one() {
        let mut pool = Pool::<RingMember>::default();
        let member = |rank| RingMember { rank, ..RingMember::default() };
        let first = pool.share(&member(3), || member(3));
        assert!(Arc::ptr_eq(&first, &pool.share(&member(3), || member(3))));
        assert!(!Arc::ptr_eq(&first, &pool.share(&member(4), || member(4))));
        assert_eq!(pool.kept(), Shared::cost(&member(3)), "nobody keeps that of rank 4");
        drop(first);
        assert_eq!(pool.kept(), 0);
    }
}
