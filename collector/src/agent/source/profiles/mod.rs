//! Waits that NCCL's profiler plugin records in processes of this host: on a node whose NICs bypass the
//! kernel nothing else shows why a rank was late.

mod needs;
mod ring;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use nix::time::{ClockId, clock_gettime};

use self::ring::{Ring, Turn};
use super::beside::{Beside, Delivery, MOST_NEEDED, delivery};
use super::contract::{Context, Opened, Opening, Source};
use super::processes::describe;
use crate::agent::deep::DeepMode;
use crate::config::{ProfileConfig, SourceConfig};
use crate::ingest::capability::{Host, Verdict};
use crate::ingest::process::Processes;
use crate::ingest::profile_ring::{FoundRing, RingSearch};
use railscope_core::model::health::event::HealthEvent;
use railscope_core::model::process::Process;

/// Rounds of the thread from one reading to the next, 1 s: a full ring holds several seconds.
const READ_EVERY: u32 = 4;

/// Rings that are read: of one user or container, and in all.
const PER_USER: usize = 32;
const MOST: usize = 128;

/// Time for all rings in a round; those that were not reached are first in the next one.
const READ_TIME: Duration = Duration::from_millis(150);

/// All rings, each with what is said of it, have room then.
const _: () = assert!((MOST + 1) * (ring::DELIVERIES + 2) <= MOST_NEEDED);

/// Segments of the window: the oldest one is forgotten when a new one begins.
const SEGMENTS: u32 = 5;

/// The source.
pub(super) struct Profiles;

impl Source for Profiles {
    fn key(&self) -> &'static str {
        "sources.profiles"
    }

    fn is_on(&self, on: SourceConfig) -> bool {
        on.profiles
    }

    fn needs(&self, host: &Host) -> Vec<Verdict> {
        vec![needs::needs(host)]
    }

    fn open(&self, opening: &Opening<'_>, _: &mut Context<'_>) -> Opened {
        let config = opening.config;
        let writes = !config.profiles.deep_on.is_empty();
        Opened::Beside(Box::new(Reading {
            search: RingSearch::new(&config.host.proc, &config.profiles.folder, writes),
            processes: opening.processes.clone(),
            settings: config.profiles.clone(),
            deep: Arc::clone(opening.deep),
            segment: (config.window.length / SEGMENTS).max(Duration::from_secs(1)),
            begun: now(),
            rotated: now(),
            rings: BTreeMap::new(),
            next: 0,
            after: 0,
            lent: 0,
            until_ns: 0,
            has_said_read_only: false,
        }))
    }
}

/// All rings of this host.
struct Reading {
    search: RingSearch,
    processes: Processes,
    settings: ProfileConfig,
    deep: Arc<DeepMode>,
    segment: Duration,
    begun: Instant,
    rotated: Instant,
    /// By a number of their own, in the order in which they were found.
    rings: BTreeMap<u64, Ring>,
    next: u64,
    /// The last one that was read.
    after: u64,
    /// How often events were asked for.
    lent: u64,
    /// Until when they were asked for the last time, by the monotonic clock.
    until_ns: u64,
    has_said_read_only: bool,
}

impl Beside for Reading {
    fn name(&self) -> &'static str {
        "profiles"
    }

    fn every(&self) -> u32 {
        READ_EVERY
    }

    fn needs(&self) -> usize {
        // A record that is not read stays in its ring; one that is dropped would leave a gap.
        MOST_NEEDED
    }

    fn read(&mut self, is_last: bool, deliver: &mut dyn FnMut(Delivery)) -> anyhow::Result<()> {
        let looked = if is_last { Ok(()) } else { self.look(deliver) };
        self.lend(deliver);
        self.turn(is_last, deliver);
        self.deep.set_rings(self.rings.len());
        if self.rotated.elapsed() >= self.segment {
            self.rotated = now();
            deliver(delivery(|pipeline, _| pipeline.profiles_mut().rotate(SEGMENTS as usize)));
        }
        looked
    }
}

impl Reading {
    /// Looks for new rings.
    fn look(&mut self, deliver: &mut dyn FnMut(Delivery)) -> anyhow::Result<()> {
        let Self { search, rings, .. } = self;
        let known = |pid| rings.values().any(|ring| ring.is_of(pid));
        let found = search.look(self.begun.elapsed(), &known)?;
        missed(HealthEvent::ProfilesUnanswered, search.take_unanswered(), deliver);
        missed(HealthEvent::ProfilesRefused, search.take_refused(), deliver);
        for one in found {
            self.add(one, deliver);
        }
        Ok(())
    }

    fn add(&mut self, found: FoundRing, deliver: &mut dyn FnMut(Delivery)) {
        if self.rings.values().any(|ring| ring.is_same(&found)) {
            return;
        }
        let Ok(process) = self.processes.identify(found.pid) else { return };
        // Most containers run as root: each counts by itself.
        let payer = payer(found.user, &process);
        let of_payer = self.rings.values().filter(|ring| ring.payer == payer).count();
        if of_payer >= PER_USER || self.rings.len() >= MOST {
            return missed(HealthEvent::ProfilesRefused, 1, deliver);
        }
        let name = format!("process {}: {}", found.pid, describe(&process));
        if !self.settings.deep_on.is_empty()
            && !found.ring.is_writable()
            && !self.has_said_read_only
        {
            self.has_said_read_only = true;
            say(
                "profiles: the ring of another user can be read, but events cannot be turned on: \
                 CAP_DAC_OVERRIDE is missing",
                deliver,
            );
        }
        say(&format!("profiles: {name} has a ring of NCCL's profiler plugin"), deliver);
        self.rings.insert(self.next, Ring::new(found, process.id, name, payer));
        self.next += 1;
    }

    /// Asks all processes for events, if that was asked for since the last time, and later those that were
    /// found meanwhile.
    fn lend(&mut self, deliver: &mut dyn FnMut(Delivery)) {
        let Ok(now) = clock_gettime(ClockId::CLOCK_MONOTONIC) else { return };
        let now = Duration::from(now);
        let asked = self.deep.asked();
        let is_new = asked != self.lent;
        if is_new {
            self.lent = asked;
            let until = now.saturating_add(self.settings.deep_for);
            self.until_ns = u64::try_from(until.as_nanos()).unwrap_or(0);
        }
        let until_ns = self.until_ns;
        if now >= Duration::from_nanos(until_ns) {
            return;
        }
        let events = u64::try_from(self.settings.deep_events).unwrap_or(0);
        let all = self.rings.len();
        let without = self.rings.values_mut().filter(|ring| ring.lent_until_ns() != until_ns);
        let lent = without.filter_map(|ring| ring.lend(events, until_ns).ok()).count();
        let length = humantime::format_duration(self.settings.deep_for);
        if is_new {
            let words =
                format!("profiles: events are on for {length} in {lent} of {all} processes");
            say(&words, deliver);
        } else if lent > 0 {
            say(&format!("profiles: events are on in {lent} more, found meanwhile"), deliver);
        }
    }

    /// Reads each ring, as far as time allows.
    fn turn(&mut self, is_last: bool, deliver: &mut dyn FnMut(Delivery)) {
        let begun = now();
        let behind = self.after.saturating_add(1);
        let order: Vec<u64> = self
            .rings
            .range(behind..)
            .chain(self.rings.range(..behind))
            .map(|(at, _)| *at)
            .collect();
        for number in order {
            if begun.elapsed() >= READ_TIME && !is_last {
                break;
            }
            self.after = number;
            let Some(ring) = self.rings.get_mut(&number) else { continue };
            // First whether it has ended, then what it wrote until then.
            let is_over = ring.is_removed() || self.processes.confirm(ring.process).is_err();
            let turn = ring.turn(number, deliver);
            if turn == Turn::Refused {
                missed(HealthEvent::ProfilesRefused, 1, deliver);
            }
            if turn == Turn::Refused || is_over || is_last {
                self.rings.remove(&number);
                deliver(delivery(move |pipeline, _| pipeline.profiles_mut().end(number)));
            }
        }
    }
}

/// Whose limit a ring counts against.
fn payer(user: u32, process: &Process) -> (u32, String) {
    // Others may give their containers any name.
    let container = process.container.as_ref().filter(|_| user == 0);
    (user, container.map(|container| container.id.clone()).unwrap_or_default())
}

fn missed(event: HealthEvent, count: u64, deliver: &mut dyn FnMut(Delivery)) {
    if count > 0 {
        deliver(delivery(move |pipeline, _| pipeline.add_health(event, count)));
    }
}

fn say(words: &str, deliver: &mut dyn FnMut(Delivery)) {
    let words = words.to_owned();
    deliver(delivery(move |_, say| say(words)));
}

#[expect(clippy::disallowed_methods, reason = "rings are read now and then")]
fn now() -> Instant {
    Instant::now()
}
