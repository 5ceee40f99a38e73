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
    let failed = log.records.iter().filter_map(|record| {
        let cause = log_cause::of_line(&record.text)?;
        CAUSES.contains(&cause.id).then_some((cause, record))
    });
    let failed: Vec<(&LogCause, &Record)> = failed.collect();
    let mut outcomes: Vec<Outcome> = Vec::new();
    for id in CAUSES {
        let lines = || failed.iter().filter(|(cause, _)| cause.id == *id);
        let Some((cause, last)) = lines().next_back() else { continue };
        let ago = log.uptime.saturating_sub(last.at);
        let ago = humantime::format_duration(Duration::from_secs(rounded(ago.as_secs())));
        let line: String = printable(&last.text).chars().take(SHOWN).collect();
        let says = format!(
            "Since boot {} ({}, the last {ago} ago): {line}",
            cause.what,
            count(lines().count(), "line")
        );
        outcomes.push(Outcome::warning(says).seen(SEEN).fix(cause.remedy));
    }
    if outcomes.is_empty() {
        outcomes.push(
            Outcome::right("The kernel has logged no failure of a GPU, an NVLink or a NIC.")
                .seen(SEEN),
        );
    }
    outcomes
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
