//! Interfaces that are followed: they come and go with containers and drivers, and come again under the
//! same name.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use glob::Pattern;

use super::interfaces::{self, Interfaces};
use crate::agent::source::contract::{Between, Context};
use crate::config::{Config, TapConfig};
use crate::ingest::af_packet::Promiscuous;
use crate::ingest::link_events::{LOOK_AGAIN, LinkWatch};
use crate::live::packets::{self, Choice, Packets, PacketsConfig};
use crate::live::session::Session;
use railscope_core::model::health::event::HealthEvent;

/// Most names of interfaces ever: a node that makes containers for months has ever new ones, and each tap
/// is kept in reports and metrics.
const NAME_LIMIT: usize = 1024;

const NO_MATCH: &str = "no interface matches";

/// The interfaces that are followed, and the patterns that choose them.
pub(super) struct Taps {
    settings: TapConfig,
    /// Whether kernel programs log.
    logs: bool,
    watch: LinkWatch,
    /// Patterns that match nothing now.
    waiting: BTreeSet<Pattern>,
    /// Interfaces by name: the kernel's index, and which kind of source sees it.
    followed: BTreeMap<String, (usize, &'static str)>,
    /// Those that the settings name, not by a pattern, which may be mirror ports, and those that are.
    named: BTreeMap<String, Promiscuous>,
    /// Those of them that do not, as was said.
    deaf: BTreeSet<String>,
    /// Interfaces that cannot be observed, as they are now.
    refused: Interfaces,
    /// Every name that was ever followed.
    names: BTreeSet<String>,
    is_limit_said: bool,
    /// The kind of the open source.
    kind: Option<&'static str>,
}

impl Taps {
    /// Follows the matching interfaces, and says once which patterns match none.
    pub(super) fn open(config: &Config, context: &mut Context<'_>) -> Self {
        let mut taps = Self {
            settings: config.taps.clone(),
            logs: config.logs_kernel_programs,
            watch: LinkWatch::new(),
            waiting: BTreeSet::new(),
            followed: BTreeMap::new(),
            named: BTreeMap::new(),
            deaf: BTreeSet::new(),
            refused: BTreeMap::new(),
            names: BTreeSet::new(),
            is_limit_said: false,
            kind: None,
        };
        taps.look(context);
        taps.say_waiting(context);
        taps
    }

    fn say_waiting(&self, context: &mut Context<'_>) {
        for pattern in &self.waiting {
            let every = LOOK_AGAIN.as_secs();
            (context.say)(format!(
                "packets: no interface matches `{pattern}`; looking again every {every} s"
            ));
        }
    }

    /// Lets go of interfaces that are gone, and follows those that are there.
    fn look(&mut self, context: &mut Context<'_>) {
        let there = match interfaces::ethernet() {
            Ok(there) => there,
            Err(error) => {
                context.visibility.remove("packets", "none");
                context.visibility.add_blind("packets", "none", "interfaces cannot be listed");
                if self.refused.insert(String::new(), 0).is_none() {
                    (context.say)(format!("packets: interfaces cannot be listed: {error}"));
                }
                return;
            }
        };
        context.visibility.remove("packets", "none");
        let mut found = BTreeSet::new();
        for pattern in &self.settings.interfaces {
            let matching = interfaces::matching(pattern, &self.settings.exclude, &there);
            let name = pattern.as_str();
            if !matching.is_empty() {
                if self.waiting.remove(pattern) {
                    context.visibility.remove("packets", name);
                }
            } else if self.waiting.insert(pattern.clone()) {
                context.visibility.add_blind("packets", name, NO_MATCH);
            }
            found.extend(matching);
        }
        self.let_go(&there, &found, context);
        found.retain(|name| !self.followed.contains_key(name) && !self.refused.contains_key(name));
        self.limit(&mut found, context);
        if !found.is_empty() {
            self.follow(&found, &there, context);
        }
        self.hold_named(context);
    }

    /// Asks for every frame where the settings name the interface, or call it a mirror port.
    fn hold_named(&mut self, context: &mut Context<'_>) {
        let (TapConfig { interfaces, mirrors, .. }, followed) = (&self.settings, &self.followed);
        let is_named = |name: &str| {
            interfaces.iter().any(|pattern| pattern.as_str() == name)
                || mirrors.iter().any(|pattern| pattern.matches(name))
        };
        self.named.retain(|name, _| is_named(name) && followed.contains_key(name));
        self.deaf.retain(|name| is_named(name) && followed.contains_key(name));
        for name in followed.keys().filter(|name| is_named(name)) {
            if self.named.contains_key(name) {
                continue;
            }
            match Promiscuous::open(name) {
                Ok(promiscuous) => _ = self.named.insert(name.clone(), promiscuous),
                Err(_) if self.deaf.contains(name) => {}
                Err(error) => {
                    self.deaf.insert(name.clone());
                    (context.say)(format!(
                        "packets: {name}: no frames to other hosts, as a mirror sends them: {error}"
                    ));
                }
            }
        }
    }

    /// Lets go of interfaces that were removed, or made again, and of those that are not `wanted` any more.
    fn let_go(&mut self, there: &Interfaces, wanted: &BTreeSet<String>, context: &mut Context<'_>) {
        self.refused.retain(|name, index| {
            let is_there = there.get(name) == Some(index);
            if !is_there {
                context.visibility.remove("packets", name);
            }
            is_there
        });
        let gone = self.followed.extract_if(.., |name, (index, _)| {
            there.get(name) != Some(index) || !wanted.contains(name)
        });
        for (name, (index, kind)) in gone {
            context.session.forget(&name);
            self.named.remove(&name);
            context.visibility.remove(kind, &name);
            if there.get(&name) == Some(&index) {
                (context.say)(format!("packets: the interface {name} is followed no more"));
                continue;
            }
            context.session.pipeline_mut().add_health(HealthEvent::SourceDevicesRemoved, 1);
            (context.say)(format!("packets: the interface {name} was removed"));
        }
    }

    /// Leaves out names beyond the limit.
    fn limit(&mut self, found: &mut BTreeSet<String>, context: &mut Context<'_>) {
        let mut room = NAME_LIMIT - self.names.len();
        found.retain(|name| {
            let is_kept = self.names.contains(name) || room > 0;
            room -= usize::from(is_kept && !self.names.contains(name));
            is_kept || {
                if !std::mem::replace(&mut self.is_limit_said, true) {
                    let why = "too many interfaces";
                    context.visibility.add_blind("packets", "others", why);
                    (context.say)(format!(
                        "packets: {NAME_LIMIT} interfaces were followed so far; {name} and others that are new \
                         are not: name those that matter in taps.interfaces, or leave out those of containers \
                         with taps.exclude"
                    ));
                }
                false
            }
        });
    }

    fn follow(&mut self, found: &BTreeSet<String>, there: &Interfaces, context: &mut Context<'_>) {
        let names: Vec<String> = found.iter().cloned().collect();
        let Some(kind) = self.kind else { return self.begin(names, there, context) };
        for name in names {
            match context.session.follow(&name) {
                Some(Ok(())) => {
                    let again = if self.names.contains(&name) { " again" } else { "" };
                    (context.say)(format!("packets: the interface {name} is followed{again}"));
                    self.add(name, kind, there, context);
                }
                Some(Err(error)) => self.refuse(name, there, &error, context),
                None => {}
            }
        }
    }

    /// Opens the source.
    fn begin(&mut self, names: Vec<String>, there: &Interfaces, context: &mut Context<'_>) {
        let config = PacketsConfig {
            interfaces: names.clone(),
            mirrors: self.settings.mirrors.clone(),
            logs_losses: self.logs,
            ..PacketsConfig::default()
        };
        match packets::open(Choice::Auto, config) {
            Ok(Packets { source, name: kind, why_not_better }) => {
                if let Some(why) = why_not_better {
                    context.visibility.remove("ebpf", "all");
                    let reason = "kernel programs cannot be loaded";
                    context.visibility.add_blind("ebpf", "all", reason);
                    (context.say)(format!(
                        "capturing with packet sockets instead of kernel programs: {why}"
                    ));
                }
                self.kind = Some(kind);
                source.completeness().into_iter().for_each(&mut *context.say);
                context.session.add(source);
                for name in names {
                    self.add(name, kind, there, context);
                }
            }
            Err(error) => {
                // One of them may have gone meanwhile: then the others are tried again.
                let now = interfaces::ethernet().unwrap_or_default();
                if names.iter().any(|name| now.get(name) != there.get(name)) {
                    self.watch.hurry();
                    return;
                }
                for name in names {
                    self.refuse(name, there, &error, context);
                }
            }
        }
    }

    fn add(
        &mut self,
        name: String,
        kind: &'static str,
        there: &Interfaces,
        context: &mut Context<'_>,
    ) {
        context.visibility.add_seeing(kind, &name);
        self.names.insert(name.clone());
        let index = there.get(&name).copied().unwrap_or(0);
        self.followed.insert(name, (index, kind));
    }

    fn refuse(
        &mut self,
        name: String,
        there: &Interfaces,
        error: &dyn std::fmt::Display,
        context: &mut Context<'_>,
    ) {
        context.visibility.add_blind("packets", &name, "not allowed");
        (context.say)(format!("packets: {error}"));
        let index = there.get(&name).copied().unwrap_or(0);
        self.refused.insert(name, index);
    }
}

impl Between for Taps {
    fn read(&mut self, context: &mut Context<'_>) {
        if self.watch.take_due() {
            self.look(context);
        }
    }

    fn configure(&mut self, config: &Config, context: &mut Context<'_>) {
        if self.settings == config.taps {
            return;
        }
        // Where programs are attached does not change while they run.
        let mirrors = std::mem::take(&mut self.settings.mirrors);
        self.settings = TapConfig { mirrors, ..config.taps.clone() };
        for pattern in std::mem::take(&mut self.waiting) {
            context.visibility.remove("packets", pattern.as_str());
        }
        for name in std::mem::take(&mut self.refused).into_keys() {
            context.visibility.remove("packets", &name);
        }
        self.look(context);
        self.say_waiting(context);
    }

    fn kernel_times(&self, session: &Session) -> Vec<(String, Duration)> {
        session.kernel_times()
    }
}
