//! Scenarios that ship with railscope, each named after the fault it shows.

/// A scenario of the gallery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exhibit {
    /// Its name on the command line.
    pub name: &'static str,
    /// Its file.
    pub toml: &'static str,
}

macro_rules! exhibits {
    ($folder:literal: $($name:literal),+ $(,)?) => {
        &[$(Exhibit {
            name: $name,
            toml: include_str!(concat!("../", $folder, "/", $name, ".toml")),
        }),+]
    };
}

/// Scenarios that take seconds: each is checked with several seeds.
pub const GALLERY: &[Exhibit] = exhibits!["gallery":
    "clean",
    "ddp_overlap",
    "evaluation_pauses",
    "hot_uplink",
    "incast_ecn",
    "link_flap",
    "loss",
    "multi_gpu_rails",
    "not_ect_leg",
    "pfc_storm",
    "slow_nic",
    "slow_receiver",
    "sprayed",
    "sprayed_loss",
    "straggler_compute",
    "straggler_enqueue",
    "two_jobs",
    "wrong_dscp",
];

/// Scenarios that take minutes.
pub const LARGE: &[Exhibit] = exhibits!["gallery/large": "thousand_gpus"];

/// All scenarios.
pub fn all() -> impl Iterator<Item = &'static Exhibit> + Clone {
    GALLERY.iter().chain(LARGE)
}

/// The scenario with this name.
#[must_use]
pub fn exhibit(name: &str) -> Option<&'static Exhibit> {
    all().find(|exhibit| exhibit.name == name)
}
