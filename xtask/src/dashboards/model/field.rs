//! How values are shown: unit, thresholds, words for values, and what stands where there is none.

use serde::Serialize;
use serde_json::{Map, Value, json};

/// Units, as Grafana names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// A share of 1, shown in percent.
    Share,
    Seconds,
    BitsPerSecond,
    Bytes,
    /// Anything a second.
    PerSecond,
    /// A plain number.
    Number,
    /// Times a value.
    Times,
    /// CPUs, as a share of one.
    Cpus,
}

impl Unit {
    const fn name(self) -> &'static str {
        match self {
            Self::Share | Self::Cpus => "percentunit",
            Self::Seconds => "s",
            Self::BitsPerSecond => "bps",
            Self::Bytes => "bytes",
            Self::PerSecond => "cps",
            Self::Number => "short",
            Self::Times => "suffix:x",
        }
    }
}

/// A good value, and values that are not.
pub(crate) const GREEN: &str = "green";
pub(crate) const ORANGE: &str = "orange";
pub(crate) const RED: &str = "red";
/// A value that is neither.
pub(crate) const BLUE: &str = "blue";
/// Something that is not known.
pub(crate) const GREY: &str = "#808080";

/// Colours from a value on; the first step has no value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Thresholds(pub(crate) Vec<(Option<f64>, &'static str)>);

impl Thresholds {
    /// No value is good or bad.
    pub(crate) fn neutral() -> Self {
        Self(vec![(None, BLUE)])
    }

    /// Above these, values are worth a look, and bad.
    pub(crate) fn above(warning: f64, bad: f64) -> Self {
        Self(vec![(None, GREEN), (Some(warning), ORANGE), (Some(bad), RED)])
    }

    /// From this value on, all is bad.
    pub(crate) fn bad_from(bad: f64) -> Self {
        Self(vec![(None, GREEN), (Some(bad), RED)])
    }

    /// From this value on, it is worth a look.
    pub(crate) fn warn_from(warning: f64) -> Self {
        Self(vec![(None, GREEN), (Some(warning), ORANGE)])
    }

    /// Below these, values are bad, and worth a look.
    pub(crate) fn below(bad: f64, warning: f64) -> Self {
        Self(vec![(None, RED), (Some(bad), ORANGE), (Some(warning), GREEN)])
    }

    fn json(&self) -> Value {
        let colors = self.0.iter().map(|(value, color)| json!({ "color": color, "value": value }));
        json!({ "mode": "absolute", "steps": colors.collect::<Vec<_>>() })
    }
}

/// A field's settings.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FieldDefaults {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) color: Option<Value>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub(crate) custom: Map<String, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) decimals: Option<u8>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) links: Vec<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) mappings: Vec<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) min: Option<f64>,
    pub(crate) no_value: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) thresholds: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) unit: Option<&'static str>,
}

impl FieldDefaults {
    pub(crate) fn set_unit(&mut self, unit: Unit) {
        self.unit = Some(unit.name());
    }

    pub(crate) fn set_thresholds(&mut self, thresholds: &Thresholds) {
        self.thresholds = Some(thresholds.json());
    }
}

/// Defaults, and what differs for some fields.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct FieldConfig {
    pub(crate) defaults: FieldDefaults,
    pub(crate) overrides: Vec<Override>,
}

/// What differs for the fields that match.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Override {
    pub(crate) matcher: Value,
    pub(crate) properties: Vec<Value>,
}

impl Override {
    /// For the field with this name.
    pub(crate) fn of_field(name: &str) -> Self {
        Self { matcher: json!({ "id": "byName", "options": name }), properties: Vec::new() }
    }

    /// For fields whose names match.
    pub(crate) fn of_fields(pattern: &str) -> Self {
        Self { matcher: json!({ "id": "byRegexp", "options": pattern }), properties: Vec::new() }
    }

    fn with(mut self, id: &str, value: Value) -> Self {
        self.properties.push(json!({ "id": id, "value": value }));
        self
    }

    pub(crate) fn color(self, color: &str) -> Self {
        self.with("color", json!({ "fixedColor": color, "mode": "fixed" }))
    }

    pub(crate) fn unit(self, unit: Unit) -> Self {
        self.with("unit", json!(unit.name()))
    }

    pub(crate) fn decimals(self, decimals: u8) -> Self {
        self.with("decimals", json!(decimals))
    }

    pub(crate) fn thresholds(self, thresholds: &Thresholds) -> Self {
        self.with("thresholds", thresholds.json())
    }

    pub(crate) fn width(self, pixels: u32) -> Self {
        self.with("custom.width", json!(pixels))
    }

    /// The cell has the colour of its value.
    pub(crate) fn colored_cell(self) -> Self {
        self.with("custom.cellOptions", json!({ "mode": "basic", "type": "color-background" }))
    }

    /// Words in place of values.
    pub(crate) fn mappings(self, mappings: Value) -> Self {
        self.with("mappings", mappings)
    }

    pub(crate) fn link(self, title: &str, url: &str) -> Self {
        let link = json!({ "targetBlank": true, "title": title, "url": url });
        self.with("links", json!([link]))
    }

    /// A dashed line without fill: a limit, beside measured values.
    pub(crate) fn drawn_as_limit(self) -> Self {
        self.with("custom.lineStyle", json!({ "dash": [8, 8], "fill": "dash" }))
            .with("custom.fillOpacity", json!(0))
    }

    /// Bars on an axis of their own at the right.
    pub(crate) fn drawn_as_bars(self, unit: Unit) -> Self {
        self.with("custom.drawStyle", json!("bars"))
            .with("custom.fillOpacity", json!(60))
            .with("custom.axisPlacement", json!("right"))
            .unit(unit)
    }
}

/// A word and a colour for each of these values.
pub(crate) fn words(of: &[(&str, &str, &str)]) -> Value {
    let mut options = Map::new();
    for (index, (value, word, color)) in of.iter().enumerate() {
        let word = json!({ "color": color, "index": index, "text": word });
        options.insert((*value).to_owned(), word);
    }
    json!({ "options": options, "type": "value" })
}
