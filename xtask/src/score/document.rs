//! `SCORE.md`: the figures of every recorded job as Markdown, written and read.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::card::Section;
use super::cell::Cell;

/// The file's name.
pub(super) const NAME: &str = "SCORE.md";

/// The row of all jobs together.
const TOTAL: &str = "all";

const HEAD: &str = "\
# Score

What `railscope analyze` reports about recorded NCCL jobs, compared with what the jobs themselves recorded.
`cargo xtask score --write` writes this file; `cargo xtask ci` fails if a figure gets worse.

* `3/4`: the truth has four, three were found, one was not. `3/4 !1`: three right, one wrong.
* `120 < 900`: median and largest error in microseconds; in the row `all`, the largest of each over all jobs.
* **Counting**: ranks, addresses and the like count once per communicator; flows and TCP streams once per
  tap that saw them.
* **Rank numbers** of a communicator that was inferred from traffic alone count as right if they map one to
  one to the true ranks: traffic does not show the numbering.
* **Collectives** count as found if they overlap one of the truth in time. `boundaries` are the points on
  each connection where the second half of an AllReduce begins.
* **Times**: starts are compared with the first message handed to NCCL's proxy, ends with the last one. The
  first collective of a communicator also waits until its connections are set up, which no packet shows.
* **late ranks**: one for each training step in which a rank was late by at least half of its injected delay.
  Right if the reported straggler with the longest lag, among those that were late themselves, is that rank.
* **cause**: `enqueue` if the rank's call was late by at least half of its lateness, otherwise `compute`.
* **unfounded**: a reported straggler that the truth does not confirm. The rank reached the collective and
  posted its first message less than half as late as reported, its GPU was not slowed down, and the flow lost
  no frame.
* **held up**: the rank was on time, but its host was not. Between the post and the first frame, its first
  message took longer than the median rank's by at least half of the reported lag.
";

/// Figures of one way to run railscope.
pub(super) struct Part {
    pub(super) title: &'static str,
    /// By name of the job.
    pub(super) jobs: Vec<(String, Vec<Section>)>,
}

/// A figure's place: part, section, job, column.
type FigureKey = (String, String, String, String);

/// The document.
pub(super) fn write(parts: &[Part]) -> String {
    let mut text = HEAD.to_owned();
    for part in parts {
        let _ = write!(text, "\n## {}\n", part.title);
        let Some((_, first)) = part.jobs.first() else { continue };
        for (at, section) in first.iter().enumerate() {
            let _ = write!(text, "\n### {}\n\n", section.title);
            let rows = part.jobs.iter().map(|(job, sections)| (job.as_str(), &sections[at]));
            write_table(&mut text, &rows.collect::<Vec<_>>());
        }
    }
    text
}

/// Figures in `parts` that are worse than in `document`, in words.
pub(super) fn drops(document: &str, parts: &[Part]) -> Vec<String> {
    let before = read(document);
    let mut drops = Vec::new();
    for part in parts {
        for (job, sections) in &part.jobs {
            for section in sections {
                for (head, cell) in &section.columns {
                    let place = [part.title, section.title, job, head].map(str::to_owned);
                    let Some(before) = before.get(&FigureKey::from(place)) else { continue };
                    if cell.is_worse_than(before) {
                        drops.push(format!("{}: {job}: {head}: {before} -> {cell}", part.title));
                    }
                }
            }
        }
    }
    drops
}

fn write_table(text: &mut String, rows: &[(&str, &Section)]) {
    let Some((_, first)) = rows.first() else { return };
    let mut total: Vec<Cell> = vec![Cell::Empty; first.columns.len()];
    for (_, section) in rows {
        for (sum, (_, cell)) in total.iter_mut().zip(&section.columns) {
            sum.add(cell);
        }
    }
    let heads = first.columns.iter().map(|(head, _)| (*head).to_owned());
    let mut lines: Vec<Vec<String>> =
        vec![std::iter::once("job".to_owned()).chain(heads).collect()];
    let mut push = |job: &str, cells: &mut dyn Iterator<Item = &Cell>| {
        lines.push(std::iter::once(job.to_owned()).chain(cells.map(Cell::to_string)).collect());
    };
    push(TOTAL, &mut total.iter());
    for (job, section) in rows {
        push(job, &mut section.columns.iter().map(|(_, cell)| cell));
    }
    let widths: Vec<usize> = (0..lines[0].len())
        .map(|at| lines.iter().map(|line| line[at].len()).max().unwrap_or(0))
        .collect();
    for (number, line) in lines.iter().enumerate() {
        let cells = line.iter().zip(&widths).enumerate().map(|(at, (cell, &width))| {
            if at == 0 { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
        });
        let _ = writeln!(text, "| {} |", cells.collect::<Vec<_>>().join(" | "));
        if number == 0 {
            let rules = widths.iter().enumerate().map(|(at, &width)| {
                if at == 0 { "-".repeat(width) } else { format!("{:->1$}", ":", width) }
            });
            let _ = writeln!(text, "| {} |", rules.collect::<Vec<_>>().join(" | "));
        }
    }
}

/// The figures of a document.
fn read(document: &str) -> BTreeMap<FigureKey, Cell> {
    let mut figures = BTreeMap::new();
    let (mut part, mut section, mut heads) = ("", "", Vec::new());
    for line in document.lines() {
        if let Some(title) = line.strip_prefix("### ") {
            (section, heads) = (title, Vec::new());
        } else if let Some(title) = line.strip_prefix("## ") {
            part = title;
        } else if let Some(row) = line.strip_prefix("| ").and_then(|row| row.strip_suffix(" |")) {
            let cells: Vec<&str> = row.split('|').map(str::trim).collect();
            if heads.is_empty() {
                heads = cells;
                continue;
            }
            for (head, cell) in heads.iter().zip(&cells).skip(1) {
                let place = [part, section, cells[0], head].map(str::to_owned);
                let Ok(cell) = cell.parse();
                figures.insert(FigureKey::from(place), cell);
            }
        }
    }
    figures
}

#[cfg(test)]
mod tests {
    use super::super::card::Section;
    use super::super::cell::{Cell, Tally};
    use super::{Part, drops, write};

    fn parts(right: u64, faults: u64) -> [Part; 1] {
        let tally = Tally { right, wrong: 4 - right, of: 4 };
        let columns = vec![
            ("kind", Cell::from(tally)),
            ("off by", Cell::Faults(faults)),
            ("end", Cell::Differences { median_us: 5, max_us: 70 }),
        ];
        let jobs = vec![("ring".to_owned(), vec![Section { title: "Collectives", columns }])];
        [Part { title: "Without logs", jobs }]
    }

    #[test]
    fn what_is_written_is_read() {
        let document = write(&parts(3, 1));
        assert!(document.contains("| ring | 3/4 !1 |      1 | 5 < 70 |"), "{document}");
        assert_eq!(drops(&document, &parts(3, 1)), [""; 0]);
        assert_eq!(drops(&document, &parts(4, 0)), [""; 0]);
        assert_eq!(
            drops(&document, &parts(2, 2)),
            ["Without logs: ring: kind: 3/4 !1 -> 2/4 !2", "Without logs: ring: off by: 1 -> 2"]
        );
    }
}
