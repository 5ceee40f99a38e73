//! Which hosts of a job reach each other, and how fast: a matrix, measured by the hosts themselves.
//!
//! The same command runs on every host. There is no master: each [`host`] opens its `door` and
//! dials the others, computes the same [`schedule`], measures with its partner of each round
//! (`pair`: `tcp` and RDMA), and gives its row to all others (`gossip`). Each then has the
//! whole [`matrix`] and comes to the same [`judge`]ment.

mod clock;
mod dial;
mod door;
mod gossip;
pub mod host;
pub mod json;
pub mod judge;
mod link;
pub mod matrix;
mod meeting;
mod pair;
mod protocol;
pub mod rails;
pub mod schedule;
mod session;
pub mod sick;
pub mod statistic;
mod tcp;
pub mod text;
pub mod words;
#[cfg(feature = "verbs")]
#[path = "verbs.rs"]
mod transport;
#[cfg(not(feature = "verbs"))]
#[path = "no_verbs.rs"]
mod transport;

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::sync_channel;
use std::time::Duration;

use self::clock::now;
use self::door::Door;
use self::host::{Host, Machine};
use self::matrix::{Absence, Matrix, Row};
use self::pair::Bench;
use self::protocol::Member;
use self::rails::RailSettings;
use self::session::{Session, bit};

/// The port, unless another one is given.
pub const PORT: u16 = 18516;

/// Most TCP connections of a bandwidth measurement.
pub const MOST_STREAMS: usize = 16;

/// What to measure, and with whom.
#[derive(Clone, Debug)]
pub struct Settings {
    /// All hosts, in the same order on each of them.
    pub hosts: Vec<Host>,
    /// Which one this is.
    pub me: usize,
    /// Where hosts listen that name no port of their own.
    pub port: u16,
    /// How long to wait for the others.
    pub wait: Duration,
    /// Time of a bandwidth measurement; `None` measures round trips only.
    pub time: Option<Duration>,
    /// TCP connections of a bandwidth measurement.
    pub streams: usize,
    /// Also between devices of different rails.
    pub is_cross_rail: bool,
    /// Over which RDMA ports.
    pub rails: RailSettings,
}

impl Settings {
    /// The options that must be the same on all hosts.
    fn options(&self) -> String {
        let time = self
            .time
            .map_or_else(|| "no bandwidth".to_owned(), |time| format!("{} s", time.as_secs_f64()));
        let rails = if self.is_cross_rail { ", cross-rail" } else { "" };
        format!("{time}, {} streams{rails}", self.streams)
    }
}

/// What came of it on this host.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Everything that this host knows.
    pub matrix: Matrix,
    /// Whether this host prints: the first of those that run.
    pub is_reporter: bool,
}

/// Runs the ping; `say` gets what a user should know meanwhile.
///
/// # Errors
/// The port cannot be opened.
pub fn run(settings: &Settings, say: &mut dyn FnMut(String)) -> io::Result<Outcome> {
    let found = rails::find(&settings.rails, &Machine::this());
    let names: Vec<String> = settings.hosts.iter().map(|host| host.name.clone()).collect();
    let own = Member {
        host: settings.me,
        hosts: names.clone(),
        options: settings.options(),
        devices: found.devices.clone(),
        rdma_note: found.note.as_deref().map(protocol::bounded),
    };
    let door = Arc::new(Door::new(own));
    let (events, queue) = sync_channel(link::QUEUE);
    let port = settings.hosts.get(settings.me).and_then(|host| host.port).unwrap_or(settings.port);
    let watch = door.open(port, &events)?;
    let mut session = Session::new(settings.me, names, queue);
    for host in session.others() {
        if let Some(at) = settings.hosts.get(host) {
            dial::dial(&door, host, at, settings.port, &events)?;
        }
    }
    meeting::wait_for_all(&mut session, settings.wait, say);
    door.has_begun.store(true, Ordering::SeqCst);

    let bench = Bench { settings, devices: &found.devices };
    let began = now();
    let rounds = schedule::rounds(settings.hosts.len());
    let due = |round: usize| {
        let rounds = u32::try_from(round + 1).unwrap_or(u32::MAX);
        began + settings.wait + bench.round().saturating_mul(rounds)
    };
    let mut row = Row { devices: found.devices.clone(), rdma_note: found.note, cells: Vec::new() };
    for round in 0..rounds {
        if let Some(peer) = schedule::partner(settings.hosts.len(), round, settings.me) {
            row.cells.push(pair::measure(&mut session, &bench, peer, round, due(round)));
        }
    }
    gossip::exchange(&mut session, row, due(rounds));
    door.is_over.store(true, Ordering::Relaxed);
    // The port is closed when this returns.
    _ = watch.join();
    Ok(outcome(&session, settings.wait))
}

fn outcome(session: &Session, wait: Duration) -> Outcome {
    let runs = |host: usize| {
        let has_row = session.rows.get(host).is_some_and(Option::is_some);
        has_row || session.seen & bit(host) != 0
    };
    let absent: Vec<Absence> = session
        .others()
        .filter(|&host| !runs(host))
        .map(|host| {
            let peer = session.peers.get(host);
            let refusal = peer.and_then(|peer| peer.refusal.as_deref());
            let failure = peer.and_then(|peer| peer.failure.as_deref()).unwrap_or("no connection");
            let is_unresolved = peer.is_some_and(|peer| peer.is_unresolved);
            let why = match refusal {
                Some(why) => format!("does not take part: {why}"),
                None => format!("did not come within {} s: {failure}", wait.as_secs()),
            };
            Absence { host, why, is_unresolved }
        })
        .collect();
    let mut rows = session.rows.clone();
    for row in rows.iter_mut().flatten() {
        row.cells.retain(|cell| runs(cell.to));
    }
    let first = (0..session.names.len()).find(|&host| host == session.me || runs(host));
    // Who is cut off from all others is not heard by the first of them.
    let is_alone = session.others().all(|host| session.rows.get(host).is_none_or(Option::is_none));
    Outcome {
        matrix: Matrix { hosts: session.names.clone(), rows, absent },
        is_reporter: is_alone || first == Some(session.me),
    }
}
