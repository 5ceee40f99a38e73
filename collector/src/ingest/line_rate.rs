//! The line rate of an interface.

use std::fs;
use std::path::Path;

/// Bits per second; `None` if the interface is virtual, whose speed is made up, or down.
#[must_use]
pub fn of(interface: &str) -> Option<u64> {
    let folder = Path::new("/sys/class/net").join(interface);
    if !folder.join("device").exists() {
        return None;
    }
    // Megabits; -1 without a link.
    let megabits: i64 = fs::read_to_string(folder.join("speed")).ok()?.trim().parse().ok()?;
    u64::try_from(megabits).ok().filter(|rate| *rate > 0)?.checked_mul(1_000_000)
}
