//! What to record, from the options: everything that can be wrong with them is said here.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use bytesize::ByteSize;

use super::args::CaptureArgs;
use crate::cli::VERSION;
use crate::filter::Filter;
use crate::ingest::af_packet::{AfPacket, AfPacketConfig};
use crate::ingest::line_rate;
use crate::ingest::live::LiveSource;
use crate::record::description;
use crate::record::file_names::FileNames;
use crate::record::recorder::{Place, RecordPlan};
use crate::trigger::{Condition, Trigger};
use railscope_core::model::tap::Tap;

/// Defaults of a ring.
const KEEP: Duration = Duration::from_secs(60);
const MAX_SIZE: ByteSize = ByteSize::gb(2);

/// A recording that can start.
pub(super) struct Plan {
    pub(super) record: RecordPlan,
    /// What the source sees and what it cannot.
    pub(super) completeness: Vec<String>,
}

/// The plan, with open interfaces; frames go to `recording` where it is given.
///
/// # Errors
///
/// When options contradict each other, or an interface or file cannot be opened.
pub(super) fn of(args: &CaptureArgs, recording: Option<&Path>) -> anyhow::Result<Plan> {
    let filter = args.filter.as_deref().map(str::parse::<Filter>).transpose()?;
    if let Some(field) = filter.as_ref().and_then(Filter::learned_field) {
        bail!(
            "--filter: `{field}` is only known once the frames are analysed; capture without it, then\n  \
             railscope packets --filter '{}' --write some.pcapng FILE",
            args.filter.as_deref().unwrap_or_default()
        );
    }
    let [roce_bytes, other_bytes] = args.snaplen.in_kernel();
    let mebibytes = args.buffer.0.div_ceil(1 << 20);
    let source = AfPacket::open(&AfPacketConfig {
        interfaces: args.interface.clone(),
        namespace: args.netns.clone(),
        promiscuous: true,
        roce_bytes,
        other_bytes,
        ring_mebibytes: usize::try_from(mebibytes).unwrap_or(usize::MAX),
    })?;
    let host = host();
    // /sys shows the interfaces of the own namespace.
    let own = |tap: &Tap| {
        tap.interface.as_deref().filter(|_| args.netns.is_none()).and_then(line_rate::of)
    };
    let described = |tap: Tap| {
        let line_rate_bps = args.line_rate.or_else(|| own(&tap));
        description::tap(tap, &host, line_rate_bps)
    };
    let taps = source.taps().into_iter().map(described).collect();
    let completeness = source.completeness();
    let record = RecordPlan {
        source: Box::new(source),
        taps,
        snap: args.snaplen,
        filter,
        place: place(args, recording)?,
        section: description::section(&host, format!("railscope {VERSION}")),
        is_analysed: args.ring.on.iter().any(Trigger::needs_analysis),
    };
    Ok(Plan { record, completeness })
}

/// # Errors
///
/// When options contradict each other.
pub(super) fn check(args: &CaptureArgs) -> anyhow::Result<()> {
    ensure!(
        !args.interface.is_empty(),
        "nothing to capture: name interfaces, as `ip link` lists them\n  \
         railscope capture -i eth0 -o out.pcapng --for 30s\n  \
         railscope capture -i eth0 --keep 10min --on finding:warning -o incidents/"
    );
    for (at, name) in args.interface.iter().enumerate() {
        let is_first = !args.interface.iter().take(at).any(|other| other == name);
        ensure!(is_first, "--interface {name} was given twice: name each interface once");
    }
    let ring = &args.ring;
    if !args.is_ring() {
        let given = [
            ("--ring", ring.ring.is_some()),
            ("--socket", ring.socket.is_some()),
            ("--compress", ring.compress),
        ];
        if let Some((option, _)) = given.iter().find(|(_, is_given)| *is_given) {
            bail!(
                "{option} is about a ring: add --keep 10min, or a trigger (--on finding:warning)"
            );
        }
    }
    let is_for_command = |trigger: &&Trigger| matches!(trigger.condition, Condition::Fail);
    if let Some(trigger) = ring.on.iter().find(is_for_command)
        && args.command.is_empty()
    {
        bail!("--on {} needs a command: railscope capture ... -- COMMAND", trigger.text);
    }
    Ok(())
}

fn place(args: &CaptureArgs, recording: Option<&Path>) -> anyhow::Result<Place> {
    if args.is_ring() {
        let names = names(args);
        ensure!(names.output != Path::new("-"), "a ring is saved to files: name a folder with -o");
        let output = names.folder();
        fs::create_dir_all(output).with_context(|| format!("create {}", output.display()))?;
        let folder = args.ring.ring.clone().unwrap_or_else(|| output.join(".railscope-ring"));
        let bytes = args.ring.max_size.unwrap_or(MAX_SIZE).0;
        return Ok(Place::Ring { folder, keep: args.ring.keep.unwrap_or(KEEP), bytes });
    }
    let Some(path) = recording.or(args.output.as_deref()).map(Path::to_owned) else {
        bail!(
            "where to? -o FILE writes everything to a file; --bundle FILE does so with counters, logs and \
             the report; --keep 10min keeps a ring, and saves it when something happens"
        );
    };
    ensure!(
        !path.is_dir(),
        "{} is a folder: name a file in it, or look back with --keep or --on",
        path.display()
    );
    if path == Path::new("-") {
        use std::io::IsTerminal;
        let is_terminal = std::io::stdout().is_terminal();
        ensure!(!is_terminal, "a capture is no text: write to a file or into a pipe");
    }
    Ok(Place::File { path, limit: args.ring.max_size.map(|size| size.0) })
}

/// How saved files are named.
pub(super) fn names(args: &CaptureArgs) -> FileNames {
    FileNames {
        output: args.output.clone().unwrap_or_else(|| ".".into()),
        host: host(),
        is_compressed: args.ring.compress,
    }
}

/// Name of this host.
pub(super) fn host() -> String {
    nix::unistd::gethostname().unwrap_or_default().to_string_lossy().into_owned()
}
