//! How long tests wait for programs.

use std::time::Instant;

/// Now.
#[expect(clippy::disallowed_methods, reason = "what hangs is ended")]
pub fn now() -> Instant {
    Instant::now()
}
