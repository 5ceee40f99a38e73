//! Which versions are there, and is one known to fail?

use super::{Check, list};
use crate::doctor::fact::Facts;
use crate::doctor::fact::rdma::Device;
use crate::doctor::outcome::Outcome;

/// Versions.
pub(super) const CHECK: Check =
    Check { name: "versions", asks: "Which NCCL, plugins and drivers are there?", judge };

const SEEN: &str = "library folders, Python packages, /sys/module, /proc/driver/nvidia";

fn judge(facts: &Facts) -> Vec<Outcome> {
    let software = &facts.software;
    let mut outcomes = Vec::new();
    let releases: Vec<String> = software.nccl_versions().into_iter().map(str::to_owned).collect();
    if releases.len() > 1 {
        let paths: Vec<String> = software.nccl.iter().map(|library| library.path.clone()).collect();
        let says = format!(
            "Several releases of NCCL are on disk: {} ({}). All ranks of a job must load the same.",
            list(&releases),
            list(&paths)
        );
        outcomes.push(
            Outcome::note(says).seen(SEEN).fix("NCCL_DEBUG=VERSION shows which one a job loads"),
        );
    }
    // A weak compare-and-swap in the proxy's pool of operations (NCCL 2.29.3's release notes).
    let is_old = |release: &String| version(release).is_some_and(|version| version < (2, 29, 3));
    if let ("aarch64", Some(release)) =
        (software.architecture, releases.iter().find(|release| is_old(release)))
    {
        let says = format!(
            "NCCL {release} on aarch64: a rank that runs ahead can lock up with its own proxy, without a message."
        );
        outcomes.push(Outcome::note(says).seen(SEEN).fix("NCCL 2.29.3 or later"));
    }
    let plugins = &software.plugins;
    if facts.devices().iter().any(Device::is_efa) && plugins.is_empty() && !releases.is_empty() {
        let says = "EFA needs NCCL's plugin aws-ofi-nccl (libnccl-net*.so), and none is in the usual folders: NCCL uses TCP sockets.";
        outcomes.push(Outcome::warning(says).seen(SEEN).fix(
            "install it with the EFA installer (/opt/amazon/ofi-nccl), or name it: NCCL_NET_PLUGIN",
        ));
    }
    let known: Vec<String> = [
        releases.first().map(|release| format!("NCCL {release}")),
        plugins.first().map(|path| format!("plugin {path}")),
        software.cuda.first().and_then(|cuda| Some(format!("CUDA {}", cuda.version.as_ref()?))),
        software.nvidia_release().map(|release| format!("NVIDIA driver {release}")),
        software
            .module("mlx5_core")
            .and_then(|(_, version)| Some(format!("mlx5 {}", version.as_ref()?))),
        software
            .verbs
            .as_ref()
            .and_then(|verbs| Some(format!("libibverbs {}", verbs.version.as_ref()?))),
        software
            .libfabric
            .as_ref()
            .and_then(|fabric| Some(format!("libfabric {}", fabric.version.as_ref()?))),
        facts.place.kernel.as_ref().map(|kernel| format!("Linux {kernel}")),
    ]
    .into_iter()
    .flatten()
    .collect();
    if outcomes.is_empty() && !known.is_empty() {
        outcomes.push(Outcome::right(format!("{}.", known.join(", "))).seen(SEEN));
    }
    outcomes
}

fn version(release: &str) -> Option<(u32, u32, u32)> {
    let mut numbers = release.split('.').map(|part| part.parse().ok());
    Some((numbers.next()??, numbers.next()??, numbers.next()??))
}
