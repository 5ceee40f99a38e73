//! Kinds of panels, with the options of each.

use serde_json::{Map, Value, json};

/// How a panel draws its answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum View {
    /// Lines over time.
    TimeSeries,
    /// Areas over time, one on top of the other.
    Stacked,
    /// One number, or a few beside each other.
    Stat,
    /// Numbers, each with its name.
    NamedStat,
    /// Bars of the latest values.
    BarGauge,
    /// Rows over time, darker where values are higher.
    Heatmap,
    /// Rows over time, coloured by thresholds.
    StateTimeline,
    /// Rows and columns.
    Table,
}

impl View {
    /// Grafana's id of the panel plugin.
    pub(crate) const fn plugin(self) -> &'static str {
        match self {
            Self::TimeSeries | Self::Stacked => "timeseries",
            Self::Stat | Self::NamedStat => "stat",
            Self::BarGauge => "bargauge",
            Self::Heatmap => "heatmap",
            Self::StateTimeline => "state-timeline",
            Self::Table => "table",
        }
    }

    /// Whether it shows the latest values rather than their course.
    pub(crate) const fn is_instant(self) -> bool {
        matches!(self, Self::NamedStat | Self::BarGauge | Self::Table)
    }

    /// The plugin's options.
    pub(crate) fn options(self) -> Value {
        match self {
            Self::TimeSeries | Self::Stacked => json!({
                "legend": {
                    "calcs": ["lastNotNull", "max"],
                    "displayMode": "table",
                    "placement": "right",
                    "showLegend": true,
                    "sortBy": "Max",
                    "sortDesc": true,
                    "width": 260,
                },
                "tooltip": { "mode": "multi", "sort": "desc" },
            }),
            Self::Stat => stat("value", "area"),
            Self::NamedStat => stat("value_and_name", "none"),
            Self::BarGauge => json!({
                "displayMode": "basic",
                "legend": {
                    "calcs": [],
                    "displayMode": "list",
                    "placement": "bottom",
                    "showLegend": false,
                },
                "maxVizHeight": 300,
                "minVizHeight": 16,
                "minVizWidth": 8,
                "namePlacement": "left",
                "orientation": "horizontal",
                "reduceOptions": { "calcs": ["lastNotNull"], "fields": "", "values": false },
                "showUnfilled": true,
                "sizing": "auto",
                "valueMode": "color",
            }),
            Self::Heatmap => json!({
                "calculate": false,
                "cellGap": 1,
                "color": {
                    "exponent": 0.5,
                    "fill": "dark-orange",
                    "mode": "scheme",
                    "reverse": false,
                    "scale": "exponential",
                    "scheme": "Oranges",
                    "steps": 64,
                },
                "exemplars": { "color": "rgba(255,0,255,0.7)" },
                "filterValues": { "le": 1e-9 },
                "legend": { "show": true },
                "rowsFrame": { "layout": "auto" },
                "showValue": "never",
                "tooltip": { "mode": "single", "showColorScale": true, "yHistogram": false },
                "yAxis": { "axisPlacement": "left", "reverse": false },
            }),
            Self::StateTimeline => json!({
                "alignValue": "left",
                "legend": {
                    "calcs": [],
                    "displayMode": "list",
                    "placement": "bottom",
                    "showLegend": false,
                },
                "mergeValues": true,
                "rowHeight": 0.9,
                "showValue": "auto",
                "tooltip": { "mode": "single", "sort": "none" },
            }),
            Self::Table => json!({
                "cellHeight": "sm",
                "frameIndex": 0,
                "showHeader": true,
            }),
        }
    }

    /// The plugin's settings of fields.
    pub(crate) fn custom(self) -> Map<String, Value> {
        let custom = match self {
            Self::TimeSeries => graph("none", 10),
            Self::Stacked => graph("normal", 60),
            Self::StateTimeline => json!({ "fillOpacity": 80, "lineWidth": 0 }),
            Self::Table => json!({
                "align": "auto",
                "cellOptions": { "type": "auto" },
                "inspect": false,
            }),
            Self::Stat | Self::NamedStat | Self::BarGauge | Self::Heatmap => json!({}),
        };
        match custom {
            Value::Object(custom) => custom,
            _ => Map::new(),
        }
    }

    /// How values get their colours.
    pub(crate) fn color(self) -> Option<Value> {
        match self {
            Self::TimeSeries | Self::Stacked => Some(json!({ "mode": "palette-classic" })),
            Self::Heatmap => None,
            _ => Some(json!({ "mode": "thresholds" })),
        }
    }
}

fn stat(text: &str, graph: &str) -> Value {
    json!({
        "colorMode": "background_solid",
        "graphMode": graph,
        "justifyMode": "center",
        "orientation": "auto",
        "percentChangeColorMode": "standard",
        "reduceOptions": { "calcs": ["lastNotNull"], "fields": "", "values": false },
        "showPercentChange": false,
        "textMode": text,
        "wideLayout": true,
    })
}

fn graph(stacking: &str, opacity: u8) -> Value {
    json!({
        "axisBorderShow": false,
        "axisLabel": "",
        "axisPlacement": "auto",
        "drawStyle": "line",
        "fillOpacity": opacity,
        "lineInterpolation": "linear",
        "lineWidth": 2,
        "pointSize": 5,
        "showPoints": "never",
        "spanNulls": false,
        "stacking": { "group": "A", "mode": stacking },
        "thresholdsStyle": { "mode": "off" },
    })
}
