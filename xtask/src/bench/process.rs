//! One run of a program, measured from outside: wall time, processor time, memory.

use std::fs;
use std::io;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::clock::timed;

/// What one run cost.
pub(super) struct Cost {
    pub(super) seconds: f64,
    /// User and system, of all threads; the kernel counts in hundredths.
    pub(super) cpu_seconds: f64,
    /// The largest `RssAnon` seen: memory of its own, without the file's pages.
    pub(super) peak_anon_bytes: u64,
}

/// Runs `command` to its end; `feed` may write to its standard input meanwhile.
pub(super) fn measure(
    mut command: Command,
    feed: impl FnOnce(&mut Child) -> io::Result<()>,
) -> Result<Cost> {
    let name = format!("{command:?}");
    let cpu_before = cpu_seconds_of_children()?;
    let ended = AtomicBool::new(false);
    let (outcome, seconds) = timed(|| {
        let mut child = command.spawn().with_context(|| format!("start {name}"))?;
        let id = child.id();
        std::thread::scope(|scope| {
            let memory = scope.spawn(|| peak_anon_bytes(id, &ended));
            let fed = feed(&mut child);
            let status = child.wait();
            ended.store(true, Ordering::Relaxed);
            let peak = memory.join().unwrap_or_default();
            anyhow::Ok((fed, status?, peak))
        })
    });
    let (fed, status, peak_anon_bytes) = outcome?;
    // Check the status first: a program that failed also stopped reading.
    ensure!(status.success(), "{name}: {status}");
    fed.with_context(|| format!("feed {name}"))?;
    let cpu_seconds = cpu_seconds_of_children()? - cpu_before;
    Ok(Cost { seconds, cpu_seconds, peak_anon_bytes })
}

/// Polls until `ended`. A program that lives shorter than one interval may be missed: it uses next to
/// no memory.
pub(super) fn peak_anon_bytes(process: u32, ended: &AtomicBool) -> u64 {
    let mut peak = 0;
    while !ended.load(Ordering::Relaxed) {
        peak = peak.max(anon_bytes(process).unwrap_or(0));
        std::thread::sleep(Duration::from_millis(5));
    }
    peak
}

fn anon_bytes(process: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"))?;
    let kibibytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kibibytes * 1024)
}

/// User and system time of all children waited for: fields 16 and 17 of `proc_pid_stat(5)`.
pub(super) fn cpu_seconds_of_children() -> Result<f64> {
    cpu_seconds("/proc/self/stat", 16)
}

/// User and system time of a process that runs: fields 14 and 15 of `proc_pid_stat(5)`.
pub(super) fn cpu_seconds_of(process: u32) -> Result<f64> {
    cpu_seconds(&format!("/proc/{process}/stat"), 14)
}

/// The sum of two fields, of which `first` is the first, counted from 1.
fn cpu_seconds(path: &str, first: usize) -> Result<f64> {
    /// `USER_HZ`, the same on every architecture that Linux runs Rust on.
    const TICKS_PER_SECOND: f64 = 100.0;
    let stat = fs::read_to_string(path).with_context(|| format!("read {path}"))?;
    // Field 2 is a name in parentheses that may hold spaces.
    let (_, fields) = stat.rsplit_once(')').with_context(|| format!("parse {path}"))?;
    let ticks = fields.split_whitespace().skip(first - 3).take(2).map(str::parse::<u32>);
    let ticks: u32 = ticks.sum::<Result<_, _>>().with_context(|| format!("parse {path}"))?;
    Ok(f64::from(ticks) / TICKS_PER_SECOND)
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::process::{Command, Stdio};

    use super::measure;

    #[test]
    fn a_run_has_a_cost() {
        let mut command = Command::new("sh");
        command.args(["-c", "cat > /dev/null; sleep 0.05"]).stdin(Stdio::piped());
        let feed = |child: &mut std::process::Child| {
            child.stdin.take().map_or(Ok(()), |mut stdin| stdin.write_all(&[0; 1 << 20]))
        };
        let cost = measure(command, feed).unwrap();
        assert!(cost.seconds >= 0.05 && cost.peak_anon_bytes > 0);
    }

    #[test]
    fn a_failure_is_an_error() {
        assert!(measure(Command::new("false"), |_| Ok(())).is_err());
    }
}
