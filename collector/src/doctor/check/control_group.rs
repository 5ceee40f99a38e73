//! Do control groups limit what RDMA needs?

use super::Check;
use crate::doctor::fact::Facts;
use crate::doctor::outcome::Outcome;

/// Control groups.
pub(super) const CHECK: Check = Check {
    name: "control_group",
    asks: "Do control groups limit RDMA, memory or processes?",
    judge,
};

/// A job of eight ranks with data loaders has some thousand threads.
const FEW_PROCESSES: u64 = 4_096;

fn judge(facts: &Facts) -> Vec<Outcome> {
    let group = &facts.resources.group;
    let set = |file: &str| group.iter().find(|(path, _)| path.ends_with(file));
    let mut outcomes = Vec::new();
    if let Some((path, limits)) = set("/rdma.max") {
        let limited = limits
            .lines()
            .any(|line| line.split_whitespace().skip(1).any(|one| !one.ends_with("=max")));
        if limited {
            let says = format!(
                "RDMA objects are limited: {}. Queue pairs beyond it fail.",
                limits.lines().collect::<Vec<_>>().join("; ")
            );
            outcomes.push(
                Outcome::warning(says).seen(path).fix("raise rdma.max of the job's control group"),
            );
        }
    }
    if let Some((path, limit)) = set("/pids.max")
        .filter(|(_, limit)| limit.parse().is_ok_and(|limit: u64| limit < FEW_PROCESSES))
    {
        let says = format!("At most {limit} processes and threads: a rank has hundreds.");
        outcomes.push(
            Outcome::warning(says)
                .seen(path)
                .fix("raise pids.max: TasksMax= of systemd, podPidsLimit of the kubelet"),
        );
    }
    if let Some((path, limit)) = set("/memory.max") {
        let bytes: Option<u64> = limit.parse().ok();
        let is_less = bytes.zip(facts.resources.memory).is_some_and(|(limit, all)| limit < all);
        if let (true, Some(bytes)) = (is_less, bytes) {
            let says = format!(
                "Memory is limited to {}; pinned memory and /dev/shm count in it.",
                bytesize::ByteSize::b(bytes).display().iec()
            );
            outcomes.push(Outcome::note(says).seen(path));
        }
    }
    outcomes
}
