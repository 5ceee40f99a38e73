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

What `railscope analyze` says about real NCCL jobs, beside what these jobs say about themselves.
`cargo xtask score --write` makes this file; `cargo xtask ci` fails where a figure gets worse.

`3/4` is three right of four that there are, one not found; `3/4 !1` is three right and one wrong.
`120 < 900` is a difference in microseconds, the middle one and the largest; in the row of all jobs,
the largest of each.
Ranks, addresses and the like are counted once for each communicator, flows and TCP streams once for
each tap that saw them.
A communicator that is inferred from traffic alone cannot know how its ranks were numbered: there any
numbering is right that fits the truth one to one.
Collectives are found where they lie over one of the truth in time; `boundaries` are the places at
which the second part of an AllReduce begins, on each connection.
Starts are compared with the first message handed to NCCL's proxy, ends with the last: the first
collective of a communicator then waits until its connections stand, which no packet shows.
A late rank counts once for each training step in which it was made late, and was by half of that:
right if the worst of those that are said to have come late themselves is that rank; the cause is
`enqueue` where its call was late by half as much, else `compute`. A straggler is unfounded where
nothing bears it out: the rank reached the collective, and posted its first message, less than half as
late as said; its GPU was not slowed down; no frame of the flow was lost. It is held up where the
rank was on time and its host was not: from the post to the first frame its first message took longer
than that of the middle rank, by half of what is said.
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
