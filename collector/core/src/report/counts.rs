//! Counts by name: an object in JSON, a sorted list in memory.
//!
//! A report on 100,000 queue pairs has close to a million of them with few entries each: tree nodes
//! would take most of its memory.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, Serializer};

/// How often each of a few names was seen, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts(Vec<(Cow<'static, str>, u64)>);

impl Counts {
    /// How often `name` was seen; `None` when it was not.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<u64> {
        let at = self.0.binary_search_by(|(known, _)| known.as_ref().cmp(name)).ok()?;
        self.0.get(at).map(|(_, count)| *count)
    }

    /// The names with their counts, ascending by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u64)> {
        self.0.iter().map(|(name, count)| (name.as_ref(), *count))
    }
}

impl FromIterator<(Cow<'static, str>, u64)> for Counts {
    /// Equal names are added up.
    fn from_iter<I: IntoIterator<Item = (Cow<'static, str>, u64)>>(counts: I) -> Self {
        let mut counts: Vec<_> = counts.into_iter().collect();
        counts.sort_unstable();
        counts.dedup_by(|(name, count), (first, sum)| {
            let is_same = name == first;
            *sum += if is_same { *count } else { 0 };
            is_same
        });
        counts.shrink_to_fit();
        Self(counts)
    }
}

impl Serialize for Counts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl JsonSchema for Counts {
    fn schema_name() -> Cow<'static, str> {
        "Counts".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        BTreeMap::<String, u64>::json_schema(generator)
    }
}
