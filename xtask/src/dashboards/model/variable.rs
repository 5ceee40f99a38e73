//! Variables of a dashboard: what its user chooses.

use serde_json::{Value, json};

/// The data source of all panels, which is a variable.
pub(crate) fn data_source() -> Value {
    json!({ "type": "prometheus", "uid": "${datasource}" })
}

/// The choice of a Prometheus.
pub(crate) fn data_source_variable() -> Value {
    json!({
        "hide": 0,
        "includeAll": false,
        "label": "Prometheus",
        "multi": false,
        "name": "datasource",
        "options": [],
        "query": "prometheus",
        "refresh": 1,
        "regex": "",
        "skipUrlSync": false,
        "type": "datasource",
    })
}

/// A choice of values of a label. All is `.*`, which also matches series without the label.
pub(crate) fn label_variable(name: &str, label: &str, query: &str, about: &str) -> Value {
    json!({
        "allValue": ".*",
        "current": { "selected": true, "text": ["All"], "value": ["$__all"] },
        "datasource": data_source(),
        "description": about,
        "hide": 0,
        "includeAll": true,
        "label": label,
        "multi": true,
        "name": name,
        "options": [],
        "query": { "query": query, "refId": "variable" },
        "refresh": 2,
        "regex": "",
        "skipUrlSync": false,
        "sort": 7,
        "type": "query",
    })
}

/// A text that links use and that can be changed in the board's settings.
pub(crate) fn constant_variable(name: &str, value: &str, about: &str) -> Value {
    json!({
        "current": { "selected": false, "text": value, "value": value },
        "description": about,
        "hide": 2,
        "label": name,
        "name": name,
        "options": [],
        "query": value,
        "skipUrlSync": true,
        "type": "constant",
    })
}
