//! The middle of a few values and how far they spread around it.

/// The lower median: with an even number of values, the lower of the two in the middle; `None`
/// without values.
#[must_use]
pub fn lower_median<T: Copy + Ord>(values: impl Iterator<Item = T>) -> Option<T> {
    let mut sorted: Vec<T> = values.collect();
    let middle = sorted.len().checked_sub(1)? / 2;
    let (_, median, _) = sorted.select_nth_unstable(middle);
    Some(*median)
}

/// The upper median: with an even number of values, the higher of the two in the middle; `None`
/// without values.
#[must_use]
pub fn upper_median(values: impl Iterator<Item = u64>) -> Option<u64> {
    lower_median(values.map(|value| !value)).map(|value| !value)
}

/// The lower median of the distances to the lower median.
#[must_use]
pub fn median_deviation(values: impl Iterator<Item = u64> + Clone) -> Option<u64> {
    let median = lower_median(values.clone())?;
    lower_median(values.map(|value| value.abs_diff(median)))
}

#[cfg(test)]
mod tests {
    use super::{lower_median, median_deviation, upper_median};

    #[test]
    fn one_of_many_does_not_move_the_middle() {
        assert_eq!(lower_median([0; 0].into_iter()), None);
        assert_eq!(lower_median([7].into_iter()), Some(7));
        assert_eq!(lower_median([9, 1].into_iter()), Some(1));
        assert_eq!(upper_median([9, 1].into_iter()), Some(9));
        assert_eq!(upper_median([5, 9, 1].into_iter()), Some(5));
        assert_eq!(lower_median([30_000, 2, 1, 3].into_iter()), Some(2));
        assert_eq!(median_deviation([30_000, 2, 1, 3].into_iter()), Some(1));
    }
}
