//! `railscope agent`: stays on a training node.

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;
use clap::Args;

use super::config::read_settings;
use crate::agent::Agent;
use crate::agent::source::check;
use crate::config::reader::Override;
use crate::config::{Config, environment};
use crate::ingest::capability::Host;

/// Options of `railscope agent`, as typed.
#[derive(Args)]
#[command(after_help = "\
Examples:
  railscope agent                                        all interfaces, metrics on 127.0.0.1:9474
  railscope agent --config /etc/railscope/collector.toml
  railscope agent --set taps.interfaces='[\"mirror0\"]' --set otlp.endpoint='\"http://otel:4317\"'
  railscope agent --config collector.toml --check        say what is wrong with it, and what it could see

collector.example.toml has every key with its default and why. Flags win over OTEL_* variables, and
these over the file.

What cannot be seen here (no capability, RDMA NICs that bypass the kernel) is said at the start and
is railscope_source_visible = 0; the rest goes on. /readyz is 503 while no source sees anything.

--check fails where the settings ask for what cannot work here: a source that is on under [sources] and
may not run (of the two ways to see packets, one is enough), or a pattern in taps.interfaces that no
interface matches. Grant what is missing, or switch it off. A running agent looks for such interfaces.

Exit codes: 0 done (SIGTERM, Ctrl-C), or all that is asked for can work; 1 --check, and something cannot;
2 wrong usage or settings, or an address that is taken.")]
pub(super) struct AgentArgs {
    /// The settings
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// One setting, in TOML: prometheus.listen='"0.0.0.0:9474"'
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Print what kernel programs log: full tables and rings, when it happens; the 1st, 2nd, 4th, 8th and
    /// so on of each kind and CPU
    #[arg(long)]
    log_kernel_programs: bool,
    /// Only read the settings, and say what could be seen of this host and what is missing for the rest;
    /// exit code 1 where something that they ask for cannot work
    #[arg(long)]
    check: bool,
}

/// The exit code.
pub(super) fn run(args: &AgentArgs) -> anyhow::Result<u8> {
    let mut overrides = environment::overrides(variable);
    overrides.extend(args.set.iter().map(|set| flag(set)).collect::<anyhow::Result<Vec<_>>>()?);
    let mut config = read_settings(args.config.as_deref(), &overrides)?;
    config.logs_kernel_programs = args.log_kernel_programs;
    if args.check {
        return check(&config);
    }
    let is_over = Arc::new(AtomicBool::new(false));
    let over = is_over.clone();
    // Ctrl-C and SIGTERM end it in order.
    ctrlc::set_handler(move || over.store(true, Ordering::Relaxed)).context("wait for SIGTERM")?;
    let mut say = |text: String| eprintln!("{text}");
    Agent::start(config, &variable, &mut say)?.run(&is_over, &mut say)?;
    Ok(0)
}

/// Prints what could be seen here, and what the settings ask for that cannot work; the exit code.
fn check(config: &Config) -> anyhow::Result<u8> {
    let host = Host::read("/proc".as_ref(), "/sys".as_ref());
    let mut out = anstream::stdout().lock();
    let verdicts = check::verdicts(config.sources, &host);
    verdicts.iter().try_for_each(|verdict| writeln!(out, "{verdict}"))?;
    out.flush()?;
    let problems = check::problems(config, &host);
    for problem in &problems {
        // A failing standard error cannot be reported anywhere.
        let _ = writeln!(anstream::stderr(), "error: {problem}");
    }
    Ok(u8::from(!problems.is_empty()))
}

fn flag(text: &str) -> anyhow::Result<Override> {
    let (key, value) = text.split_once('=').with_context(|| {
        format!("--set {text}: a key and a value, as in --set prometheus.enabled=false")
    })?;
    let (key, value) = (key.trim().to_owned(), value.trim().to_owned());
    Ok(Override { name: format!("--set {key}"), key, value })
}

#[expect(clippy::disallowed_methods, reason = "OpenTelemetry's variables")]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}
