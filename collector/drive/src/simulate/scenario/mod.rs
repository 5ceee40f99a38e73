//! A scenario in TOML: the fabric, its jobs, what goes wrong, and what is captured.
//!
//! `check` rejects impossible ones, `map` names all NICs, switches and ports.

pub mod fabric;
pub mod job;
pub mod map;
pub mod quantity;
pub mod trouble;

mod check;
pub mod gallery;

use std::collections::BTreeSet;

use serde::Deserialize;

use fabric::Fabric;
use job::Job;
use map::{Map, Node};
use quantity::Time;
use trouble::{
    Background, Flap, Halt, Loss, NotEct, PauseStorm, Reorder, SlowNic, SlowReceiver, Straggler,
    WrongDscp,
};

/// A scenario file: the fabric, its jobs, its faults, and what railscope must find.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// What it shows, in one line.
    pub title: String,
    /// Seed of random choices.
    #[serde(default = "first_seed")]
    pub seed: u64,
    /// Hosts and switches.
    #[serde(default)]
    pub fabric: Fabric,
    /// At least one.
    pub job: Vec<Job>,
    /// Late ranks.
    #[serde(default)]
    pub straggler: Vec<Straggler>,
    /// Ranks that are slow to use what they received.
    #[serde(default)]
    pub slow_receiver: Vec<SlowReceiver>,
    /// Links that drop packets.
    #[serde(default)]
    pub loss: Vec<Loss>,
    /// Links that reorder packets.
    #[serde(default)]
    pub reorder: Vec<Reorder>,
    /// Links that go down and come back.
    #[serde(default)]
    pub flap: Vec<Flap>,
    /// Traffic outside the jobs.
    #[serde(default)]
    pub background: Vec<Background>,
    /// NICs that receive slowly.
    #[serde(default)]
    pub slow_nic: Vec<SlowNic>,
    /// NICs that send pause frames continuously.
    #[serde(default)]
    pub pause_storm: Vec<PauseStorm>,
    /// Ranks that take no part any more.
    #[serde(default)]
    pub halt: Vec<Halt>,
    /// Hosts that send with another DSCP.
    #[serde(default)]
    pub wrong_dscp: Vec<WrongDscp>,
    /// Links that clear ECN.
    #[serde(default)]
    pub not_ect: Vec<NotEct>,
    /// Captures.
    #[serde(default)]
    pub capture: Capture,
    /// What railscope must find, and nothing else.
    #[serde(default)]
    pub expect: Vec<Expect>,
}

/// What is captured.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Capture {
    /// Captured ports: `host3`, `leaf1:uplink0`; empty: all hosts.
    pub taps: Vec<String>,
    /// Bytes kept of each RoCE frame; TCP frames are kept whole, as by a second capture with a
    /// filter.
    pub snaplen: u32,
    /// Whether taps see pause frames, as an optical splitter does; a capture on a NIC and most
    /// mirrors do not.
    pub pause_frames: bool,
    /// Interval between readings of NIC counters.
    pub counters_every: Time,
    /// When the simulation ends, though jobs are not done; without it, a job that hangs never ends.
    pub until: Option<Time>,
    /// Whether the ranks of job 0 that still run write a dump of PyTorch's flight recorder at the end.
    pub flight_recorder: bool,
    /// Whether NCCL's RAS is asked about job 0, twice, a minute after the end: only of a job that hangs,
    /// which has not moved in between.
    pub ras: bool,
}

/// A finding that railscope must report.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expect {
    /// Its id.
    pub finding: String,
    /// The rank it is about.
    pub rank: Option<u32>,
    /// Its cause, if the finding has causes.
    pub cause: Option<String>,
    /// The port or host it is about; `most_marked`: the port that marked most frames, which depends
    /// on the seed.
    pub place: Option<String>,
    /// Whether it appears with some seeds only.
    #[serde(default)]
    pub is_possible: bool,
}

/// A tap: a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tap {
    /// `host3`, `leaf1:uplink0`.
    pub name: String,
    /// Its ports; a host has one for each of its NICs.
    pub ports: Vec<String>,
}

impl Default for Capture {
    fn default() -> Self {
        Self {
            taps: Vec::new(),
            snaplen: 128,
            pause_frames: true,
            counters_every: Time(10_000_000),
            until: None,
            flight_recorder: false,
            ras: false,
        }
    }
}

impl Scenario {
    /// Parses a scenario.
    ///
    /// # Errors
    /// It is not TOML, has unknown keys or impossible values; the text has the line if there is
    /// one.
    pub fn parse(toml: &str) -> Result<Self, String> {
        let scenario: Self = toml::from_str(toml).map_err(|error| error.to_string())?;
        scenario.check()?;
        Ok(scenario)
    }

    /// The requested taps.
    #[must_use]
    pub fn taps(&self, map: &Map) -> Vec<Tap> {
        let all = (0..self.fabric.hosts).map(|host| format!("host{host}"));
        let asked = &self.capture.taps;
        let names: Vec<_> = if asked.is_empty() { all.collect() } else { asked.clone() };
        let tap = |name: String| {
            let nics = map.nics_of_host(&name).into_iter();
            let mut ports: Vec<_> = nics.map(|nic| map.nics[nic].name.clone()).collect();
            if ports.is_empty() {
                ports.push(name.clone());
            }
            Tap { name, ports }
        };
        names.into_iter().map(tap).collect()
    }

    /// The hosts whose traffic some tap sees, at least in part.
    #[must_use]
    pub fn watched_hosts(&self, map: &Map) -> BTreeSet<u32> {
        let taps = self.taps(map);
        let ports = taps.iter().flat_map(|tap| &tap.ports);
        let links = ports.filter_map(|port| map.links.get(map.port(port)?.link));
        let ends: BTreeSet<Node> = links.map(|link| link.ends[0].node).collect();
        let sees_switch = ends.iter().any(|end| matches!(end, Node::Switch(_)));
        let is_watched = |nic: usize| sees_switch || ends.contains(&Node::Nic(nic));
        let nics = (0..).zip(&map.nics).filter(|(nic, _)| is_watched(*nic));
        nics.map(|(_, nic)| nic.host).collect()
    }
}

const fn first_seed() -> u64 {
    1
}
