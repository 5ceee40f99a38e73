//! `manifest.json`, the first member of a bundle: what is in it, and where it comes from.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

/// The schema of the manifest.
pub const SCHEMA: &str = "railscope.bundle/1";

/// Name of the member.
pub const MANIFEST: &str = "manifest.json";

/// What a bundle holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// [`SCHEMA`].
    pub schema: String,
    /// The release that wrote it.
    pub tool: String,
    /// Names, addresses and keys were replaced by `railscope scrub`.
    #[serde(default)]
    pub scrubbed: bool,
    /// Where it was written.
    pub host: Host,
    /// Options that change the report; `analyze` uses them where none are given.
    #[serde(default)]
    pub options: BTreeMap<String, String>,
    /// The other members, in their order; `analyze` reads them in this order.
    pub files: Vec<Entry>,
}

/// The host that wrote a bundle.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Host {
    /// Its name.
    pub name: String,
    /// Release of the kernel; empty if unknown.
    #[serde(default)]
    pub kernel: String,
    /// Versions of drivers that matter for RDMA and GPUs, by name.
    #[serde(default)]
    pub drivers: BTreeMap<String, String>,
}

/// A member.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Its path in the archive.
    pub path: String,
    /// What it is.
    pub role: Role,
    /// The file, as the user named it: the report calls it so.
    pub name: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// Its SHA-256, 64 hexadecimal digits.
    pub sha256: String,
    /// When it was last written, in nanoseconds since the epoch; as text, because many readers lose digits
    /// of large numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written_ns: Option<String>,
}

/// What a member is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Frames, in pcap or pcapng, plain or compressed.
    Capture,
    /// A log of NCCL or of the job, or pasted outputs of tools.
    NcclLog,
    /// A log with the training's own step numbers.
    TrainLog,
    /// NIC counters.
    Counters,
    /// A dump of PyTorch's flight recorder.
    FlightRecorder,
    /// An answer of NCCL's RAS.
    Ras,
    /// Records of NCCL's profiler plugin.
    Profile,
    /// Settings: the sections `[findings]` and `[expect]` of the settings file.
    Config,
    /// Which ports are on which rail.
    Rails,
    /// The report, `railscope.report/1`.
    Report,
    /// Of a later release: kept, and not read.
    #[serde(other)]
    Unknown,
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Capture => "capture",
            Self::NcclLog => "nccl_log",
            Self::TrainLog => "train_log",
            Self::Counters => "counters",
            Self::FlightRecorder => "flight_recorder",
            Self::Ras => "ras",
            Self::Profile => "profile",
            Self::Config => "config",
            Self::Rails => "rails",
            Self::Report => "report",
            Self::Unknown => "unknown",
        })
    }
}

impl Manifest {
    /// The members with a role.
    pub fn with_role(&self, role: Role) -> impl Iterator<Item = &Entry> {
        self.files.iter().filter(move |entry| entry.role == role)
    }
}
