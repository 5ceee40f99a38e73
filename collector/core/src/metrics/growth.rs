//! Growth of sums since they were last read.

use std::collections::BTreeMap;

/// Sums that are read repeatedly, by key. If the first sum falls, or the span begins after the
/// known one ended, the key was reused: its sums count in full.
#[derive(Clone, Debug)]
pub(super) struct Growth<K, const N: usize> {
    known: BTreeMap<K, Sums<N>>,
}

/// Sums of one key; `None` if unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sums<const N: usize> {
    /// Begin and end, on any monotonic clock.
    pub(super) span: (u64, u64),
    pub(super) sums: [Option<u64>; N],
}

impl<K: Ord, const N: usize> Default for Growth<K, N> {
    fn default() -> Self {
        Self { known: BTreeMap::new() }
    }
}

impl<const N: usize> Sums<N> {
    /// Sums of a key that is never reused.
    pub(super) const fn timeless(sums: [Option<u64>; N]) -> Self {
        Self { span: (0, 0), sums }
    }

    /// The larger of each sum: both see the same, but maybe not all of it.
    pub(super) fn join(&mut self, other: Self) {
        self.span = (self.span.0.min(other.span.0), self.span.1.max(other.span.1));
        self.sums.iter_mut().zip(other.sums).for_each(|(one, other)| *one = (*one).max(other));
    }

    /// Growth since `earlier`. A sum that is no longer known keeps its last value.
    fn since(&mut self, earlier: Option<&Self>) -> [Option<u64>; N] {
        let same = earlier.filter(|earlier| !self.began_after(earlier));
        let mut grown = [None; N];
        for (at, grown) in grown.iter_mut().enumerate() {
            let before = same.and_then(|same| same.sums.get(at).copied().flatten());
            let Some(now) = self.sums.get_mut(at) else { continue };
            *grown = now.map(|now| now.saturating_sub(before.unwrap_or(0)));
            *now = (*now).max(before);
        }
        grown
    }

    fn began_after(&self, earlier: &Self) -> bool {
        let first = |sums: &Self| sums.sums.first().copied().flatten();
        self.span.0 > earlier.span.1 || first(self) < first(earlier)
    }
}

impl<K: Ord, const N: usize> Growth<K, N> {
    /// Growth of all keys in `now`; keys that are missing are forgotten.
    pub(super) fn read(
        &mut self,
        mut now: BTreeMap<K, Sums<N>>,
        mut grown: impl FnMut(&K, [Option<u64>; N]),
    ) {
        for (key, sums) in &mut now {
            grown(key, sums.since(self.known.get(key)));
        }
        self.known = now;
    }

    /// The same for known keys only; others are skipped, and none is forgotten.
    pub(super) fn read_known(
        &mut self,
        now: BTreeMap<K, Sums<N>>,
        mut grown: impl FnMut(&K, [Option<u64>; N]),
    ) {
        for (key, mut sums) in now {
            let Some(known) = self.known.get_mut(&key) else { continue };
            grown(&key, sums.since(Some(known)));
            *known = sums;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(growth: &mut Growth<u8, 2>, now: Option<Sums<2>>) -> Option<[Option<u64>; 2]> {
        let mut grown = None;
        growth.read(now.map(|sums| (1, sums)).into_iter().collect(), |_, by| grown = Some(by));
        grown
    }

    #[test]
    fn what_has_grown_counts_once() {
        let mut growth = Growth::default();
        let sums = |span, first, second| Some(Sums { span, sums: [Some(first), second] });
        let grown = |first, second| Some([Some(first), second]);
        assert_eq!(read(&mut growth, sums((10, 20), 5, None)), grown(5, None));
        assert_eq!(read(&mut growth, sums((10, 30), 7, Some(4))), grown(2, Some(4)), "known late");
        assert_eq!(read(&mut growth, sums((10, 40), 8, None)), grown(1, None));
        assert_eq!(read(&mut growth, sums((10, 50), 9, Some(5))), grown(1, Some(1)), "known again");
        assert_eq!(read(&mut growth, sums((10, 60), 2, Some(1))), grown(2, Some(1)), "it fell");
        assert_eq!(read(&mut growth, sums((70, 80), 3, Some(1))), grown(3, Some(1)), "another one");
        let all = |sums: Option<Sums<2>>| sums.into_iter().flat_map(|one| [(1, one), (2, one)]);
        let mut known = Vec::new();
        growth.read_known(all(sums((70, 90), 5, Some(1))).collect(), |key, by| {
            known.push((*key, by));
        });
        assert_eq!(known, [(1, [Some(2), Some(0)])], "the other was never read");
        assert_eq!(read(&mut growth, sums((70, 95), 6, Some(1))), grown(1, Some(0)));
        growth.read_known(BTreeMap::new(), |_, _| unreachable!());
        assert_eq!(read(&mut growth, sums((70, 95), 6, Some(1))), grown(0, Some(0)), "still known");
        assert_eq!(read(&mut growth, None), None);
        assert_eq!(read(&mut growth, sums((70, 90), 3, Some(1))), grown(3, Some(1)), "forgotten");
    }
}
