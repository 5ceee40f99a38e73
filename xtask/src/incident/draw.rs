//! Scenarios of the simulator, drawn from a seed: a job, its main fault, and in half of them a second,
//! smaller one.

use std::fmt::Write as _;

use fastrand::Rng;
use railscope_testbed::broken::Fault;

use super::kind::{Expected, Kind};

/// A scenario with what it must show.
#[derive(Clone, Debug)]
pub(crate) struct Drawn {
    pub(crate) source: Source,
    /// No frame holds enough of the bootstrap to read it.
    pub(crate) is_cut: bool,
    pub(crate) expected: Expected,
    /// What else is wrong, in words.
    pub(crate) second: Option<String>,
}

/// How a job is made.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    /// In virtual time.
    Simulated {
        /// The scenario.
        scenario: String,
    },
    /// By the driver, in network namespaces.
    Driven {
        /// Its options.
        options: Vec<String>,
        /// How often, one after the other.
        runs: u32,
    },
    /// By the driver, in network namespaces, until a fault stops it.
    Broken {
        /// Its options.
        options: Vec<String>,
        /// Its ranks.
        ranks: u32,
        /// What the port of each has captured when it happens, in bytes.
        data_bytes: u64,
        /// The fault.
        fault: Fault,
    },
}

impl Source {
    /// What makes two jobs the same.
    pub(crate) fn recipe(&self) -> String {
        match self {
            Self::Simulated { scenario } => scenario.clone(),
            Self::Driven { options, runs } => format!("{runs} x drive {}", options.join(" ")),
            Self::Broken { options, data_bytes, fault, .. } => {
                format!("drive {}, after {data_bytes} bytes {fault:?}", options.join(" "))
            }
        }
    }
}

/// Training steps of a job, after one warm-up.
const ITERATIONS: u32 = 24;

/// Draws a scenario of `kind`.
pub(crate) fn draw(kind: Kind, seed: u64) -> Drawn {
    let mut rng = Rng::with_seed(seed.wrapping_mul(0x9e37_79b9).wrapping_add(kind as u64));
    let mut draft = Draft::new(&mut rng);
    let ring = draft.hosts;
    let expected = Expected { ring, ..draft.main(kind) };
    if kind.is_driven() {
        return draft.driven(kind, seed, expected);
    }
    if !kind.is_healthy() {
        draft.mark_fault();
    }
    let second = (!kind.is_healthy() && draft.rng.bool()).then(|| draft.second(kind));
    let source = Source::Simulated { scenario: draft.toml(kind, seed) };
    Drawn { source, is_cut: is_cut(seed), expected, second: second.flatten() }
}

/// One job in three.
pub(super) const fn is_cut(seed: u64) -> bool {
    seed / 2 % 3 == 2
}

/// Lines around the main fault in a scenario: without what is between them, the same job is healthy, or has its
/// second fault alone.
pub(crate) const FAULT: [&str; 2] = ["# The fault:\n", "# End of the fault.\n"];

struct Draft<'a> {
    rng: &'a mut Rng,
    hosts: u32,
    /// Of these, hosts of the job.
    ring: u32,
    hosts_per_leaf: u32,
    compute_ms: f64,
    jitter_ms: f64,
    cpu: &'static str,
    ib_timeout: u8,
    /// Keys of the job, and tables behind it.
    job: String,
    tables: String,
    fabric: String,
    /// Instead of those that the seed chooses.
    buckets: Option<&'static str>,
    /// The host of the main fault.
    sick: u32,
}

impl<'a> Draft<'a> {
    fn new(rng: &'a mut Rng) -> Self {
        let hosts = rng.u32(2..=8);
        let compute_ms = 4.0 + rng.f64() * 12.0;
        Self {
            hosts,
            ring: hosts,
            hosts_per_leaf: rng.u32(2..=4),
            jitter_ms: compute_ms * (0.01 + 0.02 * rng.f64()),
            compute_ms,
            cpu: if rng.bool() { "ahead" } else { "synchronous" },
            ib_timeout: rng.u8(12..=14),
            job: String::new(),
            tables: String::new(),
            fabric: String::new(),
            buckets: None,
            sick: rng.u32(0..hosts),
            rng,
        }
    }

    /// The port of the leaf towards a host.
    fn towards(&self, host: u32) -> String {
        format!("leaf{}:host{host}", host / self.hosts_per_leaf)
    }

    /// A host that is not the sick one.
    fn other(&mut self) -> u32 {
        (self.sick + self.rng.u32(1..self.ring)) % self.ring
    }

    fn mark_fault(&mut self) {
        let [begin, end] = FAULT;
        if !self.tables.is_empty() {
            self.tables = format!("\n{begin}{}\n{end}", self.tables);
        }
    }

    fn share(&mut self, least: f64, most: f64) -> String {
        format!("{:.3}%", least + self.rng.f64() * (most - least))
    }

    fn table(&mut self, name: &str, keys: &[(&str, String)]) {
        write!(self.tables, "\n[[{name}]]\n").unwrap_or_default();
        for (key, value) in keys {
            writeln!(self.tables, "{key} = {value}").unwrap_or_default();
        }
    }

    /// About when training is half over: the network is dead for a second, which queue pairs survive.
    fn dead_span(&mut self) -> [(&'static str, String); 2] {
        self.ib_timeout = self.rng.u8(16..=17);
        let iteration_ms = self.compute_ms + 4.0;
        let from = 60.0 + iteration_ms * (6.0 + 6.0 * self.rng.f64());
        [("from", format!("\"{from:.0}ms\"")), ("until", format!("\"{:.0}ms\"", from + 1000.0))]
    }

    fn main(&mut self, kind: Kind) -> Expected {
        let sick = self.sick;
        let at = |class, direction| Expected {
            classes: vec![class],
            host: Some(sick),
            direction: Some(direction),
            ..Expected::default()
        };
        let late =
            |class| Expected { classes: vec![class], rank: Some(sick), ..Expected::default() };
        let quoted = |text: String| format!("\"{text}\"");
        match kind {
            Kind::LossTowards => {
                let (port, share) = (self.towards(sick), self.share(0.3, 1.5));
                self.table("loss", &[("port", quoted(port)), ("share", quoted(share))]);
                at("loss", "towards")
            }
            Kind::LossFrom => {
                let share = self.share(0.3, 1.5);
                self.table(
                    "loss",
                    &[("port", quoted(format!("host{sick}"))), ("share", quoted(share))],
                );
                at("loss", "from")
            }
            Kind::LossOfAcks => {
                let (port, share) = (self.towards(sick), self.share(40.0, 60.0));
                self.table(
                    "loss",
                    &[
                        ("port", quoted(port)),
                        ("share", quoted(share)),
                        ("only", quoted("acks".into())),
                    ],
                );
                at("loss", "towards")
            }
            Kind::Reordering => {
                let (port, share) = (self.towards(sick), self.share(2.0, 5.0));
                self.table(
                    "reorder",
                    &[
                        ("port", quoted(port)),
                        ("share", quoted(share)),
                        ("delay", quoted("20us".into())),
                    ],
                );
                at("reordering", "towards")
            }
            Kind::Congestion => self.congestion(),
            Kind::Pause => {
                // Chunks that fill the buffer of the NIC.
                self.buckets = Some("\"4MiB\"");
                let rate = 4 + self.rng.u32(0..5);
                self.table(
                    "slow_nic",
                    &[
                        ("nic", quoted(format!("host{sick}"))),
                        ("rate", quoted(format!("{}M", rate * 100))),
                    ],
                );
                Expected { classes: vec!["pause"], host: Some(sick), ..Expected::default() }
            }
            Kind::SlowReceiver => {
                let delay = 300 + self.rng.u32(0..500);
                self.table(
                    "slow_receiver",
                    &[("rank", sick.to_string()), ("delay", quoted(format!("{delay}us")))],
                );
                late("slow_receiver")
            }
            Kind::LateCpu => {
                self.cpu = "synchronous";
                self.straggle(sick, "enqueue", 0.4, 1.0);
                late("late_rank")
            }
            Kind::LateGpu => {
                self.cpu = "ahead";
                self.straggle(sick, "compute", 0.4, 1.0);
                late("late_rank")
            }
            Kind::LateOnce => {
                let cause = if self.cpu == "ahead" { "compute" } else { "enqueue" };
                let (iteration, delay_s) = (self.rng.u32(2..ITERATIONS), self.rng.u32(2..60));
                self.table(
                    "straggler",
                    &[
                        ("rank", sick.to_string()),
                        ("delay", quoted(format!("{delay_s}s"))),
                        ("cause", quoted(cause.into())),
                        ("iterations", format!("[{iteration}, {iteration}]")),
                    ],
                );
                late("late_rank")
            }
            Kind::PortDeadTowards | Kind::PortDeadFrom => {
                let is_towards = kind == Kind::PortDeadTowards;
                let port = if is_towards { self.towards(sick) } else { format!("host{sick}") };
                let [from, until] = self.dead_span();
                self.table(
                    "loss",
                    &[("port", quoted(port)), ("share", quoted("100%".into())), from, until],
                );
                // Of two hosts, each port is the whole path.
                let mut expected = at("port_down", if is_towards { "towards" } else { "from" });
                if self.hosts == 2 {
                    expected.classes.push("path_dead");
                }
                expected
            }
            Kind::PortDeadBoth => {
                let [from, until] = self.dead_span();
                self.table("flap", &[("port", quoted(format!("host{sick}"))), from, until]);
                let mut expected = at("port_down", "both");
                if self.hosts == 2 {
                    expected.classes.push("path_dead");
                }
                expected
            }
            Kind::PathDead => self.path_dead(),
            Kind::Healthy => Expected::default(),
            Kind::HealthyJitter => {
                self.jitter_ms = self.compute_ms * (0.25 + 0.25 * self.rng.f64());
                Expected { info: Some("compute_varies"), ..Expected::default() }
            }
            Kind::HealthyStutter => {
                // Garbage collection: any rank, now and then, for a moment.
                for _ in 0..self.rng.u32(3..8) {
                    let (rank, iteration) =
                        (self.rng.u32(0..self.hosts), self.rng.u32(2..ITERATIONS));
                    let delay = self.compute_ms * (0.1 + 0.3 * self.rng.f64());
                    self.table(
                        "straggler",
                        &[
                            ("rank", rank.to_string()),
                            ("delay", quoted(format!("{:.0}us", delay * 1000.0))),
                            ("cause", quoted("compute".into())),
                            ("iterations", format!("[{iteration}, {iteration}]")),
                        ],
                    );
                }
                Expected::default()
            }
            Kind::HealthyWarmUp => {
                let rank = self.rng.u32(0..self.hosts);
                let delay = self.compute_ms * (3.0 + 5.0 * self.rng.f64());
                self.table(
                    "straggler",
                    &[
                        ("rank", rank.to_string()),
                        ("delay", quoted(format!("{:.0}us", delay * 1000.0))),
                        ("cause", quoted("compute".into())),
                        ("iterations", "[0, 0]".into()),
                    ],
                );
                Expected::default()
            }
            Kind::HealthyEvaluation | Kind::HealthyCheckpoint => {
                let purpose =
                    if kind == Kind::HealthyEvaluation { "evaluation" } else { "checkpoint" };
                let after = self.rng.u32(5..10);
                let time = self.compute_ms * (5.0 + 10.0 * self.rng.f64());
                self.job += &format!(
                    "pause = [{{ after = {after}, time = \"{time:.0}ms\", purpose = \"{purpose}\" }}]\n"
                );
                Expected::default()
            }
            Kind::LossWhileSprayed => {
                self.spray();
                let (port, share) = (self.towards(sick), self.share(0.05, 0.2));
                self.table("loss", &[("port", quoted(port)), ("share", quoted(share))]);
                at("loss", "towards")
            }
            Kind::HealthySprayed => {
                self.spray();
                Expected::default()
            }
            Kind::Sockets => Expected { classes: vec!["socket_fallback"], ..Expected::default() },
            Kind::SlowSocket => Expected {
                classes: vec!["socket_fallback"],
                slow_socket: Some(sick % self.driven_ranks()),
                ..Expected::default()
            },
            Kind::HealthyAgain => Expected::default(),
        }
    }

    /// Packets go over two to four spines of different delay. Every host has a leaf of its own, so that
    /// no path stays below the spines.
    fn spray(&mut self) {
        self.hosts_per_leaf = 1;
        let spines = self.rng.u32(2..=4);
        let delay = |rng: &mut Rng| format!("\"{}ns\"", 500 + rng.u32(0..25_000));
        let delays: Vec<String> = (0..spines).map(|_| delay(self.rng)).collect();
        let delays = delays.join(", ");
        self.fabric = format!("spines = {spines}\nspray = true\nuplink_delays = [{delays}]\n");
    }

    fn straggle(&mut self, rank: u32, cause: &str, least: f64, most: f64) {
        let delay = self.compute_ms * (least + self.rng.f64() * (most - least));
        self.table(
            "straggler",
            &[
                ("rank", rank.to_string()),
                ("delay", format!("\"{:.0}us\"", delay * 1000.0)),
                ("cause", format!("\"{cause}\"")),
            ],
        );
    }

    /// A neighbour's datagrams share the last hop to the sick host.
    fn congestion(&mut self) -> Expected {
        let (job_hosts, neighbour) = (self.hosts, self.hosts);
        self.hosts += 1;
        let hosts: Vec<String> = (0..job_hosts).map(|host| host.to_string()).collect();
        self.job += &format!("hosts = [{}]\nchannels = 4\n", hosts.join(", "));
        self.fabric += "\n[fabric.ecn]\nkmin = \"20KB\"\nkmax = \"200KB\"\n";
        let rate = 60 + self.rng.u32(0..25);
        self.table(
            "background",
            &[
                ("sender", format!("\"host{neighbour}\"")),
                ("receiver", format!("\"host{}\"", self.sick)),
                ("rate", format!("\"{}M\"", rate * 100)),
                ("dscp", "26".into()),
            ],
        );
        Expected {
            classes: vec!["congestion"],
            host: Some(self.sick),
            direction: Some("towards"),
            ..Expected::default()
        }
    }

    /// Packets from one rank of the ring to its neighbour vanish.
    fn path_dead(&mut self) -> Expected {
        let is_next = self.rng.bool();
        let ahead = if is_next { 1 } else { self.hosts - 1 };
        let peer = (self.sick + ahead) % self.hosts;
        let [from, until] = self.dead_span();
        self.table(
            "loss",
            &[
                ("port", format!("\"host{}\"", self.sick)),
                ("to", format!("\"host{peer}\"")),
                ("share", "\"100%\"".into()),
                from,
                until,
            ],
        );
        let mut expected = Expected {
            classes: vec!["path_dead"],
            host: Some(self.sick),
            peer: Some(peer),
            direction: Some("from"),
            ..Expected::default()
        };
        if self.hosts == 2 {
            expected.classes.push("port_down");
        }
        expected
    }

    /// A smaller fault of another kind at another host; `None` if there is no room for one.
    fn second(&mut self, main: Kind) -> Option<String> {
        let host = self.other();
        match self.rng.u32(0..3) {
            0 if !matches!(
                main,
                Kind::LateCpu | Kind::LateGpu | Kind::LateOnce | Kind::SlowReceiver
            ) =>
            {
                self.straggle(host, "compute", 0.015, 0.03);
                Some(format!("rank {host} late by a little"))
            }
            1 if !matches!(
                main,
                Kind::LossTowards
                    | Kind::LossFrom
                    | Kind::LossOfAcks
                    | Kind::LossWhileSprayed
                    | Kind::Reordering
                    | Kind::PortDeadTowards
                    | Kind::PortDeadFrom
                    | Kind::PortDeadBoth
                    | Kind::PathDead
            ) =>
            {
                let port = self.towards(host);
                self.table(
                    "loss",
                    &[("port", format!("\"{port}\"")), ("share", "\"0.01%\"".into())],
                );
                // Shorter timers keep it the smaller fault. Where pause holds packets up, they end the job.
                if main != Kind::Pause {
                    self.ib_timeout = 10;
                }
                Some(format!("0.01 % loss towards host {host}"))
            }
            _ => {
                let iteration = self.rng.u32(3..ITERATIONS);
                let delay = self.compute_ms * 0.2;
                self.table(
                    "straggler",
                    &[
                        ("rank", host.to_string()),
                        ("delay", format!("\"{:.0}us\"", delay * 1000.0)),
                        ("cause", "\"compute\"".into()),
                        ("iterations", format!("[{iteration}, {iteration}]")),
                    ],
                );
                Some(format!("rank {host} late in step {iteration}"))
            }
        }
    }

    /// Ranks of a job of the driver.
    fn driven_ranks(&self) -> u32 {
        self.hosts.min(4)
    }

    /// A job of the driver: over sockets, or three times on the same hosts.
    fn driven(&mut self, kind: Kind, seed: u64, expected: Expected) -> Drawn {
        let compute_us = self.compute_ms * 1000.0;
        let mut options: Vec<String> = [
            ("--ranks", self.driven_ranks().to_string()),
            ("--place", "netns".to_owned()),
            ("--iterations", "12".to_owned()),
            ("--buckets", "512KiB,128KiB".to_owned()),
            ("--compute", format!("{compute_us:.0}us")),
            ("--jitter", format!("{:.0}us", compute_us / 20.0)),
            ("--seed", seed.to_string()),
        ]
        .into_iter()
        .flat_map(|(name, value)| [name.to_owned(), value])
        .collect();
        let runs = if kind == Kind::HealthyAgain { 3 } else { 1 };
        if matches!(kind, Kind::Sockets | Kind::SlowSocket) {
            options.push("--socket-fallback".to_owned());
        }
        if let Some(rank) = expected.slow_socket {
            let next = (rank + 1) % self.driven_ranks();
            let rate = self.rng.u32(40..120);
            options.push("--slow-socket".to_owned());
            options.push(format!("edge={rank}-{next},rate={rate}M"));
        }
        // The log tells sockets from RDMA where no bootstrap does.
        let is_cut = is_cut(seed) && kind == Kind::HealthyAgain;
        Drawn { source: Source::Driven { options, runs }, is_cut, expected, second: None }
    }

    fn toml(&self, kind: Kind, seed: u64) -> String {
        let buckets = ["\"512KiB\", \"256KiB\"", "\"1MiB\"", "\"256KiB\", \"256KiB\", \"128KiB\""];
        let buckets = self.buckets.unwrap_or(buckets[seed as usize % buckets.len()]);
        format!(
            "title = \"{}, seed {seed}\"\nseed = {seed}\n\n[fabric]\nhosts = {}\nhosts_per_leaf = {}\n{}\n\
             [capture]\npause_frames = false\n\n[[job]]\niterations = {ITERATIONS}\nib_timeout = {}\n\
             compute = \"{:.0}us\"\njitter = \"{:.0}us\"\ncpu = \"{}\"\nbuckets = [{buckets}]\n{}{}",
            kind.name(),
            self.hosts,
            self.hosts_per_leaf,
            self.fabric,
            self.ib_timeout,
            self.compute_ms * 1000.0,
            self.jitter_ms * 1000.0,
            self.cpu,
            self.job,
            self.tables,
        )
    }
}
