//! The captures in `tests/fixtures`, and what `MANIFEST.toml` says must be found in each.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A row of `MANIFEST.toml`.
#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fixture {
    pub file: String,
    pub sha256: String,
    pub bytes: u64,
    pub made_by: String,
    pub shows: String,
    /// The snap length.
    pub snap_bytes: u32,
    pub finds: Found,
}

/// What must be found in a capture.
#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Found {
    pub frames: u64,
    /// Frames by `<transport>_<Linux's name>`.
    pub opcodes: BTreeMap<String, u64>,
    /// Zero if not given: `psn_sequence_error`, `remote_access_error`, `rnr`.
    #[serde(default)]
    pub naks: BTreeMap<String, u64>,
    pub ecn: BTreeMap<String, u64>,
    /// Requests with a source, destination, queue pair and PSN that occurred earlier in the file.
    pub repeated_packets: u64,
}

#[derive(serde::Deserialize)]
struct Manifest {
    fixture: Vec<Fixture>,
}

pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures")
}

pub fn path(file: &str) -> PathBuf {
    folder().join(file)
}

/// Every row of the manifest.
pub fn all() -> Vec<Fixture> {
    let text = std::fs::read_to_string(path("MANIFEST.toml")).unwrap();
    toml::from_str::<Manifest>(&text).unwrap().fixture
}
