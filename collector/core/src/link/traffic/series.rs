//! A list that grows at its end in pieces: items are never moved, and allocated memory is touched
//! only when used. The oldest items can be dropped.
//!
//! Copies share full pieces, so copying millions of items costs next to nothing.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// Items of the largest piece.
const PIECE: usize = 128;

/// Items in insertion order.
#[derive(Debug, Serialize, Deserialize)]
pub struct Series<T> {
    /// Each piece has at least one item.
    full: Vec<Arc<Vec<T>>>,
    latest: Vec<T>,
}

impl<T> Default for Series<T> {
    fn default() -> Self {
        Self { full: Vec::new(), latest: Vec::new() }
    }
}

impl<T: Clone> Clone for Series<T> {
    fn clone(&self) -> Self {
        // With the same room, or the next item would begin another piece.
        let mut latest = Vec::with_capacity(self.latest.capacity());
        latest.extend_from_slice(&self.latest);
        Self { full: self.full.clone(), latest }
    }
}

impl<T: Clone> Series<T> {
    /// Adds an item.
    pub fn push(&mut self, item: T) {
        if self.latest.len() == self.latest.capacity() {
            // Most flows are short: pieces start small, and about a third of the room may be empty.
            let is_large = self.latest.len() >= PIECE;
            let capacity = if is_large { PIECE } else { (self.len() / 2).clamp(4, PIECE) };
            let full = std::mem::replace(&mut self.latest, Vec::with_capacity(capacity));
            if !full.is_empty() {
                self.full.push(Arc::new(full));
            }
        }
        self.latest.push(item);
    }

    /// How many items there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.full.iter().map(|piece| piece.len()).sum::<usize>() + self.latest.len()
    }

    /// Whether it is empty.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.full.is_empty() && self.latest.is_empty()
    }

    /// Drops the oldest items while `is_old` holds and more than `kept` are left; returns their number.
    pub fn forget(&mut self, kept: usize, is_old: impl Fn(&T) -> bool) -> usize {
        let most = self.len().saturating_sub(kept);
        let count = self.iter().take(most).take_while(|item| is_old(item)).count();
        if count == 0 {
            return 0;
        }
        let mut left = count;
        self.full.retain_mut(|piece| {
            let here = left.min(piece.len());
            left -= here;
            let is_kept = here < piece.len();
            if is_kept && here > 0 {
                // What stays of a flow that ended stays for long.
                *piece = Arc::new(piece.get(here..).unwrap_or_default().to_vec());
            }
            is_kept
        });
        self.latest.drain(..left);
        if self.latest.capacity() > 2 * self.latest.len() {
            self.latest.shrink_to_fit();
        }
        count
    }

    /// Drops the items for which `is_kept` does not hold; returns their number.
    pub fn retain(&mut self, is_kept: impl Fn(&T) -> bool) -> usize {
        let dropped = self.iter().filter(|item| !is_kept(item)).count();
        if dropped > 0 {
            let mut kept = Self::default();
            self.iter().filter(|item| is_kept(item)).for_each(|item| kept.push(item.clone()));
            *self = kept;
        }
        dropped
    }

    /// The latest item.
    #[must_use]
    pub fn last(&self) -> Option<&T> {
        self.latest.last().or_else(|| self.full.last()?.last())
    }

    /// The items, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.full.iter().flat_map(|piece| piece.iter()).chain(&self.latest)
    }

    /// The items, oldest first, mutable.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        let full = self.full.iter_mut().flat_map(|piece| Arc::make_mut(piece).iter_mut());
        full.chain(&mut self.latest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_come_in_order() {
        let mut series = Series::default();
        assert!(series.is_empty());
        for item in 0..10_000 {
            series.push(item);
        }
        assert!(!series.is_empty());
        assert!(series.iter().copied().eq(0..10_000));
    }

    #[test]
    fn little_room_is_empty() {
        let mut series = Series::default();
        for item in 1..2_000 {
            series.push(item);
            let full: usize = series.full.iter().map(|piece| piece.capacity()).sum();
            let room = full + series.latest.capacity();
            assert!(room <= (item * 3 / 2).max(item + 3), "{room} for {item}");
        }
    }

    #[test]
    fn the_oldest_are_forgotten() {
        let mut series = Series::default();
        (0..10_000).for_each(|item| series.push(item));
        assert_eq!(series.forget(0, |item| *item < 0), 0);
        assert_eq!(series.forget(0, |item| *item < 1_300), 1_300);
        assert!(series.iter().copied().eq(1_300..10_000));
        series.push(10_000);
        assert_eq!(series.forget(7, |_| true), 8_694);
        assert!(series.iter().copied().eq(9_994..=10_000));
        assert_eq!(series.forget(0, |_| true), 7);
        assert!(series.is_empty());
    }

    #[test]
    fn a_copy_stays_what_it_is() {
        let mut series = Series::default();
        (0..10_000).for_each(|item| series.push(item));
        let copy = series.clone();
        series.iter_mut().for_each(|item| *item += 1);
        series.push(10_001);
        series.forget(0, |item| *item < 700);
        assert!(series.iter().copied().eq(700..=10_001));
        assert!(copy.iter().copied().eq(0..10_000));
    }
}
