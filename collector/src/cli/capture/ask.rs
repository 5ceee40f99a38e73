//! `railscope capture save`: asks a running capture for its ring.

use std::fs;
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};

use super::args::SaveArgs;
use crate::printable::printable;
use crate::record::control::{Answer, Request, SaveRequest, ask};

/// How long a capture may take to write a file, beyond the time that it records on.
const PATIENCE: Duration = Duration::from_secs(600);

/// The exit code.
pub(super) fn run(args: &SaveArgs) -> anyhow::Result<u8> {
    let socket = match &args.socket {
        Some(path) => path.clone(),
        None => only_one()?,
    };
    let after_ms = args.after.map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
    let request = Request::Save(SaveRequest { reason: args.reason.clone(), after_ms });
    let patience = PATIENCE + args.after.unwrap_or_default();
    let answer = ask(&socket, &request, patience);
    match answer.with_context(|| format!("ask the capture at {}", socket.display()))? {
        Answer::Saved(line) => {
            let mut out = std::io::stdout().lock();
            writeln!(out, "{}", printable(&line)).context("write to standard output")?;
            Ok(0)
        }
        Answer::Error(problem) => bail!("the capture says: {problem}"),
    }
}

/// The folder of sockets.
#[expect(clippy::disallowed_methods, reason = "cli reads the environment, once")]
pub(super) fn folder() -> PathBuf {
    let user = nix::unistd::geteuid();
    if user.is_root() {
        return "/run/railscope".into();
    }
    match std::env::var("XDG_RUNTIME_DIR") {
        Ok(folder) if !folder.is_empty() => Path::new(&folder).join("railscope"),
        _ => format!("/tmp/railscope-{user}").into(),
    }
}

/// The socket of the only capture that runs.
fn only_one() -> anyhow::Result<PathBuf> {
    let folder = folder();
    let entries = fs::read_dir(&folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let sockets = entries.filter(|path| path.extension().is_some_and(|end| end == "sock"));
    let mut live: Vec<_> = sockets.filter(|path| UnixStream::connect(path).is_ok()).collect();
    live.sort();
    match (live.pop(), live.len()) {
        (Some(only), 0) => Ok(only),
        (None, _) => bail!(
            "no capture with a ring runs (no socket in {}); start one with --keep 10min, or name its socket with \
             --socket PATH",
            folder.display()
        ),
        (Some(last), _) => {
            live.push(last);
            let names: Vec<_> = live.iter().map(|path| path.display().to_string()).collect();
            bail!("several captures run; name one:\n  --socket {}", names.join("\n  --socket "))
        }
    }
}
