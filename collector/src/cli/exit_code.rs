//! Exit codes that several commands use.

/// Wrong usage, or unreadable input.
pub(super) const EXIT_UNUSABLE: u8 = 2;

/// Ctrl-C ended the program.
#[cfg(all(target_os = "linux", feature = "drive"))]
pub(super) const EXIT_INTERRUPTED: u8 = 130;
