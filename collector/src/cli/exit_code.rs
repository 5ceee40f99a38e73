//! Exit codes that several commands use.

/// Wrong usage, or unreadable input.
pub(super) const EXIT_UNUSABLE: u8 = 2;

/// Ctrl-C ended the program.
#[cfg(target_os = "linux")]
pub(super) const EXIT_INTERRUPTED: u8 = 130;
