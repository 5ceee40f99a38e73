//! Boards as TypeScript values with Grafana's types.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::fetch::{Release, folder as packages};
use crate::dashboards::file::name;
use crate::dashboards::model::dashboard::Dashboard;
use crate::repository::command;

/// Panel plugins, the folders and names of their types, and whether they have settings of fields.
const PLUGINS: &[(&str, &str, &str, bool)] = &[
    ("bargauge", "bargauge", "BarGauge", false),
    ("heatmap", "heatmap", "Heatmap", true),
    ("stat", "stat", "Stat", false),
    ("state-timeline", "statetimeline", "StateTimeline", true),
    ("table", "table", "Table", true),
    ("timeseries", "timeseries", "TimeSeries", true),
];

/// Fails with the compiler's words if a board does not fit the types of a release.
pub(super) fn check(boards: &[Dashboard], release: &Release) -> Result<()> {
    let folder = packages().join(format!("check-{}", release.major));
    fs::create_dir_all(&folder).with_context(|| format!("create {}", folder.display()))?;
    let write = |name: &str, text: &str| {
        let path = folder.join(name);
        fs::write(&path, text).with_context(|| format!("write {}", path.display()))
    };
    write("prelude.ts", include_str!("prelude.ts"))?;
    let mut files = Vec::new();
    for board in boards {
        let file = format!("{}.ts", name(board));
        write(&file, &source(board)?)?;
        files.push(file);
    }
    write("tsconfig.json", &configuration(release, &files).to_string())?;
    let compiler = packages().join("node_modules/typescript/bin/tsc");
    let output = command("node").arg(compiler).arg("-p").arg(&folder).output();
    let output = output.context("start node")?;
    let said = String::from_utf8_lossy(&output.stdout);
    ensure!(output.status.success(), "types of Grafana {}:\n{said}", release.version);
    Ok(())
}

/// The board: everything but its panels, and each panel with the types of its plugin.
fn source(board: &Dashboard) -> Result<String> {
    let mut frame = serde_json::to_value(board).context("write a board as JSON")?;
    let panels = frame.as_object_mut().and_then(|frame| frame.remove("panels"));
    let panels = panels.as_ref().and_then(Value::as_array).context("a board without panels")?;
    let kinds: BTreeSet<&str> = panels
        .iter()
        .filter_map(|panel| panel["type"].as_str())
        .filter(|of| *of != "row")
        .collect();
    let mut text = "import type { Frame, TypedPanel, TypedRow } from './prelude';\n".to_owned();
    for kind in kinds {
        let (_, folder, name, _) = plugin(kind)?;
        writeln!(
            text,
            "import type * as {folder} from '@grafana/schema/dist/esm/raw/composable/{folder}/\
             panelcfg/x/{name}PanelCfg_types.gen';"
        )?;
    }
    writeln!(text, "export const frame: Frame = {frame:#};")?;
    for panel in panels {
        let kind = panel["type"].as_str().unwrap_or_default();
        let of = match kind {
            "row" => "TypedRow".to_owned(),
            kind => {
                let (_, folder, _, has_fields) = plugin(kind)?;
                let fields = format!("{folder}.FieldConfig");
                let fields = if has_fields { fields.as_str() } else { "Record<string, never>" };
                format!("TypedPanel<{folder}.Options, {fields}>")
            }
        };
        writeln!(text, "export const panel{}: {of} = {panel:#};", panel["id"])?;
    }
    Ok(text)
}

fn plugin(kind: &str) -> Result<(&'static str, &'static str, &'static str, bool)> {
    let known = PLUGINS.iter().find(|(plugin, ..)| *plugin == kind);
    known.copied().with_context(|| format!("no types of the panel plugin `{kind}`"))
}

fn configuration(release: &Release, files: &[String]) -> Value {
    let schema = format!("../node_modules/schema-{}/dist", release.major);
    // Since Grafana 12, types have a folder of their own.
    let of_types = packages().join(format!("node_modules/schema-{}/dist/types", release.major));
    let index = if of_types.exists() { "types/index.d.ts" } else { "esm/index.d.ts" };
    json!({
        "compilerOptions": {
            "module": "esnext",
            "moduleResolution": "bundler",
            "noEmit": true,
            "paths": {
                "@grafana/schema": [format!("{schema}/{index}")],
                "@grafana/schema/dist/esm/raw/*": [format!("{schema}/esm/raw/*")],
            },
            "skipLibCheck": true,
            "strict": true,
            "target": "es2022",
            "types": [],
        },
        "files": files,
    })
}
