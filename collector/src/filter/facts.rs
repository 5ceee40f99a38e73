//! What is known of a row of a table, to filter rows as packets are filtered.

use std::net::IpAddr;

use super::field::{Content, Field};

/// The fields that a row has, by name.
#[derive(Clone, Debug, Default)]
pub struct Facts(Vec<(&'static str, Content)>);

impl Facts {
    /// With a number; with two, one of them must fit.
    #[must_use]
    pub fn number(self, name: &'static str, values: [Option<u32>; 2]) -> Self {
        self.with(name, Content::Numbers(values.map(|value| value.map(i128::from))))
    }

    /// With addresses, where they can be read.
    #[must_use]
    pub fn address(self, name: &'static str, values: [&str; 2]) -> Self {
        let read = |text: &str| text.parse::<IpAddr>().ok();
        self.with(name, Content::Addresses(values.map(read)))
    }

    /// With a flag: whether it holds for anything in the row.
    #[must_use]
    pub fn flag(self, name: &'static str, holds: bool) -> Self {
        self.with(name, Content::Flag(holds))
    }

    /// What the row has of a field.
    pub(super) fn get(&self, field: &Field) -> Option<&Content> {
        self.0.iter().find(|(name, _)| *name == field.name).map(|(_, content)| content)
    }

    fn with(mut self, name: &'static str, content: Content) -> Self {
        self.0.push((name, content));
        self
    }
}
