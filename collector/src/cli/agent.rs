//! `railscope agent`: runs on a training node until it is stopped.

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;
use clap::Args;
use nix::sys::signal::Signal;

use super::config::{overrides, read_settings};
use super::notice::notice;
use super::signal::BlockedSignal;
use crate::agent::confine::drop_rights;
use crate::agent::log::Log;
use crate::agent::source::check;
use crate::agent::{Agent, otlp, recording, web_config};
use crate::config::{Config, environment};
use crate::ingest::capability::Host;
use crate::printable::printable;

/// Options of `railscope agent`, as typed.
#[derive(Args)]
#[command(after_help = "\
Examples:
  railscope agent                                        all interfaces, metrics on 127.0.0.1:9474
  railscope agent --config /etc/railscope/collector.toml
  railscope agent --set taps.interfaces='[\"mirror0\"]' --set otlp.endpoint='\"http://otel:4317\"'
  railscope agent --config collector.toml --check        check settings, sources and permissions

collector.example.toml lists every key with its default and its purpose. Flags override OTEL_*
variables, which override the file.

At start the agent reports what it cannot see here (missing capabilities, RDMA NICs that bypass the
kernel) and exports railscope_source_visible = 0 for it; the other sources keep running. /readyz
returns 503 while no source works.

On SIGHUP the agent reads the file again. One with a mistake is refused as a whole. [findings], [expect],
taps.interfaces, taps.exclude, prometheus.web-config and what that names take effect at once; the log
names changed keys that need a restart.

--check fails if the settings require something that cannot work here: a source enabled under
[sources] that may not run (for packets, one of the two ways is enough), or a pattern in
taps.interfaces that matches no interface. Grant what is missing, or disable it. A running agent
keeps looking for such interfaces.

Exit codes: 0 done (SIGTERM, Ctrl-C), or everything required can work; 1 --check found something
that cannot work; 2 wrong usage or settings, or the address is in use.")]
pub(super) struct AgentArgs {
    /// Settings file in TOML
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Override one setting, in TOML: prometheus.listen='"0.0.0.0:9474"'
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Print the log of the kernel programs: full tables and rings, as they happen; the 1st, 2nd, 4th,
    /// 8th and so on of each kind and CPU
    #[arg(long)]
    log_kernel_programs: bool,
    /// Check the settings and exit: print which sources work on this host and what the others lack;
    /// exit code 1 if a source that the settings require cannot work
    #[arg(long)]
    check: bool,
}

/// The exit code.
pub(super) fn run(args: &AgentArgs) -> anyhow::Result<u8> {
    let mut all = environment::overrides(variable);
    all.extend(overrides(&args.set)?);
    let read = || {
        let mut settled = read_settings(args.config.as_deref(), &all)?;
        settled.config.logs_kernel_programs = args.log_kernel_programs;
        anyhow::Ok(settled)
    };
    let settled = read()?;
    if args.check {
        return check(&settled.config);
    }
    let rights = drop_rights(&settled.config);
    // Before any thread: each inherits which signals it leaves to others.
    let mut signal = BlockedSignal::block(Signal::SIGHUP).context("wait for SIGHUP")?;
    let is_over = Arc::new(AtomicBool::new(false));
    let over = is_over.clone();
    // Ctrl-C and SIGTERM shut it down cleanly.
    ctrlc::set_handler(move || over.store(true, Ordering::Relaxed)).context("wait for SIGTERM")?;
    let mut log = Log::start(std::io::stderr());
    rights.iter().for_each(|line| log.say(line));
    let agent = Agent::start(settled, &variable, log)?;
    agent.run(&is_over, &mut || signal.take().then(read))?;
    Ok(0)
}

/// Prints what the agent can see here, and which settings cannot work; returns the exit code.
fn check(config: &Config) -> anyhow::Result<u8> {
    let host = Host::read("/proc".as_ref(), "/sys".as_ref());
    let mut out = anstream::stdout().lock();
    let mut verdicts = check::verdicts(config.sources, &host);
    verdicts.extend(recording::verdict(config, &host));
    verdicts.iter().try_for_each(|verdict| writeln!(out, "{}", printable(&verdict.to_string())))?;
    out.flush()?;
    let mut problems = check::problems(config, &host);
    problems.extend(recording::problems(config, &host));
    problems.extend(web_config::problem(&config.prometheus));
    problems.extend(otlp::problem(config, &variable));
    for problem in &problems {
        notice(format!("error: {problem}"));
    }
    Ok(u8::from(!problems.is_empty()))
}

#[expect(clippy::disallowed_methods, reason = "OpenTelemetry's variables")]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}
