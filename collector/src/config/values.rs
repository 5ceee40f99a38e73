//! The value of each key, to find which of them another file changes.

use std::collections::BTreeMap;
use std::fmt;

use super::Config;

/// Values by key, as in `otlp.interval`; `[findings]` and `[expect]` as a whole. They are never shown: some are
/// secret.
#[derive(Clone, Default)]
pub struct Values(BTreeMap<String, String>);

/// Settings, and the value of each key.
pub struct Settled {
    /// The settings.
    pub config: Config,
    /// The values.
    pub values: Values,
}

impl Values {
    pub(super) fn note(&mut self, key: String, value: &impl fmt::Debug) {
        self.0.insert(key, format!("{value:?}"));
    }

    /// Keys that differ in `other`.
    #[must_use]
    pub fn changed(&self, other: &Self) -> Vec<String> {
        let differs = |key: &&String| self.0.get(*key) != other.0.get(*key);
        other.0.keys().filter(differs).cloned().collect()
    }

    /// Takes the values of these keys over from `other`.
    pub fn adopt(&mut self, keys: &[String], other: &Self) {
        let own = other.0.iter().filter(|(key, _)| keys.contains(key));
        self.0.extend(own.map(|(key, value)| (key.clone(), value.clone())));
    }
}
