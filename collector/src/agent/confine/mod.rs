//! What the agent can do no more once it runs, even if somebody takes it over: `docs/SECURITY.md` has the
//! table, and why some rights stay.

mod capabilities;
mod system_calls;

use nix::sys::prctl;

use crate::config::SourceConfig;
use crate::ingest::capability::Host;

/// Gives up capabilities that no enabled source needs, and the way to get others. Before threads start:
/// they inherit it.
pub(super) fn drop_rights(
    on: SourceConfig,
    records: bool,
    host: &Host,
    say: &mut dyn FnMut(String),
) {
    match capabilities::keep(&capabilities::needed(on, records, host)) {
        Ok(kept) => say(format!("rights: {kept}, and no way to get more")),
        Err(error) => say(format!("rights: capabilities cannot be dropped: {error}")),
    }
    if let Err(error) = prctl::set_no_new_privs() {
        say(format!("rights: new privileges cannot be forbidden: {error}"));
    }
}

/// Gives up system calls that it has no use for once everything is open, in all threads.
pub(super) fn filter_system_calls(say: &mut dyn FnMut(String)) {
    if let Err(error) = system_calls::refuse() {
        say(format!("rights: system calls are not filtered: {error}"));
    }
}
