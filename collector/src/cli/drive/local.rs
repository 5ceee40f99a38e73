//! `railscope drive --ranks N`: all ranks on this machine, each a process started here.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;
use std::sync::mpsc::channel;

use anyhow::Context;

use super::args::{DriveArgs, OutputArgs};
use super::environment::{Environment, Launched};
use super::job;
use super::outcome::outcome_code;
use super::seat::ChildSeat;
use super::show::{JsonFile, Show, TruthFile, make_folder};
use super::telemetry::Telemetry;
use railscope_drive::capture::{Capture, Counts};
use railscope_drive::fault::Fault;
use railscope_drive::job::{Job, Transport};
use railscope_drive::launch::{Audience, Event, Ranks, supervise};
use railscope_drive::pfc::Relay;
use railscope_drive::place::{self, Kind, Places, RankPlace};
use railscope_drive::table::{Document, Facts, Table};

/// Where railscope's plugin writes its files.
const PROFILES: &str = "RAILSCOPE_PROFILER_DIR";

pub(super) fn run(args: &DriveArgs, environment: &Environment, ranks: u32) -> anyhow::Result<u8> {
    // Checks the command line before anything is created.
    job::job(args, environment, ranks, u32::MAX)?;
    args.output.check_record()?;
    let folders = [args.output.log(), args.output.capture()];
    folders.into_iter().flatten().try_for_each(|folder| make_folder(&folder))?;
    let truth = args.output.truth().as_deref().map(TruthFile::create).transpose()?;
    let json = args.output.json.as_deref().map(JsonFile::create).transpose()?;

    // Where the receiver can be reached.
    let telemetry = Telemetry::start(&args.telemetry, environment)?;
    anyhow::ensure!(
        telemetry.is_none() || args.layout.communicators.is_empty(),
        "--otlp tells of the communicator of all ranks: it does not go with --communicators"
    );
    // Before the first thread: only a single-threaded process can enter a user namespace.
    let mut places = places(args, environment, ranks)?;
    if let Some(ranks_per_node) = args.layout.ranks_per_node {
        anyhow::ensure!(
            matches!(places.kind, Kind::Namespaces | Kind::UserNamespaces),
            "--ranks-per-node gives each node a host name: --place netns or --place userns"
        );
        places.share_hosts(ranks_per_node);
    }
    let job = job::job(args, environment, ranks, places.mtu)?;
    let (events, heard) = channel();
    let interrupts = events.clone();
    // If the receiver is gone, the job has ended.
    ctrlc::set_handler(move || drop(interrupts.send(Event::Interrupted)))
        .context("wait for Ctrl-C")?;

    // This process can see all ports.
    let relay = relay(&job, &places)?;
    let captures = captures(&args.output, &places)?;
    let facts = Facts { version: env!("CARGO_PKG_VERSION").to_owned(), place: places.describe() };
    let mut show = Show::new(Table::new(&job, ranks, &facts), truth, telemetry);
    show.show().context("write to standard output")?;
    let words: Vec<_> = std::env::args_os().skip(1).collect();
    let profiles = args.profiler.as_ref().and(args.output.profiles());
    let profiles = profiles.map(std::path::absolute).transpose()?;
    let commands = commands(&job, environment, places, (&words, profiles.as_deref()))?;
    let started = Ranks::start(commands, &events);
    let outcome = supervise(started, &heard, &mut show)?;
    drop(relay);
    for capture in captures {
        end_capture(capture, &mut show)?;
    }
    let telemetry = show.take_telemetry();
    let table = show.end(&outcome)?;
    if let Some(json) = json {
        json.write(&Document::new(&job, ranks, &table, &outcome))?;
    }
    if let Some(telemetry) = telemetry {
        telemetry.finish_and_tell(None);
    }
    outcome_code(outcome, table.results().wrong())
}

/// The places of `--place`; RDMA devices are in the machine's own network namespace.
fn places(args: &DriveArgs, environment: &Environment, ranks: u32) -> anyhow::Result<Places> {
    let mut kind = args.place.map(Kind::from);
    if Transport::from(args.transport) == Transport::Verbs {
        anyhow::ensure!(
            kind.is_none_or(|kind| kind == Kind::Host),
            "--transport verbs uses the machine's RDMA devices: use --place host"
        );
        kind = Some(Kind::Host);
    }
    Ok(place::make(kind, environment.text("NCCL_SOCKET_IFNAME"), ranks)?)
}

/// The switch between ports that pause each other; `None` if none does.
fn relay(job: &Job, places: &Places) -> anyhow::Result<Option<Relay>> {
    let paused = |fault: &Fault| match fault {
        Fault::Pause(pause) => Some(pause.edge),
        _ => None,
    };
    let mut edges: Vec<(u32, u32)> = job.faults.iter().filter_map(paused).collect();
    edges.sort_unstable();
    edges.dedup();
    if edges.is_empty() {
        return Ok(None);
    }
    anyhow::ensure!(
        matches!(places.kind, Kind::Namespaces | Kind::UserNamespaces),
        "--pause needs a port for each rank: --place netns or --place userns"
    );
    let port = |rank: u32| places.ranks.get(rank as usize).map(|place| place.port.as_str());
    let links = edges.into_iter().filter_map(|(from, to)| port(to).zip(port(from)));
    Ok(Some(Relay::start(links)?))
}

/// One capture per port; ranks with the same port share it.
fn captures(output: &OutputArgs, places: &Places) -> anyhow::Result<Vec<Capture>> {
    let Some(folder) = output.capture() else { return Ok(Vec::new()) };
    let ports: BTreeSet<_> = places.ranks.iter().map(|place| place.port.as_str()).collect();
    let start = |port: &str| {
        Ok(Capture::start(port, &folder.join(format!("{port}.pcap")), output.snaplen)?)
    };
    ports.into_iter().map(start).collect()
}

fn end_capture(capture: Capture, show: &mut Show) -> anyhow::Result<()> {
    let (path, Counts { frames, dropped }) = capture.finish()?;
    if dropped > 0 {
        show.note(&format!(
            "warning: {}: {dropped} frames were dropped, {frames} captured; use --snaplen 128 to \
             capture more",
            path.display()
        ));
    }
    Ok(())
}

/// Commands that start this program again for each rank, with torchrun's variables; `words` are
/// `drive` and its options, `profiles` is the folder of the plugin's files.
pub(in crate::cli) fn commands(
    job: &Job,
    environment: &Environment,
    places: Places,
    (words, profiles): (&[OsString], Option<&Path>),
) -> anyhow::Result<Vec<(u32, RankPlace, Command)>> {
    let program = std::env::current_exe().context("find this program's file")?;
    let ranks = u32::try_from(places.ranks.len())?;
    let master = places.ranks.first().map(|place| place.address.to_string()).unwrap_or_default();
    let port = environment.port()?;
    let mut commands = Vec::new();
    for (rank, place) in (0..).zip(places.ranks) {
        if job.faults.contains(&Fault::MissingRank { rank }) {
            continue;
        }
        let mut command = Command::new(&program);
        command.args(words);
        if let Some(folder) = profiles {
            command.env(PROFILES, folder);
        }
        let local_rank = place.local_rank;
        let launched = Launched { rank, ranks, local_rank, master: master.clone(), port };
        ChildSeat::at(&place, places.mtu).set_variables(&mut command, &launched)?;
        commands.push((rank, place, command));
    }
    Ok(commands)
}
