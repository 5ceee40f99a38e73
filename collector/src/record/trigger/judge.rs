//! Whether an analysis holds what a trigger waits for.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::trigger::{Condition, Trigger};
use railscope_core::analysis::ledger::{Ending, Ledger};
use railscope_core::pipeline::Analysed;
use railscope_core::report::news::ReportNews;
use railscope_core::report::verdicts::VerdictReport;
use railscope_core::report::words::number::rounded_duration;

const PAUSE_STORM: &str = "pfc_storm";

/// Training steps that a median is made of, at least and at most.
const LEAST_ITERATIONS: usize = 5;
const MOST_ITERATIONS: usize = 101;

/// Communicators whose training steps are compared.
const COMMUNICATORS: usize = 64;

/// Looks at one analysis after the other.
pub struct Judge {
    triggers: Vec<Trigger>,
    ledger: Ledger,
    /// Durations of the latest training steps, by communicator.
    lengths: BTreeMap<Option<String>, VecDeque<u64>>,
}

impl Judge {
    /// For these triggers; those that need no analysis are passed over.
    #[must_use]
    pub fn new(triggers: Vec<Trigger>) -> Self {
        Self { triggers, ledger: Ledger::default(), lengths: BTreeMap::new() }
    }

    /// What has newly happened that a trigger waits for, in words.
    pub fn judge(&mut self, analysed: &Analysed) -> Vec<String> {
        let news = self.ledger.news(&analysed.understanding, Ending::Open);
        let all = &analysed.understanding.profiled_training_steps;
        let profiled = news.profiled_training_steps.clone().into_iter();
        let profiled = profiled.filter_map(|at| all.get(at));
        let hangs: Vec<&VerdictReport> =
            news.hangs.iter().filter_map(|at| analysed.report.verdicts.get(*at)).collect();
        let news = ReportNews::new(&analysed.report, &news);
        let findings = news.findings.iter().map(|one| (one.id, one.severity, &one.title));
        let verdicts = news.verdicts.iter().map(|one| (one.id, one.severity, &one.title));
        let found: Vec<_> = verdicts.chain(findings).collect();
        let mut reasons = Vec::new();
        for trigger in &self.triggers {
            let fits = |id: &str, severity: &str| match &trigger.condition {
                Condition::Severity(least) => rank(severity) >= rank(least.name()),
                Condition::Named(name) => id == name,
                Condition::PauseStorm => id == PAUSE_STORM,
                _ => false,
            };
            let fitting = found.iter().filter(|(id, severity, _)| fits(id, severity));
            reasons.extend(fitting.map(|(id, _, title)| format!("{id}: {title}")));
            if matches!(trigger.condition, Condition::Hang) {
                reasons.extend(hangs.iter().map(|one| format!("{}: {}", one.id, one.title)));
            }
        }
        for one in &news.iterations {
            let name = one.communicator.clone();
            reasons.extend(self.slow(name, one.iteration, one.length_ns(), one.sets_up));
        }
        for one in profiled {
            let name = Some(format!("{:016x}", one.hash));
            reasons.extend(self.slow(name, one.number, one.span.length_ns(), false));
        }
        // A verdict and its finding may say the same.
        let mut known = BTreeSet::new();
        reasons.retain(|reason| known.insert(reason.clone()));
        reasons
    }

    /// Whether a training step is too long.
    fn slow(
        &mut self,
        name: Option<String>,
        number: u32,
        length: u64,
        sets_up: bool,
    ) -> Option<String> {
        let known = self.lengths.len();
        if known >= COMMUNICATORS && !self.lengths.contains_key(&name) {
            self.lengths.pop_first();
        }
        let lengths = self.lengths.entry(name).or_default();
        let median = median(lengths);
        // NCCL connects its channels in the first one.
        if !sets_up {
            lengths.push_back(length);
            if lengths.len() > MOST_ITERATIONS {
                lengths.pop_front();
            }
        }
        let median = median.filter(|_| !sets_up)?;
        let times = length as f64 / median.max(1) as f64;
        let wanted = self.triggers.iter().filter_map(|trigger| match trigger.condition {
            Condition::Slow(factor) => Some(factor),
            _ => None,
        });
        let least = wanted.min_by(f64::total_cmp)?;
        (times >= least).then(|| {
            format!(
                "slow step: training step {} took {}, {times:.1} times the median of {}",
                number,
                rounded_duration(length),
                rounded_duration(median)
            )
        })
    }
}

fn rank(severity: &str) -> usize {
    ["info", "warning", "critical"].iter().position(|name| *name == severity).unwrap_or(0)
}

fn median(lengths: &VecDeque<u64>) -> Option<u64> {
    let mut sorted: Vec<u64> = lengths.iter().copied().collect();
    sorted.sort_unstable();
    sorted.get(sorted.len() / 2).copied().filter(|_| sorted.len() >= LEAST_ITERATIONS)
}
