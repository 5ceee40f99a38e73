//! `adjtimex`, only to read.
#![expect(unsafe_code, reason = "no safe wrapper offers this call")]

use super::Clock;

/// What the kernel knows of its clock.
pub(super) fn ask() -> nix::Result<Clock> {
    // SAFETY: `timex` is plain data, for which zeroes are valid; no mode is set, so nothing changes.
    let mut state: libc::timex = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel fills the structure, which lives until the call returns.
    let result = unsafe { libc::adjtimex(&raw mut state) };
    nix::errno::Errno::result(result)?;
    Ok(Clock {
        is_synchronised: state.status & libc::STA_UNSYNC == 0,
        max_error_us: state.maxerror,
        estimated_error_us: state.esterror,
    })
}
