//! Interfaces that are followed, and patterns that still wait for one.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use glob::Pattern;

use super::interfaces;
use crate::agent::source::contract::{Between, Context};
use crate::config::{Config, TapConfig};
use crate::live::packets::{self, Choice, Packets};
use crate::live::session::Session;

/// Time between two searches for missing interfaces.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// Interfaces that are followed, and patterns that wait for one. A pattern that has matched waits
/// no longer: interfaces come and go with containers, and each would cost memory for a ring.
pub(super) struct Taps {
    settings: TapConfig,
    /// Whether kernel programs log.
    logs: bool,
    waiting: Vec<Pattern>,
    followed: BTreeSet<String>,
    looked: Instant,
}

impl Taps {
    /// Follows the matching interfaces, and says once which patterns match none.
    pub(super) fn open(config: &Config, context: &mut Context<'_>) -> Self {
        let settings = config.taps.clone();
        let waiting = settings.interfaces.clone();
        let logs = config.logs_kernel_programs;
        let mut taps = Self { settings, logs, waiting, followed: BTreeSet::new(), looked: now() };
        taps.follow(context);
        for pattern in &taps.waiting {
            context.visibility.add_blind("packets", pattern.as_str(), "no interface matches");
            let every = LOOK_AGAIN.as_secs();
            (context.say)(format!(
                "packets: no interface matches `{pattern}`; looking again every {every} s"
            ));
        }
        taps
    }

    /// Follows the interfaces that waiting patterns match.
    fn follow(&mut self, context: &mut Context<'_>) {
        let Context { session, visibility, say, .. } = context;
        let there = match interfaces::ethernet() {
            Ok(there) => there,
            Err(error) => {
                visibility.add_blind("packets", "none", "interfaces cannot be listed");
                say(format!("packets: {error}"));
                self.waiting.clear();
                return;
            }
        };
        let mut found = BTreeSet::new();
        self.waiting.retain(|pattern| {
            let matching = interfaces::matching(pattern, &self.settings.exclude, &there);
            if matching.is_empty() {
                return true;
            }
            visibility.remove("packets", pattern.as_str());
            found.extend(matching.into_iter().filter(|name| !self.followed.contains(name)));
            false
        });
        if found.is_empty() {
            return;
        }
        let names: Vec<String> = found.iter().cloned().collect();
        self.followed.extend(found);
        match packets::open(Choice::Auto, names.clone(), None, self.logs) {
            Ok(Packets { source, name, why_not_better }) => {
                if let Some(why) = why_not_better {
                    visibility.remove("ebpf", "all");
                    visibility.add_blind("ebpf", "all", "kernel programs cannot be loaded");
                    say(format!("capturing with packet sockets instead of kernel programs: {why}"));
                }
                names.iter().for_each(|interface| visibility.add_seeing(name, interface));
                source.completeness().into_iter().for_each(say);
                session.add(source);
            }
            Err(error) => {
                names.iter().for_each(|name| visibility.add_blind("packets", name, "not allowed"));
                say(format!("packets: {error}"));
            }
        }
    }
}

impl Between for Taps {
    fn read(&mut self, context: &mut Context<'_>) {
        if self.waiting.is_empty() || self.looked.elapsed() < LOOK_AGAIN {
            return;
        }
        self.looked = now();
        self.follow(context);
    }

    fn kernel_times(&self, session: &Session) -> Vec<(String, Duration)> {
        session.kernel_times()
    }
}

#[expect(clippy::disallowed_methods, reason = "interfaces are looked for now and then")]
fn now() -> Instant {
    Instant::now()
}
