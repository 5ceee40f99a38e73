//! Is `/dev/shm` large enough?

use super::Check;
use crate::doctor::fact::Facts;
use crate::doctor::outcome::Outcome;

/// Shared memory.
pub(super) const CHECK: Check = Check {
    name: "shared_memory",
    asks: "Is /dev/shm large enough for NCCL and data loaders?",
    judge,
};

/// Containers get 64 MiB by default; NCCL needs some MiB for each pair of ranks and channel, data loaders more.
const ENOUGH: u64 = 1 << 30;

fn judge(facts: &Facts) -> Vec<Outcome> {
    let seen = "/dev/shm (statvfs)";
    let bytes = match &facts.resources.shared_memory {
        Err(missing) => return vec![Outcome::unknown(missing)],
        Ok(bytes) => *bytes,
    };
    let amount = bytesize::ByteSize::b(bytes).display().iec();
    // Half of the memory is what every machine has; containers have 64 MiB.
    let is_usual = facts.resources.memory.is_some_and(|memory| bytes >= memory / 100 * 45);
    if bytes >= ENOUGH || is_usual {
        return vec![Outcome::right(format!("/dev/shm has {amount}.")).seen(seen)];
    }
    let says = format!(
        "/dev/shm has {amount}: NCCL's ranks on one node fail with \"No space left on device\", or data loaders die of SIGBUS."
    );
    vec![Outcome::warning(says).seen(seen).fix("Docker: --shm-size=16g or --ipc=host; Kubernetes: an emptyDir of medium Memory at /dev/shm")]
}
