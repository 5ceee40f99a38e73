//! Has a GPU, an NVLink or a NIC failed since boot?

use std::time::Duration;

use railscope_core::analysis::finding::log_cause::{self, LogCause};

use super::{Check, count};
use crate::doctor::fact::Facts;
use crate::doctor::fact::kernel_log::Record;
use crate::doctor::outcome::Outcome;
use crate::printable::printable;

/// Errors of hardware.
pub(super) const CHECK: Check = Check {
    name: "hardware_errors",
    asks: "Has a GPU, an NVLink or a NIC failed since boot?",
    judge,
};

const SEEN: &str = "/dev/kmsg";

/// Causes of the kernel's log that concern hardware.
const CAUSES: &[&str] = &["gpu_failed", "nvlink_failed", "nic_failed"];

/// Most characters of a line that are shown.
const SHOWN: usize = 120;

fn judge(facts: &Facts) -> Vec<Outcome> {
    if facts.gpus.is_empty() && facts.devices().is_empty() {
        return Vec::new();
    }
    let log = match &facts.kernel_log {
        Ok(log) => log,
        Err(missing) => {
            return vec![Outcome::unknown(missing).fix("`dmesg | railscope analyze -`")];
        }
    };
    let Some(first) = log.records.first() else {
        let says = "Not checked: /dev/kmsg is empty here, as where a container masks it.";
        return vec![
            Outcome::unseen(says).seen(SEEN).fix("`dmesg | railscope analyze -` on the host"),
        ];
    };
    let failed = log.records.iter().filter_map(|record| {
        let cause = log_cause::of_line(&record.text)?;
        CAUSES.contains(&cause.id).then_some((cause, record))
    });
    let failed: Vec<(&LogCause, &Record)> = failed.collect();
    let mut outcomes: Vec<Outcome> = Vec::new();
    for id in CAUSES {
        let lines = || failed.iter().filter(|(cause, _)| cause.id == *id);
        let Some((cause, last)) = lines().next_back() else { continue };
        let ago = ago(log.uptime.saturating_sub(last.at));
        let line: String = printable(&last.text).chars().take(SHOWN).collect();
        let says = format!(
            "Since boot {} ({}, the last {ago} ago): {line}",
            cause.what,
            count(lines().count(), "line")
        );
        outcomes.push(Outcome::warning(says).seen(SEEN).fix(cause.remedy));
    }
    if outcomes.is_empty() {
        let since = match log.is_whole {
            true => "since boot".to_owned(),
            // What it had said before is overwritten.
            false => format!("in the last {}", ago(log.uptime.saturating_sub(first.at))),
        };
        let says = format!("The kernel's log names no failed GPU, NVLink or NIC {since}.");
        outcomes.push(Outcome::right(says).seen(SEEN));
    }
    outcomes
}

fn ago(time: Duration) -> String {
    humantime::format_duration(Duration::from_secs(rounded(time.as_secs()))).to_string()
}

/// Two units are enough: minutes of days, seconds of hours do not matter.
fn rounded(seconds: u64) -> u64 {
    let unit = match seconds {
        0..3_600 => 1,
        3_600..86_400 => 60,
        _ => 3_600,
    };
    seconds / unit * unit
}
