//! Distributes overlapping slices to lanes: a viewer stacks nested slices, but garbles partly overlapping
//! ones.

/// The lane of each of these spans, in order of their starts: the first free one.
pub(super) fn assign(spans: impl IntoIterator<Item = (i64, i64)>) -> Vec<usize> {
    let mut ends: Vec<i64> = Vec::new();
    let mut lanes = Vec::new();
    for (start, end) in spans {
        let free = ends.iter().position(|last| *last <= start);
        match free {
            Some(lane) => ends[lane] = end,
            None => ends.push(end),
        }
        lanes.push(free.unwrap_or(ends.len() - 1));
    }
    lanes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_lane_holds_two_at_once() {
        assert_eq!(assign([(0, 10), (5, 8), (8, 9), (10, 12), (11, 13)]), [0, 1, 1, 0, 1]);
        assert_eq!(assign([(0, 0), (0, 0)]), [0, 0]);
    }
}
