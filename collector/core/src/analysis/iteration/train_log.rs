//! Training logs: their lines that count training steps.

use std::collections::BTreeSet;

use super::thresholds::LOG_LINES;
use crate::decode::nccl_log::clean;
use crate::decode::train_log::{Dialect, TrainingStepLine, has_loss, read};

/// A training log, read line by line.
#[derive(Clone, Debug, Default)]
pub struct TrainLog {
    /// File name, as given on the command line.
    pub name: String,
    /// Lines of any kind.
    pub lines: u64,
    /// Lines that name a training step, beyond the capacity.
    pub dropped: u64,
    kept: Vec<Numbered>,
    /// Totals of progress bars followed by a loss.
    trained: BTreeSet<u64>,
    latest_total: Option<u64>,
}

/// A line that names a training step, and its number in the file, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Numbered {
    /// The parsed line.
    pub says: TrainingStepLine,
    /// Its number, from 1.
    pub line: u64,
}

impl TrainLog {
    /// A log before its first line.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// Reads the next line, with or without its line end. Returns whether a known framework wrote
    /// it.
    pub fn observe(&mut self, number: u64, line: &[u8]) -> bool {
        self.lines += 1;
        let mut is_known = false;
        for part in line.split(|byte| *byte == b'\r') {
            let text = clean(part);
            let is_loss = has_loss(&text);
            is_known |= is_loss;
            read(&text, |says| {
                is_known = true;
                if says.dialect == Dialect::Trainer {
                    self.latest_total = says.total;
                }
                self.keep(Numbered { says, line: number });
            });
            // The values are printed after the bar or on a separate line.
            if is_loss {
                self.trained.extend(self.latest_total);
            }
        }
        is_known
    }

    fn keep(&mut self, one: Numbered) {
        if self.kept.len() < LOG_LINES {
            self.kept.push(one);
        } else {
            self.dropped += 1;
        }
    }

    /// The lines that count training steps, of the framework with the most exact times if there are
    /// several. Each number once, at its first line.
    #[must_use]
    pub fn counted(&self) -> Vec<Numbered> {
        let of = |dialect| {
            let lines = self.kept.iter().filter(move |one| one.says.dialect == dialect);
            lines.filter(|one| self.is_training(&one.says))
        };
        let coarseness = |dialect: &Dialect| {
            let stamps = of(*dialect).filter_map(|one| one.says.stamp);
            let coarsest = stamps.map(|stamp| stamp.resolution_ns).min();
            (coarsest.is_none(), coarsest, of(*dialect).all(|one| one.says.length_ns.is_none()))
        };
        let known = [Dialect::DeepSpeed, Dialect::Megatron, Dialect::Trainer]
            .into_iter()
            .filter(|dialect| of(*dialect).next().is_some());
        let Some(dialect) = known.min_by_key(coarseness) else { return Vec::new() };
        let mut seen = BTreeSet::new();
        of(dialect).filter(|one| seen.insert(one.says.number)).copied().collect()
    }

    /// Whether a bar counts training: a loss followed a bar with the same total, or no bar at all.
    fn is_training(&self, says: &TrainingStepLine) -> bool {
        says.dialect != Dialect::Trainer
            || self.trained.is_empty()
            || says.total.is_some_and(|total| self.trained.contains(&total))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(lines: &[&str]) -> Vec<(u64, u64)> {
        let mut log = TrainLog::new("train.log");
        for (number, line) in (1..).zip(lines) {
            log.observe(number, line.as_bytes());
        }
        log.counted().iter().map(|one| (one.says.number, one.line)).collect()
    }

    #[test]
    fn bars_of_evaluation_do_not_count() {
        let log = [
            "  0%|   | 0/4 [00:00<?, ?it/s]\r 25%|#  | 1/4 [00:01<00:03]\r 50%|## | 2/4 [00:02<00:02]",
            "{'loss': 0.5, 'epoch': 1.0}",
            " 50%|#  | 1/2 [00:00<00:00]\r100%|###| 2/2 [00:01<00:00]",
            " 75%|###| 3/4 [00:04<00:01]\r 75%|###| 3/4 [00:04<00:01]",
        ];
        assert_eq!(counted(&log), [(1, 1), (2, 1), (3, 4)]);
    }

    #[test]
    fn of_two_frameworks_the_more_exact_counts() {
        let log = [
            " 25%|#  | 1/4 [00:01<00:03]",
            "[2024-06-21 10:50:42,167] [INFO] [Rank 0] step=1, skipped=0, lr=[1e-3], mom=[0.9]",
            "[2024-06-21 10:50:42,167] [INFO] global_step=1, RunningAvgSamplesPerSec=1.0",
        ];
        assert_eq!(counted(&log), [(1, 2)]);
        assert_eq!(counted(&["nothing", ""]), []);
    }
}
