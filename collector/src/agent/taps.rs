//! Packets of the interfaces that the settings name. Those that are not there yet are looked for.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use glob::Pattern;

use super::interfaces;
use super::own::Own;
use crate::config::{Config, TapConfig};
use crate::live::packets::{self, Choice, Packets};
use crate::live::session::Session;

/// How often interfaces are looked for that were not there.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// Interfaces that are followed, and patterns that wait for theirs. A pattern that has matched waits no
/// longer: where interfaces come and go with containers, each would cost the room of a ring.
pub(super) struct Taps {
    settings: TapConfig,
    /// Whether kernel programs log.
    logs: bool,
    waiting: Vec<Pattern>,
    followed: BTreeSet<String>,
    looked: Instant,
}

impl Taps {
    /// Follows what is there; `say` hears once which patterns match nothing.
    pub(super) fn open(
        config: &Config,
        session: &mut Session,
        own: &mut Own,
        say: &mut dyn FnMut(String),
    ) -> Self {
        let settings = config.taps.clone();
        let is_wanted = config.sources.packets;
        let waiting = if is_wanted { settings.interfaces.clone() } else { Vec::new() };
        let logs = config.logs_kernel_programs;
        let mut taps = Self { settings, logs, waiting, followed: BTreeSet::new(), looked: now() };
        if is_wanted {
            taps.follow(session, own, say);
        }
        for pattern in &taps.waiting {
            own.add_blind("packets", pattern.as_str(), "no interface matches");
            let every = LOOK_AGAIN.as_secs();
            say(format!(
                "packets: no interface matches `{pattern}`; looking again every {every} s"
            ));
        }
        taps
    }

    /// Follows what has come since, now and then.
    pub(super) fn look(
        &mut self,
        session: &mut Session,
        own: &mut Own,
        say: &mut dyn FnMut(String),
    ) {
        if self.waiting.is_empty() || self.looked.elapsed() < LOOK_AGAIN {
            return;
        }
        self.looked = now();
        self.follow(session, own, say);
    }

    /// Follows the interfaces that waiting patterns match.
    fn follow(&mut self, session: &mut Session, own: &mut Own, say: &mut dyn FnMut(String)) {
        let there = match interfaces::ethernet() {
            Ok(there) => there,
            Err(error) => {
                own.add_blind("packets", "none", "interfaces cannot be listed");
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
            own.remove("packets", pattern.as_str());
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
                    own.remove("ebpf", "all");
                    own.add_blind("ebpf", "all", "kernel programs cannot be loaded");
                    say(format!("packets by packet sockets, not by kernel programs: {why}"));
                }
                names.iter().for_each(|interface| own.add_seeing(name, interface));
                source.completeness().into_iter().for_each(say);
                session.add(source);
            }
            Err(error) => {
                names.iter().for_each(|name| own.add_blind("packets", name, "not allowed"));
                say(format!("packets: {error}"));
            }
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "interfaces are looked for now and then")]
fn now() -> Instant {
    Instant::now()
}
