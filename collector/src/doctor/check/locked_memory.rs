//! May a process pin its buffers?

use super::Check;
use crate::doctor::fact::Facts;
use crate::doctor::outcome::Outcome;

/// Locked memory.
pub(super) const CHECK: Check =
    Check { name: "locked_memory", asks: "May a process pin the memory that RDMA needs?", judge };

/// What NCCL registers for one communicator of a few NICs is some hundred MiB; frameworks register more.
const LEAST: u64 = 256 << 20;
const ENOUGH: u64 = 8 << 30;

fn judge(facts: &Facts) -> Vec<Outcome> {
    if facts.devices().is_empty() {
        return Vec::new();
    }
    let whose = &facts.resources.whose;
    let seen = format!("limits of {whose} (/proc/PID/limits)");
    let limit = match &facts.resources.locked {
        Err(missing) => return vec![Outcome::unknown(missing)],
        Ok(limit) => *limit,
    };
    // A job's own process may pin all with the capability.
    let may_lock_all = facts.resources.may_lock_all == Some(true) && facts.is_of_job;
    let Some(bytes) = limit.filter(|bytes| *bytes < ENOUGH && !may_lock_all) else {
        return vec![Outcome::right("Locked memory has no limit that matters.").seen(seen)];
    };
    let amount = bytesize::ByteSize::b(bytes).display().iec();
    if facts.resources.may_lock_all == Some(true) && !facts.is_of_job {
        let says = format!(
            "The limit of locked memory is {amount}; {whose} may exceed it (CAP_IPC_LOCK), the job's user may not."
        );
        return vec![Outcome::note(says).seen(seen).fix(FIX)];
    }
    let says = format!("{} may pin {amount} only: ibv_reg_mr or ibv_create_qp", capitalised(whose));
    let outcome = match bytes < LEAST {
        true => Outcome::critical(format!("{says} fails with \"Cannot allocate memory\".")),
        false => Outcome::warning(format!("{says} may fail with \"Cannot allocate memory\".")),
    };
    vec![outcome.seen(seen).fix(FIX)]
}

const FIX: &str = "`ulimit -l unlimited`: /etc/security/limits.d (memlock), LimitMEMLOCK=infinity of slurmd, sshd and containerd, \
                   --ulimit memlock=-1 of Docker";

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}
