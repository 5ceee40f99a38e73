//! Has a GPU, an NVLink, a NIC, a transceiver or PCIe (AER) failed since boot?

use std::time::Duration;

use railscope_core::analysis::finding::log_cause::{self, LogCause};

use super::{Check, count};
use crate::doctor::fact::Facts;
use crate::doctor::fact::kernel_log::{KernelLog, Record};
use crate::doctor::fact::rdma::Device;
use crate::doctor::outcome::{Outcome, Status};
use crate::printable::printable;

/// Errors of hardware.
pub(super) const CHECK: Check = Check {
    name: "hardware_errors",
    asks: "Has a GPU, an NVLink, a NIC, a transceiver or PCIe (AER) failed since boot?",
    judge,
};

const SEEN: &str = "/dev/kmsg";

/// Causes of the kernel's log that concern hardware.
const CAUSES: &[&str] = &[
    "gpu_failed",
    "gpu_recovery",
    "nvlink_failed",
    "nic_failed",
    "module_failed",
    "pcie_failed",
    "pcie_errors",
    "pcie_corrected",
];
/// The cause that costs only time.
const CORRECTED: &str = "pcie_corrected";

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
    let mut outcomes = failures(facts, log);
    // What costs only time is no failure.
    if outcomes.iter().all(|outcome| outcome.status == Status::Note) {
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

/// Failures that the log names, an outcome for each cause: its last line, and where it happened.
fn failures(facts: &Facts, log: &KernelLog) -> Vec<Outcome> {
    let failed = log.records.iter().filter_map(|record| {
        let cause = log_cause::of_line(&record.text)?;
        // A link that is down when the driver loads may never have been up.
        CAUSES
            .contains(&cause.id)
            .then_some((cause, record))
            .filter(|_| cause.id != "module_failed" || record.at >= BOOT)
            // Xid 154 also says when the recovery is done.
            .filter(|_| cause.id != "gpu_recovery" || !is_recovered(log, record))
    });
    let failed: Vec<(&LogCause, &Record)> = failed.collect();
    let of = |id: &&str| {
        let lines = || failed.iter().filter(|(cause, _)| cause.id == *id);
        let (cause, last) = lines().next_back()?;
        let line: String = printable(&last.text).chars().take(SHOWN).collect();
        let says = format!(
            "Since boot {} ({}, the last {} ago{}): {line}",
            cause.what,
            count(lines().count(), "line"),
            ago(log.uptime.saturating_sub(last.at)),
            device(facts, &last.text).map(|name| format!(", {name}")).unwrap_or_default()
        );
        let outcome = match *id {
            CORRECTED => Outcome::note(says),
            _ if lines().any(|(_, record)| is_lost(&record.text)) => Outcome::critical(says),
            _ => Outcome::warning(says),
        };
        Some(outcome.seen(SEEN).fix(cause.remedy))
    };
    CAUSES.iter().filter_map(of).collect()
}

/// What the driver says of a GPU that no program can use until it is reset or the host reboots.
const LOST: &[&str] = &[
    "fallen off the bus",
    "(GPU Reset Required)",
    "(Node Reboot Required)",
    "RmInitAdapter failed",
];

/// Whether a line leaves a GPU that cannot be used.
fn is_lost(text: &str) -> bool {
    // The action before is in the line too: `from 0x1 (GPU Reset Required) to ...`.
    let now = text.rsplit_once(" to 0x").map_or(text, |(_, now)| now);
    LOST.iter().any(|words| now.contains(words))
}

/// Drivers load until then.
const BOOT: Duration = Duration::from_secs(120);

/// Whether a later line of the same GPU says that nothing is left to do.
fn is_recovered(log: &KernelLog, asked: &Record) -> bool {
    let gpu = |text: &str| text.split_once("): 154,").map(|(before, _)| before.to_owned());
    let later = log.records.iter().filter(|record| record.number > asked.number);
    let mut of_gpu = later.filter(|record| gpu(&record.text) == gpu(&asked.text));
    of_gpu.any(|record| record.text.contains("to 0x0 (None)"))
}

/// The RDMA device or the GPU at the PCIe address in a line.
fn device(facts: &Facts, line: &str) -> Option<String> {
    // Xids leave out the function's number: `PCI:0000:1a:00`.
    let is_in = |function: &str| line.contains(function.split('.').next().unwrap_or(function));
    if line.contains("NVRM") {
        let gpu = facts.gpus.iter().find(|gpu| is_in(&gpu.function))?;
        let model = gpu.model.as_deref().unwrap_or("GPU");
        return Some(format!("{model} at {}", gpu.function));
    }
    let is_own = |device: &&Device| device.function.as_deref().is_some_and(is_in);
    facts.devices().iter().find(is_own).map(|device| device.name.clone())
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
