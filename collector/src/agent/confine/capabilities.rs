//! The capabilities that stay.

use caps::errors::CapsError;
use caps::{CapSet, Capability, CapsHashSet};

use crate::config::Config;
use crate::ingest::capability::{Host, KernelRelease};

/// From here on BPF maps are not locked memory, whose limit only `CAP_SYS_RESOURCE` raises.
const UNLOCKED_MAPS: KernelRelease = KernelRelease(5, 11);

/// What the enabled sources need to observe, also what comes later: interfaces, libraries, processes.
pub(super) fn needed(config: &Config, host: &Host) -> CapsHashSet {
    let (on, records) = (config.sources, config.record.enabled);
    let mut needed = CapsHashSet::new();
    if on.packets || on.calls || on.processes {
        needed.extend([Capability::CAP_BPF, Capability::CAP_PERFMON]);
        if host.kernel.is_none_or(|kernel| kernel < UNLOCKED_MAPS) {
            needed.insert(Capability::CAP_SYS_RESOURCE);
        }
    }
    if on.packets || records {
        needed.extend([Capability::CAP_NET_ADMIN, Capability::CAP_NET_RAW]);
    }
    // The kernel always asks for it to attach to functions of libraries (`perf_uprobe_event_init`), and to
    // open what a process has mapped.
    let for_tracepoints = host.tracefs.is_none() || host.may_refuse_tracepoints();
    if on.calls || on.processes && for_tracepoints {
        needed.insert(Capability::CAP_SYS_ADMIN);
    }
    if on.calls || on.processes {
        needed.extend([Capability::CAP_SYS_PTRACE, Capability::CAP_DAC_READ_SEARCH]);
        needed.insert(Capability::CAP_NET_ADMIN);
    }
    if on.profiles {
        needed.extend([Capability::CAP_SYS_PTRACE, Capability::CAP_DAC_READ_SEARCH]);
        // Only who may write others' files can turn on events in their rings.
        if !config.profiles.deep_on.is_empty() {
            needed.insert(Capability::CAP_DAC_OVERRIDE);
        }
    }
    needed
}

/// Drops all others from every set of this thread, and of those that it starts. Returns what is left, in
/// words.
pub(super) fn keep(needed: &CapsHashSet) -> Result<String, CapsError> {
    // Programs that it started could get no others; a process without the right for that starts none with
    // other rights anyway.
    for one in caps::runtime::thread_all_supported().difference(needed) {
        _ = caps::drop(None, CapSet::Bounding, *one);
    }
    // Linux before 4.3 has none.
    _ = caps::clear(None, CapSet::Ambient);
    let permitted = caps::read(None, CapSet::Permitted)?;
    let kept: CapsHashSet = permitted.intersection(needed).copied().collect();
    let effective = caps::read(None, CapSet::Effective)?;
    let active: CapsHashSet = effective.intersection(needed).copied().collect();
    caps::set(None, CapSet::Effective, &active)?;
    caps::set(None, CapSet::Permitted, &kept)?;
    caps::clear(None, CapSet::Inheritable)?;
    let mut names: Vec<String> = kept.iter().map(ToString::to_string).collect();
    names.sort_unstable();
    Ok(if names.is_empty() { "no capability".to_owned() } else { names.join(" ") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tracepoints_may_need_an_administrator() {
        let keeps = |paranoia: Option<i32>, calls: bool, processes: bool| {
            let mut config = Config::default();
            (config.sources.calls, config.sources.processes) = (calls, processes);
            let mut host = Host::default();
            host.tracefs = Some("/sys/kernel/tracing".into());
            host.perf_event_paranoid = paranoia;
            needed(&config, &host).contains(&Capability::CAP_SYS_ADMIN)
        };
        for paranoia in [None, Some(-1), Some(2)] {
            assert!(!keeps(paranoia, false, true) && keeps(paranoia, true, true));
        }
        for paranoia in [Some(3), Some(4)] {
            assert!(keeps(paranoia, false, true) && !keeps(paranoia, false, false));
        }
    }
}
