//! Where queries are: boards, rules, the page of metrics.

use std::fs;
use std::path::{Path, PathBuf};

use railscope_core::metrics::queries;
use serde_json::Value;

/// A query.
#[derive(Clone, Debug)]
pub struct Query {
    /// Where it stands.
    pub place: String,
    pub expression: String,
    /// The metric that it makes, if it is a recording rule.
    pub records: Option<String>,
    /// Labels that legends and columns name.
    pub labels: Vec<String>,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../dashboards")
}

/// The texts of all boards.
pub fn board_files() -> Vec<String> {
    let entries = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let mut boards: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|of| of == "json")).collect();
    boards.sort_unstable();
    assert_eq!(boards.len(), 6);
    boards.iter().map(|path| fs::read_to_string(path).unwrap()).collect()
}

/// The text of a file of rules.
pub fn rules(file: &str) -> String {
    fs::read_to_string(folder().join("prometheus").join(file)).unwrap()
}

/// The queries of panels, annotations and variables.
pub fn of_boards() -> Vec<Query> {
    let mut all = Vec::new();
    for text in board_files() {
        let board: Value = serde_json::from_str(&text).unwrap();
        let title = board["title"].as_str().unwrap().to_owned();
        for panel in board["panels"].as_array().unwrap() {
            let place = format!("board {title}, {}", panel["title"].as_str().unwrap());
            let targets = panel["targets"].as_array();
            for target in targets.into_iter().flatten() {
                let mut query = query(&place, &target["expr"]);
                query.labels = of_legend(target["legendFormat"].as_str().unwrap());
                all.push(query);
            }
        }
        for one in board["annotations"]["list"].as_array().unwrap() {
            let mut query = query(&format!("board {title}, annotations"), &one["target"]["expr"]);
            query.labels = of_legend(one["titleFormat"].as_str().unwrap());
            all.push(query);
        }
        for variable in board["templating"]["list"].as_array().unwrap() {
            let Some(asked) = variable["query"]["query"].as_str() else { continue };
            let inside = asked.strip_prefix("label_values(").unwrap().strip_suffix(')').unwrap();
            let (metric, label) = inside.split_once(", ").unwrap();
            let mut query = query(&format!("board {title}, variables"), &metric.into());
            query.labels = vec![label.to_owned()];
            all.push(query);
        }
    }
    all
}

fn query(place: &str, expression: &Value) -> Query {
    let expression = expression.as_str().unwrap().to_owned();
    Query { place: place.to_owned(), expression, records: None, labels: Vec::new() }
}

/// `{{label}}` in a legend.
fn of_legend(legend: &str) -> Vec<String> {
    let parts = legend.split("{{").skip(1);
    parts.map(|part| part.split("}}").next().unwrap().trim().to_owned()).collect()
}

/// The expressions of a file of rules: after `expr:` on the same line, or indented below it.
pub fn of_rules(file: &str) -> Vec<Query> {
    let text = rules(file);
    let lines: Vec<&str> = text.lines().collect();
    let mut all = Vec::new();
    let mut name = None;
    for (at, line) in lines.iter().enumerate() {
        let indent = line.len() - line.trim_start().len();
        let item = line.trim_start().trim_start_matches("- ");
        if let Some(rest) = item.strip_prefix("record: ") {
            name = Some(rest.to_owned());
        } else if item.starts_with("alert: ") {
            name = None;
        } else if let Some(rest) = item.strip_prefix("expr: ") {
            let block = lines[at + 1..].iter().take_while(|line| {
                line.is_empty() || line.len() - line.trim_start().len() > indent
            });
            let expression = match rest {
                "|-" => block.copied().collect::<Vec<_>>().join("\n"),
                short => short.to_owned(),
            };
            let place = format!("{file}, line {}", at + 1);
            all.push(Query { place, expression, records: name.take(), labels: Vec::new() });
        }
    }
    all
}

/// The questions of METRICS.md.
pub fn of_page() -> Vec<Query> {
    let all = queries::ALL.iter();
    all.map(|one| query(&format!("page, {}", one.question), &one.promql.into())).collect()
}

/// An expression of a board with values in place of Grafana's variables.
pub fn substituted(expression: &str) -> String {
    expression
        .replace("$__rate_interval", "1m")
        .replace("$__range", "1h")
        .replace("$cluster", ".*")
        .replace("$communicator", ".*")
        .replace("$job", ".*")
        .replace("$node", ".*")
}
