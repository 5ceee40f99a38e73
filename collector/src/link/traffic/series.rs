//! A list that grows at its end, in pieces: what was pushed is never moved again, and of the room
//! that is made only what is used is touched. What is oldest can be forgotten.

/// Items of the largest piece.
const PIECE: usize = 512;

/// Items in the order in which they were pushed.
#[derive(Clone, Debug)]
pub struct Series<T> {
    pieces: Vec<Vec<T>>,
}

impl<T> Default for Series<T> {
    fn default() -> Self {
        Self { pieces: Vec::new() }
    }
}

impl<T> Series<T> {
    /// Adds an item.
    pub fn push(&mut self, item: T) {
        match self.pieces.last_mut() {
            Some(piece) if piece.len() < piece.capacity() => piece.push(item),
            last => {
                // Most flows are short: pieces start small.
                let capacity = last.map_or(4, |piece| (piece.len() * 2).min(PIECE));
                let mut piece = Vec::with_capacity(capacity);
                piece.push(item);
                self.pieces.push(piece);
            }
        }
    }

    /// Whether there is none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Forgets the oldest items, as long as `is_old` holds for them and more than `kept` are left;
    /// the last of them, and how many they were.
    pub fn forget(&mut self, kept: usize, is_old: impl Fn(&T) -> bool) -> Option<(T, usize)> {
        let most = self.pieces.iter().map(Vec::len).sum::<usize>().saturating_sub(kept);
        let count = self.iter().take(most).take_while(|item| is_old(item)).count();
        let mut left = count;
        let mut last = None;
        while let Some(piece) = self.pieces.first_mut().filter(|_| left > 0) {
            let here = left.min(piece.len());
            left -= here;
            last = piece.drain(..here).next_back();
            if piece.is_empty() {
                self.pieces.remove(0);
            }
        }
        last.map(|last| (last, count))
    }

    /// The latest one.
    #[must_use]
    pub fn last(&self) -> Option<&T> {
        self.pieces.last()?.last()
    }

    /// The items, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.pieces.iter().flatten()
    }

    /// The items, oldest first, to be changed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.pieces.iter_mut().flatten()
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
    fn the_oldest_are_forgotten() {
        let mut series = Series::default();
        (0..10_000).for_each(|item| series.push(item));
        assert_eq!(series.forget(0, |item| *item < 0), None);
        assert_eq!(series.forget(0, |item| *item < 1_300), Some((1_299, 1_300)));
        assert!(series.iter().copied().eq(1_300..10_000));
        series.push(10_000);
        assert_eq!(series.forget(7, |_| true), Some((9_993, 8_694)));
        assert!(series.iter().copied().eq(9_994..=10_000));
        assert_eq!(series.forget(0, |_| true), Some((10_000, 7)));
        assert!(series.is_empty());
    }
}
