//! Items of sections that nothing fills yet: their lists are present and empty.

use schemars::JsonSchema;
use serde::Serialize;

/// An item that cannot exist; its section is an empty list.
#[derive(Clone, Debug, Serialize)]
pub enum Unfilled {}

impl JsonSchema for Unfilled {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Unfilled".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        false.into()
    }
}
