//! Do CPUs run at full speed, and does memory stay where it is?

use super::Check;
use crate::doctor::fact::Facts;
use crate::doctor::outcome::Outcome;

/// Speed of CPUs.
pub(super) const CHECK: Check = Check {
    name: "processors",
    asks: "Do CPUs run at full speed, and does memory stay where it is?",
    judge,
};

fn judge(facts: &Facts) -> Vec<Outcome> {
    let processor = &facts.processor;
    let mut outcomes = Vec::new();
    let slow: Vec<String> = processor
        .governors
        .iter()
        // `schedutil` and `ondemand` follow the load: a proxy thread that sleeps in between looks idle.
        .filter(|(governor, _)| governor != "performance")
        .map(|(governor, cpus)| format!("{governor} on {}", super::count(*cpus, "CPU")))
        .collect();
    let governor = "/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor";
    if !slow.is_empty() {
        let says = format!(
            "Frequencies follow the load: {}. NCCL's proxy threads wake up slowly.",
            slow.join(", ")
        );
        outcomes.push(
            Outcome::note(says).seen(governor).fix("`cpupower frequency-set -g performance`"),
        );
    } else if !processor.governors.is_empty() {
        outcomes
            .push(Outcome::right("CPUs run at full speed (governor performance).").seen(governor));
    }
    if let Some(isolated) = &processor.isolated {
        let says = format!(
            "CPUs {isolated} are isolated: nothing runs there that is not pinned there. Ranks without affinity share the rest."
        );
        outcomes.push(
            Outcome::note(says)
                .seen("/sys/devices/system/cpu/isolated")
                .fix("`numactl` or `taskset` for each rank, or boot without isolcpus"),
        );
    }
    if processor.is_numa_balancing == Some(true) && processor.numa_nodes > 1 {
        let says = "The kernel moves memory between NUMA nodes by itself: registered memory stalls for milliseconds.";
        outcomes.push(
            Outcome::note(says)
                .seen("/proc/sys/kernel/numa_balancing")
                .fix("`sysctl -w kernel.numa_balancing=0`"),
        );
    }
    outcomes
}
