//! `cargo xtask lab`: a virtual machine with Linux's soft-RoCE, and RDMA programs that run in it.
//!
//! Everything lies under `target/lab`: Debian packages are fetched with a private state of apt and
//! unpacked, never installed, and QEMU itself runs from there. Neither root nor a change of the
//! host is needed.

mod accelerator;
mod apt;
mod build;
mod console;
mod cpio;
mod initramfs;
mod kernel;
mod machine;
mod mirror;
mod modules;
mod packages;
mod recipe;
mod share;
mod tree;

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Result, ensure};

use machine::{Machine, Terminal};
use share::Share;

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
    /// Run a command of bash in the guest; its status is the guest's.
    ///
    /// The repository is at /repo, read-only; what is written to /host stays in target/lab/host.
    Exec {
        /// Seconds until the guest is given up.
        #[arg(long, default_value_t = 600)]
        timeout: u64,
        #[arg(required = true, last = true)]
        words: Vec<String>,
    },
    /// A shell in the guest, to look around.
    Shell,
}

/// `cargo xtask lab`.
pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    ensure!(cfg!(target_arch = "x86_64"), "the lab needs an x86-64 host");
    let built = build::build(options.mirror.as_deref())?;
    let (script, terminal, seconds) = match &options.command {
        Command::Build => return Ok(ExitCode::SUCCESS),
        Command::Exec { timeout, words } => (words.join(" "), Terminal::None, *timeout),
        Command::Shell => ("exec bash -i".to_owned(), Terminal::Own, 24 * 3600),
    };
    let accelerator = accelerator::probe(&built)?;
    let share = Share::create(&built.folder, &script)?;
    let machine = Machine { built: &built, accelerator, share: &share, terminal };
    let status = machine.boot(Duration::from_secs(seconds))?;
    Ok(ExitCode::from(status))
}
