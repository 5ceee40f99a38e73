//! Is the clock synchronised?

use super::Check;
use crate::doctor::fact::Facts;
use crate::doctor::outcome::Outcome;

/// The clock.
pub(super) const CHECK: Check = Check {
    name: "clock",
    asks: "Does the clock follow a reference, so that logs of several nodes can be compared?",
    judge,
};

/// Beyond it, lines of two logs are in the wrong order too often.
const LARGE_US: i64 = 100_000;

fn judge(facts: &Facts) -> Vec<Outcome> {
    let seen = "adjtimex(2)";
    let clock = match &facts.clock {
        Err(missing) => return vec![Outcome::unknown(missing)],
        Ok(clock) => *clock,
    };
    if !clock.is_synchronised {
        let says = "Nothing disciplines the clock: times of this node's logs and captures cannot be compared with others'.";
        // A hypervisor may keep a guest's clock right without the kernel's knowing.
        return vec![
            Outcome::note(says).seen(seen).fix("chronyd or ptp4l and phc2sys; `chronyc tracking`"),
        ];
    }
    let error = clock.max_error_us as f64 / 1e3;
    if clock.max_error_us > LARGE_US {
        let says = format!("The clock may be wrong by {error:.0} ms.");
        return vec![Outcome::note(says).seen(seen).fix("`chronyc tracking`, `chronyc sources`")];
    }
    vec![Outcome::right(format!("The clock is wrong by at most {error:.1} ms.")).seen(seen)]
}
