//! The only clock of the chores.

use std::time::Instant;

/// What `work` returned, and the seconds that passed.
#[expect(clippy::disallowed_methods, reason = "chores report how long things take")]
pub(crate) fn timed<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let begin = Instant::now();
    let result = work();
    (result, begin.elapsed().as_secs_f64())
}
