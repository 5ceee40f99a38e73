//! Congestion, loss and pause over time, on the axis of the timeline.

use super::axis::{self, Axis, rectangle};
use super::lane::{self, Lane, Piece};
use super::markup::{Element, Markup};
use super::page::{Page, moment};
use super::table::{Align, Cell, Table};
use super::timeline::{figure, name};
use crate::export::text::label;
use crate::export::text::quantity::{count, share};

/// Parts that a lane is divided into.
const BINS: usize = 240;

/// Height of a lane in pixels.
const HEIGHT: f64 = 34.0;

/// Rows of the table of ports.
const ROWS: usize = 64;

/// The section; `None` without RoCE and counters.
pub(super) fn section(page: &Page<'_>) -> Option<Element> {
    if page.queue_pairs.is_empty() && page.report.counters.is_empty() {
        return None;
    }
    let mut lanes = Vec::new();
    if !page.queue_pairs.is_empty() {
        lanes.extend([lane::marks(page), lane::cnps(page), lane::naks(page)]);
        lanes.push(lane::retransmissions(page));
    }
    lanes.extend(lane::pauses(page));
    let axis = page.axis;
    let is_drawn = lanes.iter().any(|lane| !lane.pieces.is_empty());
    let (drawn, quiet): (Vec<Lane>, Vec<Lane>) =
        lanes.into_iter().partition(|lane| !lane.pieces.is_empty());
    let chart = drawn.iter().fold(figure(axis), |figure, lane| {
        figure.child(name(&lane.name, lane.text.clone())).child(draw(axis, lane))
    });
    let chart = is_drawn.then(|| chart.child(Element::new("div")).child(axis.markup()));
    let facts = quiet.iter().map(|lane| {
        let text = format!("{}: {}.", lane.name, lane.text);
        Element::new("li").text(text)
    });
    let facts = (!quiet.is_empty()).then(|| Element::new("ul").class("quiet").children(facts));
    let section = Element::new("section").with("id", "lanes");
    let section = section.child(Element::new("h2").text("Congestion, loss and pause over time"));
    Some(section.children(chart).children(facts).children(ports(page)))
}

/// The amounts of a lane, divided evenly over time.
fn bins(axis: Axis, pieces: &[Piece]) -> Vec<f64> {
    let mut bins = vec![0.0; BINS];
    for (start_ns, end_ns, amount) in pieces {
        let (from, to) = (axis.share(*start_ns), axis.share(*end_ns));
        let (from, to) = (from * BINS as f64, to * BINS as f64);
        let first = (from as usize).min(BINS - 1);
        let last = (to as usize).clamp(first, BINS - 1);
        let length = to - from;
        for (at, bin) in bins.iter_mut().enumerate().take(last + 1).skip(first) {
            let inside = (to.min(at as f64 + 1.0) - from.max(at as f64)).max(0.0);
            let part = if first == last { 1.0 } else { inside / length };
            *bin += *amount as f64 * part;
        }
    }
    bins
}

fn draw(axis: Axis, lane: &Lane) -> Markup {
    let bins = bins(axis, &lane.pieces);
    let most = bins.iter().copied().fold(0.0, f64::max).max(f64::MIN_POSITIVE);
    let width = 1.0 / BINS as f64;
    let bars = bins.iter().enumerate().filter(|(_, amount)| **amount > 0.0).map(|(at, amount)| {
        // Little is still something.
        let height = (amount / most * (HEIGHT - 4.0)).max(1.5);
        let from = axis.start_ns + (axis.length_ns() * at as f64 * width) as i64;
        let text =
            format!("{} from {}", (lane.shape)(amount.round().max(1.0) as u64), moment(from));
        let title = Element::new("title").text(text);
        let bar = rectangle(at as f64 * width, width, HEIGHT - height, height);
        Element::new("g").class("bar").child(title).child(bar.class(lane.class)).into()
    });
    let busiest = (lane.shape)(most.round() as u64);
    let label = format!("{}: {}; at most {busiest} in 1/{BINS} of the time", lane.name, lane.text);
    let chart = Element::new("svg").class("plot fine").with("height", HEIGHT).with("role", "img");
    let bars: Vec<Markup> = bars.collect();
    axis::view(chart.with("aria-label", label), bars)
}

/// Signals by receiving port.
fn ports(page: &Page<'_>) -> Option<Markup> {
    let all = &page.report.congestion;
    let columns = [
        ("Receiving port", Align::Words),
        ("CE marks", Align::Numbers),
        ("Of packets", Align::Numbers),
        ("Queue pairs marked", Align::Numbers),
        ("CNPs to its senders", Align::Numbers),
    ];
    let mut table = Table::new("Congestion by receiving port", &columns);
    for one in all.iter().take(ROWS) {
        let marked = one.ce_packets.filter(|ce| *ce > 0);
        table.push(vec![
            Cell::text(label::name(&one.address)),
            Cell::maybe(one.ce_packets, count, "no tap could see marks"),
            marked.map_or_else(
                || Cell::text(""),
                |ce| {
                    let of = one.ce_among_packets;
                    Cell::text(share(ce, of)).sorted_by(ce as f64 / of.max(1) as f64)
                },
            ),
            Cell::number(one.marked_queue_pairs, count(one.marked_queue_pairs)),
            Cell::number(one.cnps, count(one.cnps)),
        ]);
    }
    (!all.is_empty()).then(|| Markup::from(table))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_kept_however_they_are_divided() {
        let axis = Axis::new(0, 1_000);
        for pieces in [vec![(0, 1_000, 7)], vec![(3, 3, 1), (990, 1_000, 5)], vec![(500, 2_000, 2)]]
        {
            let amount: u64 = pieces.iter().map(|piece| piece.2).sum();
            let sum: f64 = bins(axis, &pieces).iter().sum();
            assert!((sum - amount as f64).abs() < 1e-9, "{pieces:?}: {sum}");
        }
        assert!(bins(axis, &[(0, 0, 3)])[0] > 2.9);
    }
}
