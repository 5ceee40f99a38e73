//! `cargo xtask dashboards --pictures`: each board, drawn from its own JSON and what a real Prometheus
//! answered in a run of `cargo xtask boards`, in a real browser with the library that Grafana draws with.
//!
//! Grafana's server is in no package registry; the page places and colours panels as Grafana does.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::{file, schema};
use crate::boards;
use crate::repository::{command, root};

/// Boards, the scenarios whose answers they are drawn with, and what is at fault there.
const SCENES: &[(&str, &str)] = &[
    ("fabric", "congestion_of_3"),
    ("job", "late_rank_of_4"),
    ("rails", "counters_of_3"),
    ("host", "counters_of_3"),
    ("hang", "frozen_rank_of_4"),
    ("agents", "late_rank_of_4"),
];

const WIDTH: u64 = 1920;
/// Of the head of the page, and of a row of the grid with its margin.
const HEAD: u64 = 56;
const ROW: u64 = 38;

/// Draws all boards to docs/boards.
pub(super) fn draw() -> Result<()> {
    schema::packages()?;
    let target = root().join("docs/boards");
    fs::create_dir_all(&target).with_context(|| format!("create {}", target.display()))?;
    for (name, board) in file::boards()? {
        let scene = SCENES.iter().find(|(board, _)| *board == name);
        let (_, scenario) = scene.with_context(|| format!("no scenario for {name}"))?;
        draw_one(&name, &board, scenario, &target.join(format!("{name}.png")))?;
        println!("docs/boards/{name}.png: {scenario}");
    }
    Ok(())
}

fn draw_one(name: &str, board: &Value, scenario: &str, picture: &Path) -> Result<()> {
    let folder = boards::folder().join(scenario);
    let answers = folder.join("answers.json");
    let answers = fs::read_to_string(&answers).with_context(|| {
        format!("read {}: run `cargo xtask boards {scenario}` first", answers.display())
    })?;
    let answers: Value = serde_json::from_str(&answers).context("read the answers")?;
    let answers = json!({
        "begin": answers["begin"],
        "end": answers["at"],
        "node": boards::chosen_host(name),
        "panels": answers["boards"][name],
    });
    let page = folder.join(format!("{name}.html"));
    fs::write(&page, html(board, &answers)?)
        .with_context(|| format!("write {}", page.display()))?;
    let rows = board["panels"].as_array().into_iter().flatten().filter_map(|panel| {
        let place = &panel["gridPos"];
        Some(place["y"].as_u64()? + place["h"].as_u64()?)
    });
    let height = HEAD + ROW * rows.max().unwrap_or(0) + 8;
    photograph(&page, &folder, height, picture)
}

/// A page that draws the board when it is opened.
fn html(board: &Value, answers: &Value) -> Result<String> {
    let uplot = schema::folder().join("node_modules/uplot/dist");
    let read = |name: &str| {
        let path = uplot.join(name);
        fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))
    };
    // Inside a script, `</` would end it.
    let data = |value: &Value| value.to_string().replace("</", "<\\/");
    Ok(format!(
        "<!doctype html><meta charset=utf-8><style>{}{}</style><body><script>{}</script>\
         <script>const board = {}; const answers = {};</script><script>{}{}{}</script>",
        read("uPlot.min.css")?,
        include_str!("page.css"),
        read("uPlot.iife.min.js")?,
        data(board),
        data(answers),
        include_str!("values.js"),
        include_str!("panels.js"),
        include_str!("page.js"),
    ))
}

/// Opens a page in Chromium, takes a picture, and reduces it to 64 colours.
fn photograph(page: &Path, folder: &Path, height: u64, picture: &Path) -> Result<()> {
    let raw = folder.join("page.png");
    let mut chromium = command("chromium");
    chromium.args(["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"]);
    chromium.args(["--disable-background-networking", "--disable-component-update"]);
    chromium.args(["--disable-sync", "--hide-scrollbars", "--virtual-time-budget=5000"]);
    chromium.arg(format!("--user-data-dir={}", folder.join("chromium").display()));
    chromium.arg(format!("--window-size={WIDTH},{height}"));
    chromium.arg(format!("--screenshot={}", raw.display()));
    chromium.arg(format!("file://{}", page.display()));
    let output = chromium.output().context("start chromium")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success() && raw.exists(), "chromium: {said}");
    let mut reduce = command("pngquant");
    reduce.args(["--force", "--strip", "--nofs", "--speed=1", "64", "--output"]);
    let status = reduce.arg(picture).arg(&raw).status().context("start pngquant")?;
    ensure!(status.success(), "pngquant failed");
    Ok(())
}
