//! `[taps]`: settings of the source `packets`.

use glob::Pattern;

use super::reader::Reader;

/// Interfaces to capture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TapConfig {
    /// Names, or patterns.
    pub interfaces: Vec<Pattern>,
    /// Names or patterns of interfaces not to capture, even if `interfaces` matches them.
    pub exclude: Vec<Pattern>,
    /// Names or patterns of mirror ports: interfaces that only receive copies from a switch, which kernel programs
    /// read in the driver and drop there.
    pub mirrors: Vec<Pattern>,
}

impl Default for TapConfig {
    fn default() -> Self {
        let all = |name: &str| Pattern::new(name).into_iter().collect();
        Self { interfaces: all("*"), exclude: all("lo"), mirrors: Vec::new() }
    }
}

impl TapConfig {
    pub(super) fn read(&mut self, reader: &mut Reader<'_>) {
        reader.section("taps", |section| {
            section.key("interfaces", &mut self.interfaces);
            section.key("exclude", &mut self.exclude);
            section.key("mirrors", &mut self.mirrors);
        });
    }
}
