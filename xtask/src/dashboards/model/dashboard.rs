//! A dashboard: its variables, links, annotations and panels.

use serde::Serialize;
use serde_json::{Value, json};

use super::link::Link;
use super::panel::Placed;
use super::variable::data_source;

/// The version of the JSON that Grafana 11.0 writes; later releases migrate it when they load it.
const SCHEMA: u32 = 39;

/// A dashboard.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Dashboard {
    pub(crate) annotations: Annotations,
    pub(crate) description: &'static str,
    pub(crate) editable: bool,
    pub(crate) graph_tooltip: u8,
    pub(crate) links: Vec<Link>,
    pub(crate) panels: Vec<Placed>,
    pub(crate) refresh: &'static str,
    pub(crate) schema_version: u32,
    pub(crate) tags: Vec<&'static str>,
    pub(crate) templating: Templating,
    pub(crate) time: Value,
    pub(crate) timezone: &'static str,
    pub(crate) title: String,
    pub(crate) uid: String,
}

/// The annotations.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Annotations {
    pub(crate) list: Vec<Value>,
}

/// The variables.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Templating {
    pub(crate) list: Vec<Value>,
}

/// A dashboard without panels.
pub(crate) fn dashboard(uid: &str, title: &str, description: &'static str) -> Dashboard {
    Dashboard {
        annotations: Annotations { list: Vec::new() },
        description,
        editable: true,
        // One crosshair over all panels.
        graph_tooltip: 1,
        links: Vec::new(),
        panels: Vec::new(),
        refresh: "30s",
        schema_version: SCHEMA,
        tags: Vec::new(),
        templating: Templating { list: Vec::new() },
        time: json!({ "from": "now-1h", "to": "now" }),
        timezone: "browser",
        title: title.to_owned(),
        uid: uid.to_owned(),
    }
}

/// Marks times at which a query has a value.
pub(crate) fn annotation(name: &str, expression: &str, title: &str, color: &str) -> Value {
    json!({
        "datasource": data_source(),
        "enable": true,
        "hide": false,
        "iconColor": color,
        "name": name,
        "target": { "expr": expression, "interval": "", "refId": "Annotation" },
        "titleFormat": title,
    })
}
