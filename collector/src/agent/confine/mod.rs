//! What the agent can do no more once it runs, even if somebody takes it over: `docs/SECURITY.md` has the
//! table, and why some rights stay.

mod capabilities;
mod system_calls;

use nix::sys::prctl;

use crate::config::Config;
use crate::ingest::capability::Host;

/// Gives up capabilities that no enabled source needs, and the way to get others; returns what is left of
/// them, in words. To be called before threads start: they inherit it.
#[must_use]
pub fn drop_rights(config: &Config) -> Vec<String> {
    let host = Host::read("/proc".as_ref(), "/sys".as_ref());
    let needed = capabilities::needed(config, &host);
    let mut said = vec![match capabilities::keep(&needed) {
        Ok(kept) => format!("rights: {kept}, and no way to get more"),
        Err(error) => format!("rights: capabilities cannot be dropped: {error}"),
    }];
    if let Err(error) = prctl::set_no_new_privs() {
        said.push(format!("rights: new privileges cannot be forbidden: {error}"));
    }
    said
}

/// Gives up system calls that it has no use for once everything is open, in all threads.
pub(super) fn filter_system_calls(say: &mut dyn FnMut(String)) {
    if let Err(error) = system_calls::refuse() {
        say(format!("rights: system calls are not filtered: {error}"));
    }
}
