//! A panel: a question, the queries that answer it, and how the answers are drawn.

use serde::Serialize;
use serde_json::{Value, json};

use super::field::{FieldConfig, FieldDefaults, Override, Thresholds, Unit};
use super::link::Link;
use super::variable::data_source;
use super::view::View;

/// What stands where a query has no answer, unless a panel says more.
const NOT_VISIBLE: &str = "not visible here";

/// A panel without a place.
#[derive(Clone, Debug)]
pub(crate) struct Panel {
    view: View,
    title: String,
    about: String,
    targets: Vec<Target>,
    fields: FieldConfig,
    links: Vec<Link>,
    transformations: Vec<Value>,
    options: Vec<(&'static str, Value)>,
    /// Columns of 24.
    pub(crate) width: u32,
}

/// A query.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Target {
    datasource: Value,
    editor_mode: &'static str,
    pub(crate) expr: String,
    format: &'static str,
    instant: bool,
    legend_format: String,
    range: bool,
    ref_id: String,
}

/// A place on the board.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct GridPos {
    pub(crate) h: u32,
    pub(crate) w: u32,
    pub(crate) x: u32,
    pub(crate) y: u32,
}

/// A panel or a heading, at its place.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum Placed {
    Panel(Box<PlacedPanel>),
    Heading(Heading),
}

/// A panel at its place.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PlacedPanel {
    datasource: Value,
    description: String,
    field_config: FieldConfig,
    grid_pos: GridPos,
    id: u32,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    links: Vec<Link>,
    options: Value,
    targets: Vec<Target>,
    title: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    transformations: Vec<Value>,
    #[serde(rename = "type")]
    kind: &'static str,
}

/// A heading over the panels below it.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Heading {
    pub(crate) collapsed: bool,
    pub(crate) grid_pos: GridPos,
    pub(crate) id: u32,
    pub(crate) panels: Vec<Value>,
    pub(crate) title: String,
    #[serde(rename = "type")]
    pub(crate) kind: &'static str,
}

impl Panel {
    /// A panel that answers the question `title`.
    pub(crate) fn new(view: View, title: &str) -> Self {
        let defaults = FieldDefaults {
            color: view.color(),
            custom: view.custom(),
            no_value: NOT_VISIBLE.to_owned(),
            ..FieldDefaults::default()
        };
        Self {
            view,
            title: title.to_owned(),
            about: String::new(),
            targets: Vec::new(),
            fields: FieldConfig { defaults, overrides: Vec::new() },
            links: Vec::new(),
            transformations: Vec::new(),
            options: Vec::new(),
            width: 8,
        }
    }

    /// How to read it, and what is bad.
    pub(crate) fn about(mut self, about: &str) -> Self {
        self.about = about.to_owned();
        self
    }

    /// Adds a query. `$F` stands for the filter by the board's variables, `$C` for that of rules that
    /// join all hosts of a cluster.
    pub(crate) fn query(mut self, expression: &str, legend: &str) -> Self {
        let letter = (b'A'..=b'Z').nth(self.targets.len()).unwrap_or(b'Z');
        let is_instant = self.view.is_instant();
        self.targets.push(Target {
            datasource: data_source(),
            editor_mode: "code",
            expr: super::super::query::filtered(expression),
            format: if self.view == View::Table { "table" } else { "time_series" },
            instant: is_instant,
            legend_format: legend.to_owned(),
            range: !is_instant,
            ref_id: char::from(letter).to_string(),
        });
        self
    }

    pub(crate) fn unit(mut self, unit: Unit) -> Self {
        self.fields.defaults.set_unit(unit);
        self
    }

    pub(crate) fn decimals(mut self, decimals: u8) -> Self {
        self.fields.defaults.decimals = Some(decimals);
        self
    }

    pub(crate) fn thresholds(mut self, thresholds: Thresholds) -> Self {
        self.fields.defaults.set_thresholds(&thresholds);
        self
    }

    /// The range of the axis.
    pub(crate) fn between(mut self, min: f64, max: f64) -> Self {
        self.fields.defaults.max = Some(max);
        self.from(min)
    }

    /// Where the axis begins.
    pub(crate) fn from(mut self, min: f64) -> Self {
        self.fields.defaults.min = Some(min);
        self
    }

    /// Draws thresholds as lines.
    pub(crate) fn limits(mut self, thresholds: Thresholds) -> Self {
        let style = json!({ "mode": "dashed" });
        self.fields.defaults.custom.insert("thresholdsStyle".to_owned(), style);
        self.thresholds(thresholds)
    }

    /// What it says where a query has no answer.
    pub(crate) fn without_answer(mut self, words: &str) -> Self {
        self.fields.defaults.no_value = words.to_owned();
        self
    }

    /// Words in place of values.
    pub(crate) fn mapping(mut self, mapping: Value) -> Self {
        self.fields.defaults.mappings.push(mapping);
        self
    }

    pub(crate) fn field(mut self, field: Override) -> Self {
        self.fields.overrides.push(field);
        self
    }

    /// An option of the panel's plugin.
    pub(crate) fn option(mut self, name: &'static str, value: Value) -> Self {
        self.options.push((name, value));
        self
    }

    /// The runbook of a finding.
    pub(crate) fn runbook(mut self, finding: &str) -> Self {
        let url = super::super::query::runbook(finding);
        self.links.push(Link::to_page(&format!("Runbook: {finding}"), url));
        self
    }

    /// Another board, with the same choice of hosts and time.
    pub(crate) fn board(mut self, uid: &str, title: &str) -> Self {
        let link = Link {
            include_vars: true,
            keep_time: true,
            target_blank: false,
            ..Link::to_page(title, format!("/d/{uid}"))
        };
        self.links.push(link);
        self
    }

    /// Joins the answers to all queries into one table.
    pub(crate) fn merged(mut self) -> Self {
        self.transformations.push(json!({ "id": "merge", "options": {} }));
        self
    }

    /// Columns of a table in order, with their heads; all others are hidden.
    pub(crate) fn columns(mut self, columns: &[(&str, &str)]) -> Self {
        let names: Vec<&str> = columns.iter().map(|(column, _)| *column).collect();
        self.transformations.push(json!({
            "id": "filterFieldsByName",
            "options": { "include": { "names": names } },
        }));
        let order = columns.iter().enumerate();
        let order: serde_json::Map<String, Value> =
            order.map(|(at, (column, _))| ((*column).to_owned(), json!(at))).collect();
        let heads = columns.iter().filter(|(column, head)| column != head);
        let heads: serde_json::Map<String, Value> =
            heads.map(|(column, head)| ((*column).to_owned(), json!(head))).collect();
        self.transformations.push(json!({
            "id": "organize",
            "options": { "excludeByName": {}, "indexByName": order, "renameByName": heads },
        }));
        self
    }

    /// Sorts a table by a column.
    pub(crate) fn sorted(self, column: &str, is_descending: bool) -> Self {
        let by = json!([{ "desc": is_descending, "displayName": column }]);
        self.option("sortBy", by)
    }

    /// Columns of 24 that it takes.
    pub(crate) fn wide(mut self, width: u32) -> Self {
        self.width = width;
        self
    }

    pub(crate) fn placed(self, id: u32, grid_pos: GridPos) -> Placed {
        let mut options = self.view.options();
        for (name, value) in self.options {
            if let Some(options) = options.as_object_mut() {
                options.insert(name.to_owned(), value);
            }
        }
        Placed::Panel(Box::new(PlacedPanel {
            datasource: data_source(),
            description: self.about,
            field_config: self.fields,
            grid_pos,
            id,
            links: self.links,
            options,
            targets: self.targets,
            title: self.title,
            transformations: self.transformations,
            kind: self.view.plugin(),
        }))
    }
}
