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
pub const GALLERY: &[Exhibit] = exhibits!["clean", "straggler_compute",];

/// The one of that name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Exhibit> {
    GALLERY.iter().find(|exhibit| exhibit.name == name)
}
