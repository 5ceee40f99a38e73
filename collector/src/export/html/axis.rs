//! Places along a chart in percent of its width, so that a chart fits any window, and round times to
//! mark on it.

use super::markup::{Element, Markup};

/// Marks wanted on an axis.
const MARKS: i64 = 5;

/// The time that a chart covers, relative to the origin of the report.
#[derive(Clone, Copy, Debug)]
pub(super) struct Axis {
    pub(super) start_ns: i64,
    pub(super) end_ns: i64,
}

impl Axis {
    pub(super) fn new(start_ns: i64, end_ns: i64) -> Self {
        Self { start_ns, end_ns: end_ns.max(start_ns.saturating_add(1)) }
    }

    pub(super) fn length_ns(self) -> f64 {
        (self.end_ns - self.start_ns) as f64
    }

    /// Where a time is, 0 to 1.
    pub(super) fn share(self, at_ns: i64) -> f64 {
        ((at_ns.saturating_sub(self.start_ns)) as f64 / self.length_ns()).clamp(0.0, 1.0)
    }

    /// Round times on it.
    fn marks(self) -> Vec<i64> {
        let apart = round_up((self.end_ns - self.start_ns) / MARKS);
        let first =
            self.start_ns.div_euclid(apart) + i64::from(self.start_ns.rem_euclid(apart) > 0);
        let marks = (first..).map(|at| at.saturating_mul(apart));
        marks.take_while(|at| *at <= self.end_ns).take(4 * MARKS as usize).collect()
    }

    /// The line below a chart.
    pub(super) fn markup(self) -> Markup {
        let marks = self.marks();
        let apart = marks.get(..2).map_or(1, |two| two[1] - two[0]);
        let texts = marks.iter().map(|at| {
            let share = self.share(*at);
            let anchor = match share {
                ..0.04 => "start",
                0.96.. => "end",
                _ => "middle",
            };
            let text = Element::new("text").with("x", percent(share)).with("y", 14);
            text.with("text-anchor", anchor).text(mark(*at, apart))
        });
        view(Element::new("svg").class("marks").with("height", 18), texts)
    }
}

/// The least of 1, 2 and 5 times a power of ten that is no less.
fn round_up(value: i64) -> i64 {
    let mut power: i64 = 1;
    while power.saturating_mul(10) <= value {
        power = power.saturating_mul(10);
    }
    let found = [1, 2, 5, 10].into_iter().map(|times| power.saturating_mul(times));
    found.into_iter().find(|at| *at >= value).unwrap_or(value).max(1)
}

/// `50 ms`, with as many decimals as marks that are `apart` need.
fn mark(at_ns: i64, apart_ns: i64) -> String {
    let (unit_ns, unit) = match at_ns.abs().max(apart_ns) {
        ..1_000 => (1.0, "ns"),
        1_000..1_000_000 => (1e3, "us"),
        1_000_000..1_000_000_000 => (1e6, "ms"),
        _ => (1e9, "s"),
    };
    let decimals = (-(apart_ns as f64 / unit_ns).log10().floor()).clamp(0.0, 9.0) as usize;
    format!("{:.decimals$} {unit}", at_ns as f64 / unit_ns)
}

/// A share of 0 to 1 as a coordinate.
pub(super) fn percent(share: f64) -> String {
    let text = format!("{:.3}", share * 100.0);
    format!("{}%", text.trim_end_matches('0').trim_end_matches('.'))
}

/// `content` in a nested view, which a script moves and widens.
pub(super) fn view<M: Into<Markup>>(
    chart: Element,
    content: impl IntoIterator<Item = M>,
) -> Markup {
    let nested = Element::new("svg").class("view").with("width", "100%").children(content);
    chart.with("width", "100%").child(nested).into()
}

/// A rectangle: place and width as shares, top and height in pixels.
pub(super) fn rectangle(x: f64, width: f64, y: f64, height: f64) -> Element {
    let round = |value: f64| format!("{value:.1}");
    Element::new("rect")
        .with("x", percent(x))
        .with("y", round(y))
        .with("width", percent(width))
        .with("height", round(height.max(0.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_round_and_inside() {
        let axis = Axis::new(-3_000_000, 182_000_000);
        assert_eq!(axis.marks(), [0, 50_000_000, 100_000_000, 150_000_000]);
        assert_eq!(mark(150_000_000, 50_000_000), "150 ms");
        assert_eq!(mark(1_500_000_000, 500_000_000), "1.5 s");
        assert_eq!(mark(0, 500_000_000), "0 ms");
        assert_eq!(Axis::new(5, 5).marks(), [5, 6]);
    }

    #[test]
    fn places_are_percentages() {
        assert_eq!(percent(0.5), "50%");
        assert_eq!(percent(1.0 / 3.0), "33.333%");
        assert_eq!(percent(0.0), "0%");
    }
}
