//! Pairs a report's collectives with the truth's: those that overlap in time, in order.

use std::ops::Range;

/// Pairs of indices, one to one and in order, whose ranges overlap by more than half of the shorter
/// one; of all such pairings, the one with the largest total overlap.
pub(super) fn by_overlap(truth: &[Range<i64>], report: &[Range<i64>]) -> Vec<(usize, usize)> {
    let width = report.len() + 1;
    // best[t][r]: the largest sum for the first `t` and `r` ranges.
    let mut best = vec![0; (truth.len() + 1) * width];
    for t in 1..=truth.len() {
        for r in 1..width {
            let with_both = best[(t - 1) * width + r - 1] + overlap(&truth[t - 1], &report[r - 1]);
            best[t * width + r] =
                with_both.max(best[(t - 1) * width + r]).max(best[t * width + r - 1]);
        }
    }
    let mut pairs = Vec::new();
    let (mut t, mut r) = (truth.len(), report.len());
    while t > 0 && r > 0 {
        let here = best[t * width + r];
        if here == best[(t - 1) * width + r] {
            t -= 1;
        } else if here == best[t * width + r - 1] {
            r -= 1;
        } else {
            t -= 1;
            r -= 1;
            pairs.push((t, r));
        }
    }
    pairs.reverse();
    pairs
}

/// Overlap in nanoseconds, if it is more than half of the shorter one; otherwise 0.
fn overlap(one: &Range<i64>, other: &Range<i64>) -> i64 {
    let len = |range: &Range<i64>| range.end - range.start;
    let common = one.end.min(other.end) - one.start.max(other.start);
    if common * 2 > len(one).min(len(other)) { common } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::by_overlap;

    #[test]
    fn order_and_overlap_decide() {
        let truth = [0..10, 10..20, 20..30, 40..50];
        assert_eq!(by_overlap(&truth, &truth), [(0, 0), (1, 1), (2, 2), (3, 3)]);
        // One missing, one in pieces, one invented.
        assert_eq!(by_overlap(&truth, &[1..9, 21..24, 24..30, 32..36]), [(0, 0), (2, 2)]);
        // Two taken for one.
        assert_eq!(by_overlap(&truth, &[0..20, 21..31]), [(0, 0), (2, 1)]);
        assert_eq!(by_overlap(&truth, &[]), []);
    }
}
