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
    ($($name:literal),+ $(,)?) => {
        &[$(Exhibit { name: $name, toml: include_str!(concat!("../gallery/", $name, ".toml")) }),+]
    };
}

/// All of them.
pub const GALLERY: &[Exhibit] = exhibits![
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

/// The one of that name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Exhibit> {
    GALLERY.iter().find(|exhibit| exhibit.name == name)
}
