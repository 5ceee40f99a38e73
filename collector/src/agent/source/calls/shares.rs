//! Whose calls they are, and how many of each are looked at: one user's calls do not hide another's. The kernel
//! programs pass on more than that, as a job that starts makes many at once.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use railscope_ebpf::share;

use crate::ingest::process::Processes;
use railscope_core::model::call::Caller;

/// Calls of one payer looked at in a second, and at once. A rank makes some hundreds a second.
const PER_SECOND: u64 = 5_000;
const BURST: u64 = 20_000;

/// Processes and payers remembered; beyond that all are looked up again.
const MOST: usize = 4096;

/// How long the user of a process is believed: its number may be used again.
const BELIEVED: Duration = Duration::from_secs(30);

/// Ranks of one process that are introduced.
const INTRODUCTIONS: u32 = 16;

/// What calls count against.
#[derive(Debug, Default)]
pub(super) struct Shares {
    payers: HashMap<u32, Known>,
    budgets: HashMap<u64, Budget>,
    refused: u64,
}

#[derive(Debug)]
struct Known {
    payer: u64,
    since: Instant,
    introduced: u32,
}

#[derive(Debug)]
struct Budget {
    left: u64,
    filled: Instant,
}

impl Shares {
    /// The payer of a call: its user, or its control group where the user is root, as in most containers.
    pub(super) fn payer(&mut self, caller: &Caller, processes: &Processes) -> u64 {
        let now = now();
        if self.payers.len() >= MOST {
            self.payers.clear();
        }
        let known = self.payers.get(&caller.pid);
        if let Some(known) = known.filter(|known| now.duration_since(known.since) < BELIEVED) {
            return known.payer;
        }
        let introduced = known.map_or(0, |known| known.introduced);
        let user = processes.user(caller.pid).unwrap_or_default();
        let payer = share::payer(user, caller.cgroup);
        self.payers.insert(caller.pid, Known { payer, since: now, introduced });
        payer
    }

    /// Whether to look at one more call of `payer`.
    pub(super) fn admit(&mut self, payer: u64) -> bool {
        let now = now();
        if self.budgets.len() >= MOST {
            self.budgets.clear();
        }
        let budget = self.budgets.entry(payer).or_insert(Budget { left: BURST, filled: now });
        let since = now.duration_since(budget.filled);
        if since >= Duration::from_millis(100) {
            let due = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
            budget.left =
                due.saturating_mul(PER_SECOND / 1000).saturating_add(budget.left).min(BURST);
            budget.filled = now;
        }
        if budget.left == 0 {
            self.refused += 1;
            return false;
        }
        budget.left -= 1;
        true
    }

    /// Whether one more rank of a process is worth a line.
    pub(super) fn introduces(&mut self, pid: u32) -> bool {
        let Some(known) = self.payers.get_mut(&pid) else { return true };
        known.introduced += 1;
        known.introduced <= INTRODUCTIONS
    }

    /// Calls refused since the last time.
    pub(super) fn take_refused(&mut self) -> u64 {
        std::mem::take(&mut self.refused)
    }
}

#[expect(clippy::disallowed_methods, reason = "calls are limited per time")]
fn now() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_payer_does_not_use_up_what_another_has() {
        let mut shares = Shares::default();
        let admitted = (0..3 * BURST).filter(|_| shares.admit(1)).count() as u64;
        assert!((BURST..BURST + PER_SECOND).contains(&admitted), "{admitted}");
        assert_eq!(shares.take_refused(), 3 * BURST - admitted);
        assert!((0..100).all(|_| shares.admit(2)));
        assert_eq!(shares.take_refused(), 0);
    }

    #[test]
    fn payers_are_users_or_control_groups_of_root() {
        let mut shares = Shares::default();
        let processes = Processes::new("/proc");
        let own = Caller { pid: std::process::id(), tid: 1, cgroup: 7, payer: 0 };
        let user = nix::unistd::geteuid().as_raw();
        let expected = if user == 0 { 7 } else { 1 << 63 | u64::from(user) };
        assert_eq!(shares.payer(&own, &processes), expected);
        let introduced = (0..100).filter(|_| shares.introduces(own.pid)).count();
        assert_eq!(introduced, INTRODUCTIONS as usize);
    }
}
