//! The deep mode: when an analysis has what a trigger waits for, NCCL's profiler plugin is asked for more
//! events for a while. The plugin ends that by itself, also if the agent is gone.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::Instant;

use crate::config::ProfileConfig;
use crate::record::trigger::{Judge, LogWatch};
use crate::trigger::Condition;
use railscope_core::pipeline::Analysed;

/// What the agent and its source of profiles know of each other.
#[derive(Debug, Default)]
pub(super) struct DeepMode {
    asked: AtomicU64,
    rings: AtomicUsize,
}

impl DeepMode {
    /// How often events were asked for.
    pub(super) fn asked(&self) -> u64 {
        self.asked.load(Relaxed)
    }

    /// Notes how many rings are read.
    pub(super) fn set_rings(&self, rings: usize) {
        self.rings.store(rings, Relaxed);
    }

    /// How many rings are read.
    pub(super) fn rings(&self) -> usize {
        self.rings.load(Relaxed)
    }
}

/// Decides when.
pub(super) struct Alarm {
    judge: Judge,
    logs: Vec<(LogWatch, String)>,
    settings: ProfileConfig,
    deep: Arc<DeepMode>,
    asked: Option<Instant>,
}

impl Alarm {
    /// `None` if nothing is to be waited for.
    pub(super) fn new(settings: &ProfileConfig, deep: &Arc<DeepMode>) -> Option<Self> {
        let logs = settings.deep_on.iter().filter_map(|trigger| match &trigger.condition {
            Condition::Log(path, regex) => {
                Some((LogWatch::new(path, (**regex).clone()), trigger.text.clone()))
            }
            _ => None,
        });
        (!settings.deep_on.is_empty()).then(|| Self {
            judge: Judge::new(settings.deep_on.clone()),
            logs: logs.collect(),
            settings: settings.clone(),
            deep: Arc::clone(deep),
            asked: None,
        })
    }

    /// Asks for events if the analysis has what a trigger waits for, and not too soon after the last time.
    pub(super) fn judge(&mut self, analysed: &Analysed, say: &mut dyn FnMut(String)) {
        let reasons = self.judge.judge(analysed);
        if let Some(reason) = reasons.first() {
            self.ask(reason, say);
        }
    }

    /// Looks at files that a trigger follows, in each round of the agent.
    pub(super) fn look(&mut self, say: &mut dyn FnMut(String)) {
        let matching = |(log, text): &mut (LogWatch, String)| {
            log.matching().map(|line| format!("{text}: {line}"))
        };
        let reasons: Vec<String> = self.logs.iter_mut().filter_map(matching).collect();
        if let Some(reason) = reasons.first() {
            self.ask(reason, say);
        }
    }

    fn ask(&mut self, reason: &str, say: &mut dyn FnMut(String)) {
        let pause = self.settings.deep_for.saturating_add(self.settings.deep_pause);
        if self.asked.is_some_and(|asked| asked.elapsed() < pause) || self.deep.rings() == 0 {
            return;
        }
        self.asked = Some(now());
        self.deep.asked.fetch_add(1, Relaxed);
        say(format!("profiles: events are asked for, because of {reason}"));
    }
}

#[expect(clippy::disallowed_methods, reason = "events are seldom asked for")]
fn now() -> Instant {
    Instant::now()
}
