//! Scenarios that ship with railscope, each named for the trouble it shows.

/// A scenario of the gallery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exhibit {
    /// As it is asked for.
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

/// Those that take seconds: each is judged, seed by seed.
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
    "straggler_compute",
    "straggler_enqueue",
    "two_jobs",
    "wrong_dscp",
];

/// Those that take minutes.
pub const LARGE: &[Exhibit] = exhibits!["gallery/large": "thousand_gpus"];

/// All of them.
pub fn all() -> impl Iterator<Item = &'static Exhibit> + Clone {
    GALLERY.iter().chain(LARGE)
}

/// The one of that name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Exhibit> {
    all().find(|exhibit| exhibit.name == name)
}
