//! `railscope doctor`: is this node fit for a job?

mod merge;
mod ping;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use clap::{Args, Subcommand, ValueEnum};

use super::{VERSION, terminal};
use crate::doctor::expect;
use crate::doctor::fact::{Facts, Wanted};
use crate::doctor::outcome::Status;
use crate::doctor::report::Examination;
use crate::doctor::tree::Tree;
use crate::export::text::doctor;

/// Options of `railscope doctor`, as typed.
#[derive(Args)]
#[command(after_help = "\
It reads and changes nothing, as root or not; what only root can read is listed as not checked.

Examples:
  railscope doctor                              this node, before a job
  sudo railscope doctor                         also PCIe access control, packet filters
  railscope doctor --pid 4711                   with the settings and limits of a running rank
  kubectl exec POD -- env | railscope doctor --env /dev/stdin
  railscope doctor --learn > node.toml          what a good node looks like
  railscope doctor --expect node.toml           where this node differs from it
  srun -N 64 railscope doctor --json -o /share/doctor   a file for each node, then
  railscope doctor merge /share/doctor/*.json   who differs

Exit codes: 0 fit; 1 something is at --fail-on or worse; 2 usage error, or input or output failed.")]
pub(super) struct DoctorArgs {
    #[command(subcommand)]
    command: Option<Command>,
    /// Print JSON (railscope.doctor/1)
    #[arg(long)]
    json: bool,
    /// Write to a file; to HOST.json in it, if it is a folder
    #[arg(long, short, value_name = "PATH")]
    output: Option<PathBuf>,
    /// Exit with 1 if something is as bad as this
    #[arg(long, value_enum, value_name = "STATUS", default_value_t = FailOn::Critical)]
    fail_on: FailOn,
    /// Watch counters of errors for this long
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = humantime::parse_duration)]
    watch: Duration,
    /// Examine the settings and limits of this process
    #[arg(long, value_name = "PID")]
    pid: Option<u32>,
    /// Check settings in this file, as `env` prints them or in a Kubernetes manifest, in place of our own
    #[arg(long = "env", value_name = "FILE")]
    environment: Vec<PathBuf>,
    /// Examine the node whose files are below this folder, such as a host's, mounted in a container
    #[arg(long, value_name = "FOLDER", default_value = "/")]
    root: PathBuf,
    /// Compare with a file that --learn wrote
    #[arg(long, value_name = "FILE")]
    expect: Option<PathBuf>,
    /// Print what this node is, as a file for --expect
    #[arg(long, conflicts_with_all = ["json", "expect"])]
    learn: bool,
}

#[derive(Subcommand)]
enum Command {
    /// Compare nodes: who differs?
    Merge(merge::MergeArgs),
    /// Measure which hosts of a job reach each other, and how fast, over TCP and RDMA
    Ping(ping::PingArgs),
}

/// From which status on the command fails.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FailOn {
    /// Never
    Never,
    /// Warnings and worse
    Warning,
    /// What makes jobs fail, or many times slower
    Critical,
}

impl FailOn {
    fn code(self, worst: Status) -> u8 {
        let is_reached = match self {
            Self::Never => false,
            Self::Warning => worst >= Status::Warning,
            Self::Critical => worst >= Status::Critical,
        };
        u8::from(is_reached)
    }
}

pub(super) fn run(args: &DoctorArgs) -> anyhow::Result<u8> {
    match &args.command {
        Some(Command::Merge(args)) => merge::run(args),
        Some(Command::Ping(args)) => ping::run(args),
        None => examine(args),
    }
}

fn examine(args: &DoctorArgs) -> anyhow::Result<u8> {
    if !args.root.is_dir() {
        bail!("{} is no folder", args.root.display());
    }
    if let Some(pid) = args.pid {
        let environment = args.root.join(format!("proc/{pid}/environ"));
        fs::File::open(&environment).with_context(|| format!("read {}", environment.display()))?;
    }
    // Read first: a mistake in it should not cost the examination.
    let expected = args.expect.as_deref().map(read_expected).transpose()?;
    let facts = Facts::read(&Tree::new(&args.root), &args.wanted());
    let settings = crate::doctor::setting::of(&facts);
    if args.learn {
        let text = expect::learn(&facts.place.host, &settings)?;
        args.write(&facts.place.host, text.as_bytes())?;
        return Ok(0);
    }
    let compared = expected.map(|(file, expected)| expect::compare(&expected, &settings, &file));
    let examination = Examination::new(&facts, VERSION, compared.unwrap_or_default());
    let mut bytes = Vec::new();
    if args.json {
        serde_json::to_writer_pretty(&mut bytes, &examination)?;
        bytes.push(b'\n');
    } else {
        doctor::write(&examination, terminal::width(), &mut bytes)?;
    }
    args.write(&examination.host, &bytes)?;
    Ok(args.fail_on.code(examination.worst))
}

fn read_expected(path: &Path) -> anyhow::Result<(String, crate::doctor::setting::Settings)> {
    let name = path.display().to_string();
    let text = fs::read_to_string(path).with_context(|| format!("read {name}"))?;
    let expected = expect::read(&text)
        .with_context(|| format!("{name} is no file of `railscope doctor --learn`"))?;
    if expected.is_empty() {
        bail!(
            "{name} names no setting: `railscope doctor --learn` on a good node writes such a file"
        );
    }
    Ok((name, expected))
}

impl DoctorArgs {
    #[expect(clippy::disallowed_methods, reason = "cli reads the environment, once")]
    fn wanted(&self) -> Wanted {
        let environment = std::env::vars_os().filter_map(|(name, value)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        });
        Wanted {
            environment: environment.collect(),
            home: std::env::var("HOME").ok(),
            pid: self.pid,
            environment_files: self.environment.clone(),
            watch: self.watch,
        }
    }

    fn write(&self, host: &str, bytes: &[u8]) -> anyhow::Result<()> {
        let Some(path) = &self.output else {
            let mut out = anstream::stdout().lock();
            return out
                .write_all(bytes)
                .and_then(|()| out.flush())
                .context("write to standard output");
        };
        let ending = if self.json {
            "json"
        } else if self.learn {
            "toml"
        } else {
            "txt"
        };
        // A host's name may hold anything: it must not lead out of the folder.
        let name: String = host
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() || "-._".contains(c) { c } else { '_' })
            .collect();
        let path = if path.is_dir() { path.join(format!("{name}.{ending}")) } else { path.clone() };
        let plain = anstream::adapter::strip_bytes(bytes).into_vec();
        fs::write(&path, plain).with_context(|| format!("write {}", path.display()))
    }
}
