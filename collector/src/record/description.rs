//! What a file says of the host that captured it.

use crate::export::pcapng::Section;
use railscope_core::model::tap::Tap;

/// The head of a file that `application` writes on `host`.
#[must_use]
pub fn section(host: &str, application: String) -> Section {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    Section {
        system: Some(format!("Linux {}", release.trim())),
        application: Some(application),
        comments: vec![format!("captured on {host}")],
    }
}

/// A tap of `host`, with its line rate in bit/s.
#[must_use]
pub fn tap(tap: Tap, host: &str, line_rate_bps: Option<u64>) -> Tap {
    let name = tap.interface.as_deref().unwrap_or_default();
    Tap { file: format!("{name} on {host}"), line_rate_bps, ..tap }
}
