//! Counters of what was missed.

use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};

use crate::model::health::event::HealthEvent;

/// The schema: one key per counter, with its meaning.
pub(super) fn schema(_: &mut SchemaGenerator) -> Schema {
    let counter = |event: &HealthEvent| {
        let count = json!({
            "description": event.about(),
            "type": "integer",
            "format": "uint64",
            "minimum": 0
        });
        (event.name().to_owned(), count)
    };
    let counters: Map<String, Value> = HealthEvent::ALL.iter().map(counter).collect();
    json_schema!({
        "type": "object",
        "properties": counters,
        "additionalProperties": { "type": "integer", "format": "uint64", "minimum": 0 }
    })
}
