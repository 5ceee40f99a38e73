//! A dashboard: its variables, links, annotations and panels.

use serde::Serialize;
use serde_json::{Value, json};

use super::panel::Placed;

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

/// A link to other boards or to a page.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Link {
    pub(crate) as_dropdown: bool,
    pub(crate) icon: &'static str,
    pub(crate) include_vars: bool,
    pub(crate) keep_time: bool,
    pub(crate) tags: Vec<&'static str>,
    pub(crate) target_blank: bool,
    pub(crate) title: String,
    pub(crate) tooltip: String,
    #[serde(rename = "type")]
    pub(crate) kind: &'static str,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) url: String,
}

impl Link {
    /// Links to all boards with a tag.
    pub(crate) fn to_tag(tag: &'static str, title: &str) -> Self {
        Self {
            as_dropdown: false,
            icon: "external link",
            include_vars: true,
            keep_time: true,
            tags: vec![tag],
            target_blank: false,
            title: title.to_owned(),
            tooltip: String::new(),
            kind: "dashboards",
            url: String::new(),
        }
    }

    /// A link to a page.
    pub(crate) fn to_page(title: &str, url: String) -> Self {
        Self {
            include_vars: false,
            keep_time: false,
            tags: Vec::new(),
            target_blank: true,
            kind: "link",
            url,
            ..Self::to_tag("", title)
        }
    }
}

/// The data source of all panels, which is a variable.
pub(crate) fn data_source() -> Value {
    json!({ "type": "prometheus", "uid": "${datasource}" })
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
