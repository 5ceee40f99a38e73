//! Everything that boards, rules and METRICS.md ask Prometheus.

use std::fs;

use anyhow::{Context, Result};
use railscope_testbed::pace;
use serde_json::Value;

use crate::dashboards::boards;
use crate::repository::root;

/// A query, ready to be asked.
#[derive(Clone, Debug)]
pub(super) struct Question {
    /// Board, number of the panel and letter of the query; `None` elsewhere.
    pub(super) panel: Option<Panel>,
    /// Where it stands, for people.
    pub(super) place: String,
    pub(super) expression: String,
    /// Whether it asks for the latest values rather than for their course.
    pub(super) is_instant: bool,
}

/// A query of a panel.
#[derive(Clone, Debug)]
pub(super) struct Panel {
    pub(super) board: String,
    pub(super) id: u64,
    pub(super) title: String,
    pub(super) letter: String,
}

/// No panel has this number.
pub(super) const ANNOTATIONS: u64 = 0;

/// The host that the variable of a board chooses, if not all: the second one, where faults are.
pub(crate) fn chosen_host(board: &str) -> Option<&'static str> {
    (board == "host").then_some("10.0.0.2:9474")
}

/// Values for Grafana's variables, and ranges of a job that is as fast as `factor` says.
fn substituted(expression: &str, board: &str, factor: f64) -> String {
    let expression = expression.replace("$node", chosen_host(board).unwrap_or(".*"));
    let expression = ["cluster", "communicator", "job"]
        .iter()
        .fold(expression, |text, name| text.replace(&format!("${name}"), ".*"))
        .replace("$__rate_interval", "100s")
        .replace("$__range", "10m")
        .replace("offset 10m", "offset 15s");
    pace::scaled(&expression, factor)
}

/// All queries there are, with ranges multiplied by `factor`.
pub(super) fn all(factor: f64) -> Result<Vec<Question>> {
    let mut all = Vec::new();
    for (board, content) in boards()? {
        of_board(&board, &content, factor, &mut all);
    }
    for file in ["recording.yaml", "alerts.yaml"] {
        let text = read(&format!("dashboards/prometheus/{file}"))?;
        let expressions = of_rules(&text).into_iter();
        all.extend(expressions.map(|(line, text)| other(format!("{file}:{line}"), &text, factor)));
    }
    let page = read("dashboards/METRICS.md")?;
    let blocks = page.split("```promql\n").skip(1).filter_map(|rest| rest.split("```").next());
    all.extend(blocks.map(|block| other("METRICS.md".to_owned(), block, factor)));
    Ok(all)
}

fn read(path: &str) -> Result<String> {
    fs::read_to_string(root().join(path)).with_context(|| format!("read {path}"))
}

fn other(place: String, expression: &str, factor: f64) -> Question {
    let expression = substituted(expression, "", factor);
    Question { panel: None, place, expression, is_instant: true }
}

/// Queries of panels, annotations and variables.
fn of_board(board: &str, content: &Value, factor: f64, all: &mut Vec<Question>) {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let items = |value: &Value| value.as_array().cloned().unwrap_or_default();
    for panel in items(&content["panels"]) {
        let title = text(&panel["title"]);
        for target in items(&panel["targets"]) {
            all.push(Question {
                panel: Some(Panel {
                    board: board.to_owned(),
                    id: panel["id"].as_u64().unwrap_or_default(),
                    title: title.clone(),
                    letter: text(&target["refId"]),
                }),
                place: format!("{board}: {title}"),
                expression: substituted(&text(&target["expr"]), board, factor),
                is_instant: target["instant"] == true,
            });
        }
    }
    for one in items(&content["annotations"]["list"]) {
        let place = format!("{board}: annotations");
        let question = other(place, &text(&one["target"]["expr"]), factor);
        let title = "annotations".to_owned();
        let panel =
            Panel { board: board.to_owned(), id: ANNOTATIONS, title, letter: "A".to_owned() };
        all.push(Question { panel: Some(panel), is_instant: false, ..question });
    }
    for variable in items(&content["templating"]["list"]) {
        let query = text(&variable["query"]["query"]);
        let inside = query.strip_prefix("label_values(").and_then(|rest| rest.split_once(", "));
        if let Some((metric, label)) = inside {
            let label = label.trim_end_matches(')');
            let query = format!("count by ({label}) ({metric})");
            all.push(other(format!("{board}: variable of {label}"), &query, factor));
        }
    }
}

/// The expressions of a file of rules with their lines: after `expr:`, or indented below it.
fn of_rules(text: &str) -> Vec<(usize, String)> {
    let lines: Vec<&str> = text.lines().collect();
    let indent = |line: &str| line.len() - line.trim_start().len();
    let mut all = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let Some(rest) = line.trim_start().strip_prefix("expr: ") else { continue };
        let below = lines.iter().skip(at + 1);
        let block = below.take_while(|next| next.is_empty() || indent(next) > indent(line));
        let expression = match rest {
            "|-" => block.copied().collect::<Vec<_>>().join("\n"),
            short => short.to_owned(),
        };
        all.push((at + 1, expression));
    }
    all
}
