//! `railscope demo`: runs a training job of four ranks on this machine with railscope live on their
//! ports. At the end it compares railscope's findings with the ground truth that the ranks wrote.

mod job;
mod record;
mod show;
mod verdict;
mod watcher;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;

use anyhow::{Context, bail};
use clap::Args;

use self::record::Recording;
use self::show::{Screen, TruthRecorder};
use self::watcher::Watcher;
use super::drive::environment::Environment;
use super::drive::local::commands;
use super::drive::show::{TruthFile, make_folder};
use super::exit_code::{EXIT_INTERRUPTED, EXIT_UNUSABLE};
use super::notice::notice;
use super::terminal;
use crate::export::text::{self, TextOptions};
use railscope_drive::launch::{Event, Outcome, Ranks, supervise};
use railscope_drive::place::{self, Kind, Places};

/// Options of `railscope demo`, as typed.
#[derive(Args)]
#[command(after_help = "\
It needs no GPU and no RDMA NIC: each rank has a network namespace and sends RoCEv2 from user space. \
It needs root or unprivileged user namespaces, and iproute2's ip.

Exit codes: 0 done; 2 the demo could not run; 130 interrupted.")]
pub(super) struct DemoArgs {
    /// Output folder; must not hold a job [default: a new temporary folder]
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
}

/// The exit code.
pub(super) fn run(args: &DemoArgs) -> anyhow::Result<u8> {
    let folder = args.folder.clone().unwrap_or_else(|| {
        std::env::temp_dir().join(format!("railscope-demo.{}", std::process::id()))
    });
    let environment = Environment::of_process();
    let line = job::words(&folder);
    // Checks the folder before anything is created.
    job::plan(&line, &environment, u32::MAX)?;
    make_folder(&folder)?;

    // Before the first thread: only a single-threaded process can enter a user namespace.
    let places = places()?;
    let (drive, job) = job::plan(&line, &environment, places.mtu)?;
    if let Some(logs) = drive.output.log() {
        make_folder(&logs)?;
    }
    let truth = drive.output.truth().as_deref().map(TruthFile::create).transpose()?;
    let (events, heard) = channel();
    let interrupts = events.clone();
    // If the receiver is gone, the job has ended.
    ctrlc::set_handler(move || drop(interrupts.send(Event::Interrupted)))
        .context("wait for Ctrl-C")?;

    let screen = Screen::new();
    let ports: Vec<_> = places.ranks.iter().map(|place| place.port.clone()).collect();
    let watcher = Watcher::start(&ports, &folder, screen.clone())?;
    let width = terminal::width();
    let introduction = job::introduction(places.kind);
    let paragraphs = introduction.iter().chain(watcher.completeness());
    paragraphs.for_each(|text| screen.say(&text::paragraph(text, width)));
    screen.say("");
    let mut recorder = TruthRecorder::new(truth, screen.clone());
    let commands = commands(&job, &environment, places, (&line, None))?;
    let outcome = supervise(Ranks::start(commands, &events), &heard, &mut recorder)?;
    let truth = recorder.end()?;
    let recording = watcher.finish()?;
    screen.end();
    match outcome {
        Outcome::Done => {}
        Outcome::Interrupted => return Ok(EXIT_INTERRUPTED),
        Outcome::Failed(reason) => {
            notice(format!("error: {reason}; all ranks were stopped"));
            return Ok(EXIT_UNUSABLE);
        }
    }
    conclude(&recording, &truth, &folder).context("write to standard output")?;
    Ok(0)
}

/// A network namespace per rank, by root or in a user namespace.
fn places() -> anyhow::Result<Places> {
    let places = place::make(None, None, job::RANKS)?;
    if matches!(places.kind, Kind::Namespaces | Kind::UserNamespaces) {
        return Ok(places);
    }
    bail!(
        "cannot create network namespaces: {}.\n\
         Run as root (sudo railscope demo), or permit user namespaces with one of these:\n  \
         sysctl kernel.unprivileged_userns_clone=1           (Debian)\n  \
         sysctl kernel.apparmor_restrict_unprivileged_userns=0  (Ubuntu)\n  \
         sysctl user.max_user_namespaces=10000               (RHEL)\n\
         In a container: docker run --privileged, or --cap-add SYS_ADMIN --cap-add NET_ADMIN",
        places.reason.as_deref().unwrap_or("unknown reason")
    )
}

fn conclude(recording: &Recording, truth: &verdict::Truth, folder: &Path) -> io::Result<()> {
    let width = terminal::width();
    let mut out = anstream::stdout().lock();
    writeln!(out)?;
    text::write_training(
        &recording.analysed.report,
        &TextOptions { top: 10, width, hidden_verdicts: 0 },
        &mut out,
    )?;
    writeln!(
        out,
        "\n{}",
        text::paragraph(&verdict::compare(&recording.analysed.report, truth), width)
    )?;
    let program = std::env::args_os().next().unwrap_or_else(|| "railscope".into());
    let (program, folder) = (Path::new(&program).display(), folder.display());
    let capture = record::CAPTURE;
    writeln!(
        out,
        "\nFiles in {folder}:
  {capture}  the captured packets
  {page}     the report as a page
  {report}     the report as JSON
  {trace}      a timeline for ui.perfetto.dev
  truth.jsonl     what the ranks did, as they recorded it
  logs            NCCL logs of the ranks

Try
  {program} analyze {folder}/{capture}
  {program} explain --rank {late} {folder}/{capture}
  {program} explain --step {late_first} {folder}/{capture}",
        page = record::PAGE,
        report = record::REPORT,
        trace = record::TRACE,
        late = job::LATE_RANK,
        late_first = job::LATE_FIRST,
    )
}
