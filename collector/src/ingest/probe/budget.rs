//! Reads of a file within limits of memory and time: its headers say how much to read, and whoever made the
//! file wrote them.

use std::cell::Cell;
use std::ops::Range;
use std::time::{Duration, Instant};

use object::{ReadCache, ReadCacheOps, ReadRef};

/// Bytes read of a file. The tables of PyTorch's largest library have some 20 MB.
const BYTES: u64 = 96 << 20;

/// Time for all reads.
const TIME: Duration = Duration::from_secs(3);

/// What a name costs, whatever its length: the cache reads up to 4 KiB for it.
const NAME: u64 = 64;

/// A file, and what is left to read of it.
pub(super) struct Budget<F: ReadCacheOps> {
    cache: ReadCache<F>,
    left: Cell<u64>,
    begun: Instant,
}

impl<F: ReadCacheOps> Budget<F> {
    pub(super) fn new(file: F) -> Self {
        Self { cache: ReadCache::new(file), left: Cell::new(BYTES), begun: now() }
    }

    /// Whether a limit was reached.
    pub(super) fn is_spent(&self) -> bool {
        self.left.get() == 0
    }

    fn spend(&self, bytes: u64) -> Result<(), ()> {
        let left = self.left.get().checked_sub(bytes).filter(|_| self.begun.elapsed() < TIME);
        self.left.set(left.unwrap_or(0));
        left.map(drop).ok_or(())
    }
}

impl<'a, F: ReadCacheOps> ReadRef<'a> for &'a Budget<F> {
    fn len(self) -> Result<u64, ()> {
        self.cache.len()
    }

    fn read_bytes_at(self, offset: u64, size: u64) -> Result<&'a [u8], ()> {
        self.spend(size)?;
        self.cache.read_bytes_at(offset, size)
    }

    fn read_bytes_at_until(self, range: Range<u64>, delimiter: u8) -> Result<&'a [u8], ()> {
        self.spend(NAME)?;
        let name = self.cache.read_bytes_at_until(range, delimiter);
        self.spend(name.map_or(4096, |name| name.len() as u64))?;
        name
    }
}

#[expect(clippy::disallowed_methods, reason = "reading a file takes limited time")]
fn now() -> Instant {
    Instant::now()
}
