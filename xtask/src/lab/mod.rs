//! `cargo xtask lab`: a virtual machine with Linux's soft-RoCE, and RDMA programs that run in it.
//!
//! Everything lies under `target/lab`: Debian packages are fetched with a private state of apt and
//! unpacked, never installed, and QEMU itself runs from there. Neither root nor a change of the
//! host is needed.

mod accelerator;
mod agreement;
mod analysis;
mod apt;
mod build;
mod case;
mod console;
mod counters;
mod cpio;
mod facts;
mod initramfs;
mod kernel;
mod machine;
mod modules;
mod packages;
mod perftest;
mod probe;
mod qdisc;
mod recipe;
mod scenario;
mod share;
mod tree;
mod trouble;
mod wire;

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Result, ensure};

pub(crate) use build::Built;
use machine::{Machine, Terminal};
use share::Share;

use crate::repository::{build_railscope, is_installed};
use crate::verbs;

#[derive(clap::Args)]
pub(crate) struct Options {
    #[command(subcommand)]
    command: Command,
    /// Debian mirror to fetch packages from; without it, the one of the host's apt sources.
    #[arg(long, global = true, value_name = "URL")]
    mirror: Option<String>,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Fetch and unpack kernel, programs and QEMU; nothing to do where that was done.
    Build,
    /// Run scenarios, all if none is named, and check what railscope finds in their captures.
    Run {
        #[arg(value_name = "SCENARIO")]
        scenarios: Vec<String>,
    },
    /// The scenarios.
    List,
    /// Run a command of bash in the guest; its status is the guest's.
    ///
    /// The repository is at /repo, read-only; what is written to /host stays in target/lab/host.
    Exec {
        /// Seconds until the guest is given up.
        #[arg(long, default_value_t = 600)]
        timeout: u64,
        /// In a guest with the older kernel.
        #[arg(long)]
        older_kernel: bool,
        #[arg(required = true, last = true)]
        words: Vec<String>,
    },
    /// A shell in the guest, to look around.
    Shell {
        /// In a guest with the older kernel.
        #[arg(long)]
        older_kernel: bool,
    },
}

/// The lab, and everything that checking its scenarios needs.
///
/// # Errors
/// What this machine lacks, and how to get it.
pub(crate) fn prepare(mirror: Option<&str>) -> Result<Built> {
    ensure!(is_installed("tshark"), "tshark is missing (on Debian: apt-get install tshark)");
    build::build(mirror)
}

/// Runs all scenarios and checks what `railscope` finds in their captures.
pub(crate) fn run_all(built: &Built, railscope: &Path) -> Result<()> {
    scenario::run(built, &scenario::named(&[])?, railscope)
}

/// `cargo xtask lab`.
pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    if let Command::List = options.command {
        for scenario in scenario::ALL {
            println!("{:<10} {}", scenario.name, scenario.about);
        }
        return Ok(ExitCode::SUCCESS);
    }
    let mirror = options.mirror.as_deref();
    if let Command::Run { scenarios } = &options.command {
        let scenarios = scenario::named(scenarios)?;
        let built = prepare(mirror)?;
        let needs_verbs = scenarios.iter().any(|scenario| scenario.needs_verbs);
        let railscope =
            if needs_verbs { verbs::build()?.railscope } else { build_railscope("dev")? };
        scenario::run(&built, &scenarios, &railscope)?;
        return Ok(ExitCode::SUCCESS);
    }
    let built = build::build(mirror)?;
    let (script, terminal, seconds, is_older) = match &options.command {
        Command::List | Command::Run { .. } | Command::Build => return Ok(ExitCode::SUCCESS),
        Command::Exec { timeout, older_kernel, words } => {
            (words.join(" "), Terminal::None, *timeout, *older_kernel)
        }
        Command::Shell { older_kernel } => {
            ("exec bash -i".to_owned(), Terminal::Own, 24 * 3600, *older_kernel)
        }
    };
    let accelerator = probe::accelerator(&built)?;
    let share = Share::create(&built.folder, &script, &terminal.settings())?;
    let kernel = if is_older { &built.older_kernel } else { &built.kernel };
    let machine = Machine { built: &built, kernel, accelerator, share: &share, terminal };
    let status = machine.boot(Duration::from_secs(seconds))?;
    Ok(ExitCode::from(status))
}
