//! Scenarios of jobs that hang, drawn from a seed: 2 to 8 ranks, in half of them with a healthy job on
//! other hosts of the same fabric.

use std::fmt::Write as _;

use fastrand::Rng;
use railscope_testbed::broken::Fault;

use super::kind::HangKind;
use crate::incident::draw::{Drawn, Source, is_cut};
use crate::incident::kind::Expected;

/// How long the simulation goes on after the hang began, in milliseconds: longer than railscope waits.
pub(super) const AFTERWARDS_MS: f64 = 2_500.0;

/// How long ranks whose data goes over TCP wait before they give up, in seconds.
pub(super) const GIVE_UP_S: u64 = 7;

/// Draws a job.
pub(crate) fn draw(kind: HangKind, seed: u64) -> Drawn {
    let mut rng = Rng::with_seed(seed.wrapping_mul(0x9e37_79b9).wrapping_add(1000 + kind as u64));
    match kind {
        HangKind::Bootstrap => without_rank(&mut rng, seed),
        _ if kind.is_over_tcp() => over_tcp(&mut rng, kind, seed),
        _ => simulated(&mut rng, kind, seed),
    }
}

/// A job of the driver of which one rank never starts.
fn without_rank(rng: &mut Rng, seed: u64) -> Drawn {
    let ranks = rng.u32(3..=4);
    let missing = rng.u32(1..ranks);
    let options =
        format!("--ranks {ranks} --place netns --missing-rank {missing} -T 7s --seed {seed}");
    let options = options.split_whitespace().map(str::to_owned).collect();
    let expected = Expected {
        classes: HangKind::Bootstrap.class().into_iter().collect(),
        ring: ranks,
        // No packet names who never came: the place is the store at which the others wait, that of rank 0.
        host: Some(0),
        ..Expected::default()
    };
    let source = Source::Driven { options, runs: 1 };
    Drawn { source, is_cut: false, expected, second: None }
}

/// A job of the driver whose data goes over TCP.
fn over_tcp(rng: &mut Rng, kind: HangKind, seed: u64) -> Drawn {
    let ranks = rng.u32(2..=5);
    let sick = rng.u32(0..ranks);
    let (fault, is_either) = match kind {
        HangKind::SocketPort => (Fault::Unplugged { rank: sick }, ranks == 2),
        HangKind::SocketPath => (Fault::Dropped { from: sick, to: (sick + 1) % ranks }, true),
        _ => (Fault::Stopped { rank: sick }, false),
    };
    let bucket_bytes = 1 << rng.u32(18..=23);
    // What a ring sends and receives of it, in so many training steps.
    let data_bytes = rng.u64(4..=9) * bucket_bytes * 4 * u64::from(ranks - 1) / u64::from(ranks);
    let options = format!(
        "--ranks {ranks} --socket-fallback --iterations 4000 --buckets {bucket_bytes} \
         --compute {}ms -T {GIVE_UP_S}s --seed {seed}",
        rng.u32(1..=20)
    );
    let options = options.split_whitespace().map(str::to_owned).collect();
    // A path has two ends, and so has the only path of a port.
    let sick = (!is_either).then_some(sick);
    let expected = Expected {
        classes: kind.class().into_iter().collect(),
        ring: ranks,
        host: sick,
        rank: sick,
        ..Expected::default()
    };
    let source = Source::Broken { options, ranks, data_bytes, fault };
    Drawn { source, is_cut: is_cut(seed), expected, second: None }
}

fn simulated(rng: &mut Rng, kind: HangKind, seed: u64) -> Drawn {
    let ranks = rng.u32(2..=8);
    let sick = rng.u32(0..ranks);
    let has_second = rng.bool();
    let hosts = ranks + if has_second { 2 } else { 0 };
    let hosts_per_leaf = rng.u32(2..=4);
    let compute_ms = 4.0 + rng.f64() * 12.0;
    let from_ms = 60.0 + (compute_ms + 4.0) * (6.0 + 6.0 * rng.f64());
    let until_ms = from_ms + AFTERWARDS_MS;
    let from = format!("from = \"{from_ms:.0}ms\"");
    let towards = |host: u32| format!("leaf{}:host{host}", host / hosts_per_leaf);
    let mut expected = Expected {
        classes: kind.class().into_iter().collect(),
        ring: ranks,
        host: Some(sick),
        rank: Some(sick),
        ..Expected::default()
    };
    let mut job = String::new();
    let halt = |what| format!("[[halt]]\nrank = {sick}\n{from}\nwhat = \"{what}\"\n");
    let loss = |port: String| format!("[[loss]]\nport = \"{port}\"\nshare = \"100%\"\n{from}\n");
    let down = format!("[[flap]]\nport = \"host{sick}\"\n{from}\nuntil = \"1h\"\n");
    let iterations = if kind == HangKind::Ended { 10 } else { 400 };
    let fault = match kind {
        HangKind::Killed => halt("killed"),
        HangKind::Stopped => halt("stopped"),
        HangKind::HostDead => halt("stopped") + &down,
        HangKind::NeverCalled => halt("calls"),
        HangKind::GpuStuck => halt("gpu"),
        HangKind::DataWithheld => halt("data"),
        HangKind::RoomWithheld => halt("room"),
        HangKind::QueuePairError => halt("queue_pair"),
        HangKind::NotReady => halt("receives"),
        HangKind::OtherCall | HangKind::OtherSize => {
            if ranks == 2 {
                // One of two ranks is as odd as the other.
                (expected.host, expected.rank) = (None, None);
            }
            halt(if kind == HangKind::OtherCall { "other_call" } else { "other_size" })
        }
        HangKind::PortTowards => {
            expected.direction = Some("towards");
            loss(towards(sick))
        }
        HangKind::PortFrom => {
            expected.direction = Some("from");
            loss(format!("host{sick}"))
        }
        HangKind::PortBoth => {
            expected.direction = Some("both");
            down
        }
        HangKind::PathDead => {
            let ahead = if rng.bool() { 1 } else { ranks - 1 };
            let peer = (sick + ahead) % ranks;
            (expected.direction, expected.peer) = (Some("from"), Some(peer));
            loss(format!("host{sick}")) + &format!("to = \"host{peer}\"\n")
        }
        HangKind::Pause => {
            format!("[[pause_storm]]\nnic = \"host{sick}\"\n{from}\nuntil = \"1h\"\n")
        }
        HangKind::Checkpoint => {
            writeln!(job, "pause = [{{ after = 8, time = \"1h\", purpose = \"checkpoint\" }}]")
                .unwrap_or_default();
            String::new()
        }
        _ => String::new(),
    };
    // A port and its only path are one place.
    if ranks == 2 {
        match kind {
            HangKind::PortTowards | HangKind::PortFrom | HangKind::PortBoth => {
                expected.classes.push("path_dead");
            }
            HangKind::PathDead => expected.classes.push("port_down"),
            _ => {}
        }
    }
    let own: Vec<String> = (0..ranks).map(|host| host.to_string()).collect();
    let ib_timeout = rng.u8(16..=22);
    let cpu = if rng.bool() { "ahead" } else { "synchronous" };
    // The watchdog of a job that runs writes no dump, and RAS is not asked about it.
    let records = kind.class().is_some();
    let mut scenario = format!(
        "title = \"{}, seed {seed}\"\nseed = {seed}\n\n[fabric]\nhosts = {hosts}\nhosts_per_leaf = \
         {hosts_per_leaf}\n\n[capture]\npause_frames = false\nuntil = \"{until_ms:.0}ms\"\n\
         flight_recorder = {records}\nras = {records}\n\n[[job]]\nhosts = [{}]\niterations = {iterations}\nib_timeout = \
         {ib_timeout}\ncompute = \"{:.0}us\"\njitter = \"{:.0}us\"\ncpu = \"{cpu}\"\nbuckets = \
         [\"512KiB\", \"256KiB\"]\n{job}\n",
        kind.name(),
        own.join(", "),
        compute_ms * 1000.0,
        compute_ms * 20.0,
    );
    if has_second {
        write!(
            scenario,
            "[[job]]\nhosts = [{ranks}, {}]\niterations = 400\ncompute = \"20ms\"\njitter = \"400us\"\n\
             buckets = [\"64KiB\"]\n\n",
            ranks + 1
        )
        .unwrap_or_default();
    }
    // Other traffic of the hosts, which goes on: it shows that the captures do.
    for host in 0..ranks {
        write!(
            scenario,
            "[[background]]\nsender = \"host{host}\"\nreceiver = \"host{}\"\nrate = \"1M\"\n\n",
            (host + 1) % ranks
        )
        .unwrap_or_default();
    }
    scenario += &fault;
    let second = has_second.then(|| "a healthy job beside".to_owned());
    Drawn { source: Source::Simulated { scenario }, is_cut: is_cut(seed), expected, second }
}
