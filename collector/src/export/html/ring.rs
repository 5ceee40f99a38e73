//! A drawing of who sends to whom: ranks on a circle in the order of NCCL's ring, an arrow for each
//! path, and the one that the worst verdict is about in red.

use std::collections::BTreeMap;
use std::f64::consts::PI;

use super::markup::{Element, Markup};
use super::page::Page;
use super::paths::{End, Path, Paths};
use super::table::{Align, Cell, Table};
use crate::export::text::label;
use crate::export::text::quantity::{bytes, count, counted};

/// Most ends and arrows drawn.
const ENDS: usize = 256;
const ARROWS: usize = 1024;

/// Ends up to which each has a name.
const NAMED: usize = 24;

/// Rows of the table.
const ROWS: usize = 100;

/// Size of the drawing, and of the circle in it.
const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 440.0;
const RADIUS: f64 = 150.0;

type Places<'a> = BTreeMap<End<'a>, f64>;

/// The section; `None` without queue pairs that carry data.
pub(super) fn section(page: &Page<'_>) -> Option<Element> {
    let paths = Paths::new(page);
    if paths.all.is_empty() {
        return None;
    }
    let section = Element::new("section").with("id", "ring");
    let of = paths.communicator.map(|id| page.names.where_needed(id)).unwrap_or_default();
    let title = match paths.communicator {
        Some(_) if of.is_empty() => "Ring of ranks".to_owned(),
        Some(_) => format!("Ring of ranks, communicator {of}"),
        None => "Paths between ports".to_owned(),
    };
    let section = section.child(Element::new("h2").text(title));
    let order = order(page, &paths);
    let drawing = match order.len() {
        ..=ENDS => drawing(page, &paths, &order),
        many => {
            let text = format!(
                "{} are too many to draw: the table has the worst paths.",
                count(many as u64)
            );
            Markup::from(Element::new("p").class("note").text(text))
        }
    };
    Some(section.child(drawing).child(table(page, &paths)))
}

/// The ends in the order in which data goes around.
fn order<'a>(page: &Page<'a>, paths: &Paths<'a>) -> Vec<End<'a>> {
    let known =
        page.report.communicators.iter().find(|one| Some(one.id.as_str()) == paths.communicator);
    let ring = known.and_then(|one| {
        one.channels.iter().map(|channel| &channel.ring).find(|ring| !ring.is_empty())
    });
    let mut order: Vec<End<'a>> = ring.into_iter().flatten().map(|rank| End::Rank(*rank)).collect();
    let mut others: Vec<End<'a>> = paths.all.keys().flat_map(|(from, to)| [*from, *to]).collect();
    others.sort_unstable();
    others.dedup();
    others.retain(|end| !order.contains(end));
    order.extend(others);
    order
}

fn drawing(page: &Page<'_>, paths: &Paths<'_>, order: &[End<'_>]) -> Markup {
    let places: Places<'_> = order
        .iter()
        .enumerate()
        .map(|(at, end)| (*end, at as f64 / order.len() as f64 * 2.0 * PI - PI / 2.0))
        .collect();
    let mut arrows: Vec<_> = paths.all.iter().collect();
    arrows.sort_by_key(|(_, path)| path.weight());
    let left = arrows.len().saturating_sub(ARROWS);
    arrows.truncate(ARROWS);
    let names_trouble = arrows.len() <= NAMED;
    // The worst last, on top of the others.
    let lines = arrows.iter().rev().filter_map(|((from, to), path)| {
        let angles = (*places.get(from)?, *places.get(to)?);
        Some(arrow(page, paths, (*from, *to), path, angles, order.len(), names_trouble))
    });
    let ends = order.iter().map(|end| node(page, paths, *end, &places, order.len()));
    let sick = arrows
        .iter()
        .filter(|(_, path)| path.is_sick)
        .map(|((from, to), _)| format!("{} → {}", name(*from), name(*to)));
    let sick: Vec<String> = sick.take(4).collect();
    let about = match sick.as_slice() {
        [] => "no path stands out".to_owned(),
        some => format!("the verdict is about {}", some.join(", ")),
    };
    let label = format!(
        "{} and {}; {about}",
        counted(order.len() as u64, "end"),
        counted(arrows.len() as u64, "path")
    );
    let drawing = Element::new("svg")
        .class("ring")
        .with("viewBox", format!("0 0 {WIDTH} {HEIGHT}"))
        .with("role", "img")
        .with("aria-label", label)
        .child(markers())
        .children(lines)
        .children(ends);
    let note = (left > 0).then(|| {
        Element::new("p").class("note").text(format!("{} paths are not drawn.", count(left as u64)))
    });
    let caption = Element::new("figcaption").child(key(paths)).children(note);
    Element::new("figure").child(drawing).child(caption).into()
}

/// Heads of arrows, one for each class.
fn markers() -> Element {
    let heads = ["sick", "odd", "clean"].map(|class| {
        let head = Element::new("path").with("d", "M0 0 8 4 0 8Z").class(class);
        Element::new("marker")
            .with("id", format_args!("head-{class}"))
            .with("viewBox", "0 0 8 8")
            .with("refX", 7)
            .with("refY", 4)
            .with("markerWidth", 9)
            .with("markerHeight", 9)
            .with("markerUnits", "userSpaceOnUse")
            .with("orient", "auto")
            .child(head)
    });
    Element::new("defs").children(heads)
}

fn point(angle: f64, radius: f64) -> (f64, f64) {
    (WIDTH / 2.0 + radius * angle.cos(), HEIGHT / 2.0 + radius * angle.sin())
}

fn radius_of_end(ends: usize) -> f64 {
    if ends <= NAMED { 17.0 } else { (RADIUS * PI / ends as f64).clamp(2.0, 10.0) }
}

fn class_of(path: &Path) -> &'static str {
    match (path.is_sick, path.troubles().is_empty()) {
        (true, _) => "sick",
        (false, false) => "odd",
        (false, true) => "clean",
    }
}

fn arrow(
    page: &Page<'_>,
    paths: &Paths<'_>,
    (from, to): (End<'_>, End<'_>),
    path: &Path,
    (from_angle, to_angle): (f64, f64),
    ends: usize,
    names_trouble: bool,
) -> Element {
    let (a, b) = (point(from_angle, RADIUS), point(to_angle, RADIUS));
    let (dx, dy) = (b.0 - a.0, b.1 - a.1);
    let length = dx.hypot(dy).max(1.0);
    let (ux, uy) = (dx / length, dy / length);
    let gap = radius_of_end(ends) + 3.0;
    // Opposite directions bow apart.
    let bow = (length * 0.12).min(24.0);
    let middle = ((a.0 + b.0) / 2.0 + uy * bow, (a.1 + b.1) / 2.0 - ux * bow);
    let start = (a.0 + ux * gap, a.1 + uy * gap);
    let end = (b.0 - ux * gap, b.1 - uy * gap);
    let curve = format!(
        "M{:.1} {:.1}Q{:.1} {:.1} {:.1} {:.1}",
        start.0, start.1, middle.0, middle.1, end.0, end.1
    );
    let class = class_of(path);
    let troubles = path.troubles();
    let said = if troubles.is_empty() { "nothing unusual".to_owned() } else { troubles.join(", ") };
    let text = format!(
        "{} → {}: {} on {}; {said}",
        full_name(page, paths, from),
        full_name(page, paths, to),
        bytes(path.payload_bytes),
        counted(path.queue_pairs, "queue pair")
    );
    let line = Element::new("path")
        .with("d", curve)
        .with("class", format_args!("arrow {class}"))
        .with("marker-end", format_args!("url(#head-{class})"));
    let is_named = names_trouble && (path.is_sick || class == "odd");
    let trouble = troubles.first().filter(|_| is_named).map(|trouble| {
        // Outside of the circle, so that labels of neighbours do not meet.
        let (mx, my) = (middle.0 - WIDTH / 2.0, middle.1 - HEIGHT / 2.0);
        let out = mx.hypot(my).max(1.0);
        let (x, y) = (middle.0 + mx / out * 16.0, middle.1 + my / out * 16.0);
        let anchor = if mx.abs() < 20.0 {
            "middle"
        } else if mx > 0.0 {
            "start"
        } else {
            "end"
        };
        let label =
            Element::new("text").with("x", format!("{x:.1}")).with("y", format!("{:.1}", y + 4.0));
        label
            .with("text-anchor", anchor)
            .with("class", format_args!("trouble {class}"))
            .text(trouble)
    });
    let title = Element::new("title").text(text);
    Element::new("g").class("bar").child(title).child(line).children(trouble)
}

fn node(
    page: &Page<'_>,
    paths: &Paths<'_>,
    end: End<'_>,
    places: &Places<'_>,
    ends: usize,
) -> Element {
    let angle = places.get(&end).copied().unwrap_or(0.0);
    let (x, y) = point(angle, RADIUS);
    let is_sick = paths.sick.contains(&end);
    let radius = radius_of_end(ends);
    let circle = Element::new("circle")
        .with("cx", format!("{x:.1}"))
        .with("cy", format!("{y:.1}"))
        .with("r", format!("{radius:.1}"))
        .class(if is_sick { "end sick" } else { "end" });
    let inside = match end {
        End::Rank(rank) if ends <= NAMED => Some(rank.to_string()),
        _ => None,
    };
    let inside = inside.map(|text| {
        let text = Element::new("text").class("number").text(text);
        text.with("x", format!("{x:.1}"))
            .with("y", format!("{:.1}", y + 5.0))
            .with("text-anchor", "middle")
    });
    let (lx, ly) = point(angle, RADIUS + radius + 8.0);
    let side = angle.cos();
    let anchor = if side.abs() < 0.2 {
        "middle"
    } else if side > 0.0 {
        "start"
    } else {
        "end"
    };
    let outside = (ends <= NAMED || is_sick).then(|| outside(page, paths, end, ends)).flatten();
    let outside = outside.map(|text| {
        let down = 4.0 + angle.sin() * 8.0;
        let text = Element::new("text").class("host").text(text).with("text-anchor", anchor);
        text.with("x", format!("{lx:.1}")).with("y", format!("{:.1}", ly + down))
    });
    let title = Element::new("title").text(full_name(page, paths, end));
    Element::new("g").child(title).child(circle).children(inside).children(outside)
}

/// What stands beside the circle of an end.
fn outside(page: &Page<'_>, paths: &Paths<'_>, end: End<'_>, ends: usize) -> Option<String> {
    match end {
        End::Port(address) => Some(label::name(address)),
        End::Rank(rank) if ends > NAMED => Some(format!("rank {rank}")),
        End::Rank(rank) => page.host(paths.communicator?, rank).map(str::to_owned),
    }
}

fn name(end: End<'_>) -> String {
    match end {
        End::Rank(rank) => format!("rank {rank}"),
        End::Port(address) => label::name(address),
    }
}

fn full_name(page: &Page<'_>, paths: &Paths<'_>, end: End<'_>) -> String {
    let host = match end {
        End::Rank(rank) => paths.communicator.and_then(|id| page.host(id, rank)),
        End::Port(address) => {
            let known = page.report.ports.iter().find(|port| port.address == address);
            known.and_then(|port| port.host.as_deref())
        }
    };
    host.map_or_else(|| name(end), |host| format!("{} ({})", name(end), label::name(host)))
}

/// What the colours mean.
fn key(paths: &Paths<'_>) -> Element {
    let has = |class: &str| paths.all.values().any(|path| class_of(path) == class);
    let known = [
        ("sick", "the verdict is about it"),
        ("odd", "retransmissions, reordering, CE marks or CNPs"),
        ("clean", "nothing unusual"),
    ];
    let entries = known.into_iter().filter(|(class, _)| has(class)).map(|(class, text)| {
        let line = Element::new("path").with("d", "M0 6H22");
        let line = line.with("class", format_args!("arrow {class}"));
        let swatch = Element::new("svg").with("width", 22).with("height", 12);
        Element::new("li").child(swatch.with("aria-hidden", "true").child(line)).text(text)
    });
    let late = (!paths.sick.is_empty()).then(|| {
        let circle =
            Element::new("circle").with("cx", 8).with("cy", 6).with("r", 5).class("end sick");
        let swatch = Element::new("svg").with("width", 16).with("height", 12);
        let swatch = swatch.with("aria-hidden", "true").child(circle);
        Element::new("li").child(swatch).text("rank or port of the verdict")
    });
    Element::new("ul").class("legend").children(entries).children(late)
}

fn table(page: &Page<'_>, paths: &Paths<'_>) -> Element {
    let hidden = "captured only at the sender, before any switch";
    let mut rows: Vec<_> = paths.all.iter().collect();
    rows.sort_by_key(|(_, path)| path.weight());
    let all = rows.len();
    rows.truncate(ROWS);
    let numbers = [
        "Queue pairs",
        "Payload",
        "Missing",
        "Retransmitted",
        "Reordered",
        "RNR",
        "CE marks",
        "CNPs",
    ];
    let mut columns = vec![("From", Align::Words), ("To", Align::Words)];
    columns.extend(numbers.map(|name| (name, Align::Numbers)));
    let mut table = Table::new("Paths, the worst first", &columns);
    for ((from, to), path) in rows {
        table.push(vec![
            Cell::text(full_name(page, paths, *from)),
            Cell::text(full_name(page, paths, *to)),
            Cell::number(path.queue_pairs, count(path.queue_pairs)),
            Cell::number(path.payload_bytes, bytes(path.payload_bytes)),
            Cell::number(path.missing, count(path.missing)),
            Cell::number(path.retransmitted, count(path.retransmitted)),
            Cell::number(path.out_of_order, count(path.out_of_order)),
            Cell::number(path.rnr_naks, count(path.rnr_naks)),
            Cell::maybe(path.ce, count, hidden),
            Cell::number(path.cnps, count(path.cnps)),
        ]);
    }
    let summary = match all {
        ..=ROWS => format!("{} as a table", counted(all as u64, "path")),
        _ => format!("The worst {ROWS} of {} paths as a table", count(all as u64)),
    };
    Element::new("details").child(Element::new("summary").text(summary)).child(Markup::from(table))
}
