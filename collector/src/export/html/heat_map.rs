//! Ranks by training steps: how long the others waited for each rank.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::axis::{percent, rectangle};
use super::cause::Part;
use super::markup::{Element, Markup};
use super::page::Page;
use super::table::{Align, Cell, Table};
use crate::export::text::quantity::{count, counted, duration};

/// Most rows and columns.
const ROWS: usize = 64;
const COLUMNS: usize = 240;

/// Height of a row in pixels, as in the style sheet.
const HEIGHT: usize = 20;

/// A rank: `id` of its communicator and its number there.
type RankKey<'a> = (&'a str, u32);

/// Waits for one rank in one column, by cause.
type Waits = BTreeMap<Part, u64>;

/// Waits by rank and column.
#[derive(Default)]
struct Map<'a> {
    cells: BTreeMap<RankKey<'a>, BTreeMap<usize, Waits>>,
    /// Names of the columns, and how many training steps or collectives each covers.
    columns: Vec<String>,
    per_column: usize,
    what: &'static str,
}

/// The section; `None` without collectives.
pub(super) fn section(page: &Page<'_>) -> Option<Element> {
    if page.report.collectives.is_empty() {
        return None;
    }
    let map = Map::new(page);
    let section = Element::new("section").with("id", "ranks");
    let section = section.child(Element::new("h2").text("Who was waited for"));
    if map.cells.is_empty() {
        let collectives = counted(page.report.collectives.len() as u64, "collective");
        let text = match page.stands_still() {
            Some(text) => format!("{text} No wait of one rank was measured in {collectives}."),
            None => format!("No rank held up the others in {collectives}."),
        };
        return Some(section.child(Element::new("p").text(text)));
    }
    let rows = map.rows(page);
    let all = ranks(page).len().max(rows.len());
    let left = all.saturating_sub(rows.len());
    let note = "How long the other ranks waited for a rank: the darker, the longer.";
    let more = (left > 0).then(|| {
        let text = format!(" {} of {} ranks, by time waited.", rows.len(), count(all as u64));
        Element::new("span").text(text)
    });
    let section = section.child(Element::new("p").class("note").text(note).children(more));
    Some(section.child(map.chart(page, &rows)).child(map.table(page, &rows)))
}

/// The ranks of all communicators that had collectives.
fn ranks<'a>(page: &Page<'a>) -> Vec<RankKey<'a>> {
    let all = page.report.communicators.iter();
    all.flat_map(|one| one.ranks.iter().map(|rank| (one.id.as_str(), rank.rank))).collect()
}

impl<'a> Map<'a> {
    fn new(page: &Page<'a>) -> Self {
        let iterations = &page.report.iterations;
        if iterations.is_empty() {
            let ids = page.report.collectives.iter().map(|one| (one.id.to_string(), vec![one.id]));
            return Self::of_columns(page, ids.collect(), "collective");
        }
        let ids = iterations.iter().map(|one| {
            (crate::export::text::job_iterations::name(one), one.collective_ids.clone())
        });
        Self::of_columns(page, ids.collect(), "training step")
    }

    fn of_columns(page: &Page<'a>, all: Vec<(String, Vec<u32>)>, what: &'static str) -> Self {
        let per_column = all.len().div_ceil(COLUMNS).max(1);
        let mut map = Self { per_column, what, ..Self::default() };
        for (at, some) in all.chunks(per_column).enumerate() {
            map.columns.push(match some {
                [first, .., last] => format!("{what}s {} to {}", first.0, last.0),
                [only] => format!("{what} {}", only.0),
                [] => String::new(),
            });
            for id in some.iter().flat_map(|(_, ids)| ids) {
                let Some(one) = page.collective(*id) else { continue };
                let Some(late) = &one.straggler else { continue };
                let row = map.cells.entry((one.communicator.as_str(), late.rank)).or_default();
                let waits = row.entry(at).or_default();
                *waits.entry(Part::Cause(late.cause)).or_insert(0) += late.lag_ns;
            }
        }
        map
    }

    fn total(&self, rank: &RankKey<'a>) -> u64 {
        self.cells.get(rank).into_iter().flat_map(BTreeMap::values).map(sum).sum()
    }

    /// The ranks shown: all if they fit, else those that cost most; in order of number.
    fn rows(&self, page: &Page<'a>) -> Vec<RankKey<'a>> {
        let of_late = |rank: &RankKey<'a>| self.cells.keys().any(|(id, _)| *id == rank.0);
        let mut rows: Vec<RankKey<'a>> = ranks(page).into_iter().filter(of_late).collect();
        rows.extend(self.cells.keys());
        rows.sort_unstable();
        rows.dedup();
        if rows.len() > ROWS {
            rows.sort_by_key(|rank| Reverse(self.total(rank)));
            rows.truncate(ROWS);
            rows.sort_unstable();
        }
        rows
    }

    fn chart(&self, page: &Page<'a>, rows: &[RankKey<'a>]) -> Element {
        let most = self.cells.values().flat_map(BTreeMap::values).map(sum).max().unwrap_or(1);
        let names = rows.iter().map(|(id, rank)| {
            let host = page.host(id, *rank).map(|host| Element::new("small").text(host));
            Element::new("li").text(page.rank(id, *rank)).children(host)
        });
        let cells = rows.iter().enumerate().flat_map(|(at, rank)| {
            let row = self.cells.get(rank).into_iter().flatten();
            row.map(move |(column, waits)| self.cell(page, *rank, at, *column, waits, most))
        });
        let lines = (0..rows.len()).map(|at| {
            let row = rectangle(0.0, 1.0, (at * HEIGHT) as f64, HEIGHT as f64 - 1.0);
            Markup::from(row.class("row"))
        });
        let label = format!(
            "{} ranks by {} {}s: waits of at most {}; the table below has the figures",
            rows.len(),
            self.columns.len() * self.per_column,
            self.what,
            duration(most)
        );
        let chart = Element::new("svg").class("plot").with("width", "100%");
        let chart = chart.with("height", rows.len() * HEIGHT).with("role", "img");
        let chart = chart.with("aria-label", label).children(lines).children(cells);
        let caption = Element::new("figcaption").child(scale(most));
        Element::new("figure")
            .class("chart map")
            .child(Element::new("ol").class("rows").children(names))
            .child(chart)
            .child(Element::new("div"))
            .child(self.marks())
            .child(caption)
    }

    fn cell(
        &self,
        page: &Page<'a>,
        (id, rank): RankKey<'a>,
        row: usize,
        column: usize,
        waits: &Waits,
        most: u64,
    ) -> Markup {
        let width = 1.0 / self.columns.len().max(1) as f64;
        let top = (row * HEIGHT) as f64;
        let cell = rectangle(column as f64 * width, width, top, HEIGHT as f64 - 1.0);
        let share = sum(waits) as f64 / most.max(1) as f64;
        let causes: Vec<String> =
            waits.iter().map(|(part, ns)| format!("{} {}", duration(*ns), part.name())).collect();
        let name = self.columns.get(column).map_or("", String::as_str);
        let text = format!("{}, {name}: {}", page.rank(id, rank), causes.join(", "));
        let title = Element::new("title").text(text);
        let shape = cell.with("fill-opacity", format!("{:.2}", 0.15 + 0.85 * share)).class("heat");
        Element::new("g").class("bar").child(title).child(shape).into()
    }

    /// A few names of columns.
    fn marks(&self) -> Element {
        let all = self.columns.len().max(1);
        let apart = all.div_ceil(8).max(1);
        let texts = (0..all).filter(|at| at % apart == 0 && at + apart / 2 < all).map(|at| {
            let middle = (at as f64 + 0.5) / all as f64;
            let text = Element::new("text").with("x", percent(middle)).with("y", 14);
            text.with("text-anchor", "middle").text(at * self.per_column)
        });
        let marks = Element::new("svg").class("marks").with("width", "100%").with("height", 18);
        marks
            .children(texts)
            .child(Element::new("title").text(format!("number of the {}", self.what)))
    }

    /// The same, by rank and cause.
    fn table(&self, page: &Page<'a>, rows: &[RankKey<'a>]) -> Element {
        let mut table = Table::new(
            "Time that the others waited, by rank and cause",
            &[
                ("Rank", Align::Words),
                ("Host", Align::Words),
                ("Cause", Align::Words),
                ("Waited", Align::Numbers),
                ("Longest", Align::Numbers),
            ],
        );
        let mut late: Vec<&RankKey<'a>> = rows.iter().filter(|rank| self.total(rank) > 0).collect();
        late.sort_by_key(|rank| Reverse(self.total(rank)));
        for (id, rank) in late {
            let mut causes: BTreeMap<Part, (u64, u64)> = BTreeMap::new();
            let columns = self.cells.get(&(*id, *rank)).into_iter().flat_map(BTreeMap::values);
            for (part, ns) in columns.flatten() {
                let (sum, most) = causes.entry(*part).or_insert((0, 0));
                *sum += ns;
                *most = (*most).max(*ns);
            }
            for (part, (sum, most)) in causes {
                table.push(vec![
                    Cell::text(page.rank(id, *rank)),
                    Cell::text(page.host(id, *rank).unwrap_or_default()),
                    Cell::text(part.name()),
                    Cell::number(sum, duration(sum)),
                    Cell::number(most, duration(most)),
                ]);
            }
        }
        let summary = Element::new("summary").text("Late ranks as a table");
        Element::new("details").child(summary).child(Markup::from(table))
    }
}

fn sum(waits: &Waits) -> u64 {
    waits.values().sum()
}

/// What the shades mean.
fn scale(most: u64) -> Element {
    let shades = (0..5_u8).map(|at| {
        let share = 0.15 + 0.85 * f64::from(at) / 4.0;
        let square = Element::new("rect").class("heat").with("x", u32::from(at) * 14);
        square.with("width", 14).with("height", 12).with("fill-opacity", format!("{share:.2}"))
    });
    let bar = Element::new("svg").with("width", 70).with("height", 12);
    let bar = bar.with("aria-hidden", "true").children(shades);
    let entry = Element::new("li").child(bar).text(format!("waited, up to {}", duration(most)));
    Element::new("ul").class("legend").child(entry)
}
