//! The lower convex hull of points in order of time: everything that a straight line below the
//! points can touch.

/// A point: a time and its bound, both in nanoseconds.
pub(super) type Point = (i64, i64);

/// The hull. Coordinates must lie within 2^61, so that products of their differences fit 128 bits.
#[derive(Clone, Debug, Default)]
pub(super) struct Hull {
    vertices: Vec<Point>,
}

impl Hull {
    /// Adds the next point; its time is not before the previous one's.
    pub(super) fn push(&mut self, point: Point) {
        if let Some(last) = self.vertices.last()
            && last.0 == point.0
        {
            if last.1 <= point.1 {
                return;
            }
            self.vertices.pop();
        }
        // Andrew's monotone chain: removes points on or above the chord to the new point.
        while let [.., before, last] = self.vertices[..] {
            if turns_up(before, last, point) {
                break;
            }
            self.vertices.pop();
        }
        self.vertices.push(point);
    }

    /// Whether it has no point.
    #[must_use]
    pub(super) const fn is_empty(&self) -> bool {
        self.vertices.is_empty()
    }

    /// The largest height at time 0 of a line with this slope that is not above any point; infinite
    /// without points.
    #[must_use]
    pub(super) fn support(&self, slope: f64) -> f64 {
        let heights =
            self.vertices.iter().map(|(time, value)| *value as f64 - slope * *time as f64);
        heights.fold(f64::INFINITY, f64::min)
    }

    /// The slopes of its edges, ascending.
    pub(super) fn slopes(&self) -> impl Iterator<Item = f64> + '_ {
        let edges = self.vertices.iter().zip(self.vertices.iter().skip(1));
        edges.map(|(one, other)| (other.1 - one.1) as f64 / (other.0 - one.0) as f64)
    }

    /// The slope of the edge over `time`, if there is one.
    #[must_use]
    pub(super) fn slope_at(&self, time: i64) -> Option<f64> {
        let at = self.vertices.partition_point(|vertex| vertex.0 <= time);
        self.slopes().nth(at.checked_sub(1)?)
    }
}

/// Whether the path from `a` over `b` to `c` turns upwards at `b`.
fn turns_up(a: Point, b: Point, c: Point) -> bool {
    let difference = |one: i64, other: i64| i128::from(other) - i128::from(one);
    difference(a.0, b.0) * difference(b.1, c.1) > difference(a.1, b.1) * difference(b.0, c.0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// A line at its support lies below all points and touches one.
        #[test]
        fn a_supporting_line_touches(
            mut points in prop::collection::vec((0_i64..10_000, -10_000_i64..10_000), 1..60),
            slope in -3.0_f64..3.0,
        ) {
            points.sort_unstable();
            let mut hull = Hull::default();
            points.iter().for_each(|point| hull.push(*point));
            let heights = points.iter().map(|(x, y)| *y as f64 - slope * *x as f64);
            prop_assert_eq!(hull.support(slope), heights.fold(f64::INFINITY, f64::min));
            let slopes: Vec<f64> = hull.slopes().collect();
            prop_assert!(slopes.is_sorted_by(|one, other| one < other));
        }
    }

    #[test]
    fn coordinates_of_decades_do_not_overflow() {
        let far = 1 << 61;
        let mut hull = Hull::default();
        for point in [(-far, far), (0, -far), (far, far)] {
            hull.push(point);
        }
        assert_eq!(hull.vertices.len(), 3);
        assert!(hull.support(0.0) <= -(far as f64));
    }
}
