//! The results as Markdown, and whether they meet railscope's goals.

use super::process::Cost;
use super::tool::Tool;

/// One tool's runs over one capture.
pub(super) struct Row {
    pub(super) tool: Tool,
    pub(super) frames: u64,
    pub(super) costs: Vec<Cost>,
}

/// The goals for one capture.
pub(super) struct Goals {
    pub(super) frames_per_core_second: Level,
    pub(super) times_capinfos: Level,
}

/// Below the floor the work is not done.
pub(super) struct Level {
    pub(super) floor: f64,
    pub(super) goal: f64,
}

impl Row {
    fn seconds(&self) -> f64 {
        median(self.costs.iter().map(|cost| cost.seconds))
    }

    fn cpu_seconds(&self) -> f64 {
        median(self.costs.iter().map(|cost| cost.cpu_seconds))
    }

    fn frames_per_second(&self) -> f64 {
        self.frames as f64 / self.seconds()
    }

    /// Counts helper threads, and the time that waits for them.
    fn frames_per_core_second(&self) -> f64 {
        self.frames as f64 / self.cpu_seconds().max(self.seconds())
    }

    fn peak_anon_bytes(&self) -> u64 {
        self.costs.iter().map(|cost| cost.peak_anon_bytes).max().unwrap_or(0)
    }
}

/// Prints `rows`, railscope's first if it ran, and the verdicts.
pub(super) fn print(title: &str, rows: &[Row], goals: &Goals) {
    print_rows(title, rows);
    let railscope = rows.iter().find(|row| row.tool == Tool::Railscope);
    let Some(railscope) = railscope else { return };
    println!();
    let per_core = railscope.frames_per_core_second();
    let Level { floor, goal } = goals.frames_per_core_second;
    println!(
        "* {:.1} M frames/s/core: {} (goal {:.0}, floor {:.0})",
        per_core / 1e6,
        verdict(per_core >= goal, per_core >= floor),
        goal / 1e6,
        floor / 1e6,
    );
    let capinfos = rows.iter().find(|row| row.tool == Tool::Capinfos);
    if let Some(capinfos) = capinfos {
        let ratio = railscope.frames_per_second() / capinfos.frames_per_second();
        let Level { floor, goal } = goals.times_capinfos;
        let verdict = verdict(ratio >= goal, ratio >= floor);
        println!("* {ratio:.2} times capinfos: {verdict} (goal {goal}, floor {floor})");
    }
}

/// Prints the rows of railscope with and without linking, and what linking costs.
pub(super) fn print_linking(title: &str, rows: &[Row]) {
    print_rows(title, rows);
    let row = |tool| rows.iter().find(|row| row.tool == tool);
    let (Some(linked), Some(unlinked)) = (row(Tool::Railscope), row(Tool::Unlinked)) else {
        return;
    };
    let added = |to: &Row| {
        let share = |cost: fn(&Row) -> f64| (cost(linked) / cost(to) - 1.0) * 100.0;
        format!(
            "{:.0} % to the time, {:.0} % to the CPU time",
            share(Row::seconds),
            share(Row::cpu_seconds)
        )
    };
    println!("\n* linking and what builds on it add {}", added(unlinked));
    if let Some(other) = row(Tool::Other) {
        println!("* this build adds {} of the other one", added(other));
    }
}

fn print_rows(title: &str, rows: &[Row]) {
    println!("\n### {title}\n");
    println!("| tool | frames | seconds | CPU seconds | M frames/s | MiB | railscope is |");
    println!("|---|--:|--:|--:|--:|--:|--:|");
    let railscope = rows.iter().find(|row| row.tool == Tool::Railscope);
    for row in rows {
        let ratio = railscope.map_or("-".into(), |railscope| {
            format!("{:.1}x", railscope.frames_per_second() / row.frames_per_second())
        });
        println!(
            "| `{}` | {} | {:.3} | {:.2} | {:.2} | {:.0} | {ratio} |",
            row.tool.title(),
            row.frames,
            row.seconds(),
            row.cpu_seconds(),
            row.frames_per_second() / 1e6,
            mebibytes(row.peak_anon_bytes()),
        );
    }
}

/// Prints `bytes` of memory against `level`.
pub(super) fn print_memory(bytes: u64, level: &Level) {
    let used = bytes as f64;
    println!(
        "* peak RssAnon {:.1} MiB: {} (goal {:.0}, floor {:.0})",
        mebibytes(bytes),
        verdict(used <= level.goal, used <= level.floor),
        level.goal / MEBIBYTE,
        level.floor / MEBIBYTE,
    );
}

pub(super) fn verdict(meets_goal: bool, meets_floor: bool) -> &'static str {
    match (meets_goal, meets_floor) {
        (true, _) => "goal met",
        (false, true) => "goal missed",
        (false, false) => "**below the floor**",
    }
}

pub(super) const MEBIBYTE: f64 = 1024.0 * 1024.0;

pub(super) fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / MEBIBYTE
}

/// The median; with an even number of values the lower middle one, so that it is a measured value.
pub(super) fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len().saturating_sub(1) / 2;
    values.get(middle).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::{median, verdict};

    #[test]
    fn the_median_was_measured() {
        assert_eq!(median([3.0, 1.0, 2.0].into_iter()), 2.0);
        assert_eq!(median([4.0, 1.0, 2.0, 3.0].into_iter()), 2.0);
        assert!(median(std::iter::empty()).is_nan());
    }

    #[test]
    fn a_floor_is_not_a_goal() {
        assert_eq!(verdict(false, true), "goal missed");
        assert_eq!(verdict(false, false), "**below the floor**");
    }
}
