//! A list that only grows, in pieces: what was pushed is never moved again, and of the room that is
//! made only what is used is touched.

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

    /// Whether nothing was pushed.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.pieces.is_empty()
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
}
