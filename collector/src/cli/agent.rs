//! `railscope agent`: on a training node, always.

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;
use clap::Args;

use super::config::read_settings;
use crate::agent::Agent;
use crate::agent::sight;
use crate::config::environment;
use crate::config::reader::Override;

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
is railscope_source_visible = 0; the rest goes on.

Exit codes: 0 done (SIGTERM, Ctrl-C); 2 wrong usage or settings, or an address that is taken.")]
pub(super) struct AgentArgs {
    /// The settings
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// One setting, in TOML: prometheus.listen='"0.0.0.0:9474"'
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Only read the settings, and say what could be seen of this host and what is missing for the rest
    #[arg(long)]
    check: bool,
}

/// The exit code.
pub(super) fn run(args: &AgentArgs) -> anyhow::Result<u8> {
    let mut overrides = environment::overrides(variable);
    overrides.extend(args.set.iter().map(|set| flag(set)).collect::<anyhow::Result<Vec<_>>>()?);
    let config = read_settings(args.config.as_deref(), &overrides)?;
    if args.check {
        let verdicts = sight::verdicts(config.sources);
        let mut out = anstream::stdout().lock();
        verdicts.iter().try_for_each(|verdict| writeln!(out, "{verdict}"))?;
        return Ok(0);
    }
    let is_over = Arc::new(AtomicBool::new(false));
    let over = is_over.clone();
    // Ctrl-C and SIGTERM end it as it ends by itself.
    ctrlc::set_handler(move || over.store(true, Ordering::Relaxed)).context("wait for SIGTERM")?;
    let mut say = |text: String| eprintln!("{text}");
    Agent::start(config, &variable, &mut say)?.run(&is_over, &mut say)?;
    Ok(0)
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
