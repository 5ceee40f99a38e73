//! Registered memory: regions, their invented virtual addresses and their keys.

use std::ops::Range;

use fastrand::Rng;

use super::super::{Region, RegionId};
use super::packet::Target;

const PAGE: u64 = 4096;

/// The regions of an adapter. Addresses look like those of Linux mappings, but nothing is mapped
/// there: keys and bounds are checked here, not by an IOMMU.
#[derive(Debug)]
pub struct Memory {
    regions: Vec<(Region, Vec<u8>)>,
    next_address: u64,
}

impl Memory {
    /// No regions; addresses start at a random page.
    #[must_use]
    pub fn new(rng: &mut Rng) -> Self {
        Self { regions: Vec::new(), next_address: 0x7e00_0000_0000 + rng.u64(..1 << 27) * PAGE }
    }

    /// Creates a zeroed region.
    pub fn register(&mut self, bytes: usize, rng: &mut Rng) -> Region {
        let mut key = rng.u32(0x1000..);
        while self.regions.iter().any(|(region, _)| region.rkey == key) {
            key = rng.u32(0x1000..);
        }
        let address = self.next_address;
        self.next_address += (bytes as u64).next_multiple_of(PAGE) + rng.u64(1..16) * PAGE;
        let region = Region { id: RegionId(self.regions.len()), address, rkey: key, lkey: key };
        self.regions.push((region, vec![0; bytes]));
        region
    }

    /// The content of a region; empty if there is no such region.
    #[must_use]
    pub fn get(&self, id: RegionId) -> &[u8] {
        self.regions.get(id.0).map_or(&[], |(_, bytes)| bytes)
    }

    /// As [`Memory::get`], mutable.
    pub fn get_mut(&mut self, id: RegionId) -> &mut [u8] {
        self.regions.get_mut(id.0).map_or(&mut [], |(_, bytes)| bytes)
    }

    /// The destination of a peer's write; `None` if its key or range is wrong. A write without
    /// bytes checks neither (specification 9.7.4.1.5).
    #[must_use]
    pub fn resolve(&self, target: Target) -> Option<(RegionId, Range<usize>)> {
        if target.bytes == 0 {
            return Some((RegionId(0), 0..0));
        }
        let (region, bytes) = self.regions.iter().find(|(region, _)| region.rkey == target.rkey)?;
        let start = usize::try_from(target.address.checked_sub(region.address)?).ok()?;
        let end = start.checked_add(usize::try_from(target.bytes).ok()?)?;
        (end <= bytes.len()).then_some((region.id, start..end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_stays_within_the_region_of_its_key() {
        let mut rng = Rng::with_seed(1);
        let mut memory = Memory::new(&mut rng);
        let first = memory.register(5000, &mut rng);
        let second = memory.register(10, &mut rng);
        let resolve = |address, rkey, bytes| memory.resolve(Target { address, rkey, bytes });

        assert_eq!(resolve(first.address + 4990, first.rkey, 10), Some((first.id, 4990..5000)));
        assert_eq!(resolve(first.address + 4991, first.rkey, 10), None);
        assert_eq!(resolve(first.address - 1, first.rkey, 10), None);
        assert_eq!(resolve(u64::MAX, first.rkey, u32::MAX), None);
        assert_eq!(resolve(first.address, second.rkey, 1), None);
        assert_eq!(resolve(0, 0, 0), Some((RegionId(0), 0..0)));
        assert_eq!(first.address % PAGE, 0);
        assert!(first.address >> 47 == 0);
    }
}
