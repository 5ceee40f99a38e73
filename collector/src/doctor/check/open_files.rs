//! May a process open enough files?

use super::Check;
use crate::doctor::fact::Facts;
use crate::doctor::outcome::Outcome;

/// Open files.
pub(super) const CHECK: Check =
    Check { name: "open_files", asks: "May a process open enough files and sockets?", judge };

/// Each peer of a rank's bootstrap and each socket channel takes descriptors: 1024 end at a hundred ranks or so.
const ENOUGH: u64 = 4_096;

fn judge(facts: &Facts) -> Vec<Outcome> {
    let seen = format!("limits of {} (/proc/PID/limits)", facts.resources.whose);
    match &facts.resources.files {
        Err(missing) => vec![Outcome::unknown(missing)],
        Ok(Some(limit)) if *limit < ENOUGH => {
            let says = format!(
                "At most {limit} open files: large jobs fail with \"Too many open files\"."
            );
            vec![Outcome::note(says).seen(seen).fix(
                "`ulimit -n 65536`; nofile in /etc/security/limits.d, LimitNOFILE= of the service",
            )]
        }
        Ok(_) => vec![Outcome::right("Open files have no limit that matters.").seen(seen)],
    }
}
