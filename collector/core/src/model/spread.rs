//! The middle of a few values and how far they spread around it.

/// The lower median: with an even number of values, the lower of the two in the middle; `None`
/// without values.
#[must_use]
pub fn lower_median<T: Ord + Copy>(values: impl Iterator<Item = T>) -> Option<T> {
    median(values, |last| last / 2)
}

/// The upper median: with an even number of values, the higher of the two in the middle; `None`
/// without values.
#[must_use]
pub fn upper_median<T: Ord + Copy>(values: impl Iterator<Item = T>) -> Option<T> {
    median(values, |last| last.div_ceil(2))
}

/// The value that a quarter of the values reach or exceed; `None` without values.
#[must_use]
pub fn upper_quartile<T: Ord + Copy>(values: impl Iterator<Item = T>) -> Option<T> {
    median(values, |last| last.saturating_sub(last / 4))
}

/// The value at place `middle` of the sorted values, by the place of the last one.
fn median<T: Ord + Copy>(values: impl Iterator<Item = T>, middle: fn(usize) -> usize) -> Option<T> {
    let mut values: Vec<T> = values.collect();
    let last = values.len().checked_sub(1)?;
    let (_, median, _) = values.select_nth_unstable(middle(last));
    Some(*median)
}

/// The lower median of `sorted` without `own`, which is one of them; `None` if there is no other.
#[must_use]
pub fn lower_median_of_others<T: Ord + Copy>(sorted: &[T], own: T) -> Option<T> {
    let middle = sorted.len().checked_sub(2)? / 2;
    let place = sorted.partition_point(|value| *value < own);
    sorted.get(if place <= middle { middle + 1 } else { middle }).copied()
}

/// The lower median of the distances to the lower median.
#[must_use]
pub fn median_deviation(values: impl Iterator<Item = u64> + Clone) -> Option<u64> {
    let median = lower_median(values.clone())?;
    lower_median(values.map(|value| value.abs_diff(median)))
}

#[cfg(test)]
mod tests {
    use super::{
        lower_median, lower_median_of_others, median_deviation, upper_median, upper_quartile,
    };

    #[test]
    fn the_median_of_the_others_leaves_out_one_value() {
        assert_eq!(lower_median_of_others(&[7], 7), None);
        assert_eq!(lower_median_of_others(&[3, 9], 9), Some(3));
        assert_eq!(lower_median_of_others(&[3, 9], 3), Some(9));
        assert_eq!(lower_median_of_others(&[1, 2, 3, 4], 1), Some(3));
        assert_eq!(lower_median_of_others(&[1, 2, 3, 4], 4), Some(2));
        assert_eq!(lower_median_of_others(&[2, 2, 2, 8], 2), Some(2));
    }

    #[test]
    fn one_of_many_does_not_move_the_middle() {
        assert_eq!(lower_median::<u64>([].into_iter()), None);
        assert_eq!(lower_median([7].into_iter()), Some(7));
        assert_eq!(lower_median([9, 1].into_iter()), Some(1));
        assert_eq!(upper_median([9, 1].into_iter()), Some(9));
        assert_eq!(upper_median([5, 9, 1].into_iter()), Some(5));
        assert_eq!(upper_quartile([9, 1].into_iter()), Some(9));
        assert_eq!(upper_quartile(1..=8), Some(7));
        assert_eq!(upper_quartile::<u64>([].into_iter()), None);
        assert_eq!(lower_median([30_000, 2, 1, 3].into_iter()), Some(2));
        assert_eq!(median_deviation([30_000, 2, 1, 3].into_iter()), Some(1));
    }
}
