//! Boards, rules and questions: each query names metrics and labels that exist.

mod promql;
mod queries;

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use railscope_core::metrics::metric::{Instrument, Metric};
use railscope_core::metrics::{attribute, catalog};

use self::promql::Names;
use self::queries::{Query, of_boards, of_page, of_rules};

/// Labels that a scraper adds.
const SCRAPER: &[&str] = &["job", "instance", "cluster", "node"];
/// Metrics that Prometheus makes itself.
const SCRAPED: &[&str] = &["up", "scrape_samples_scraped"];
/// Labels that the recording rules add.
const RECORDED: &[&str] = &["rail"];

/// The labels of each metric that Prometheus has, by its name there.
fn labels_of_metrics() -> BTreeMap<String, BTreeSet<String>> {
    let mut all = BTreeMap::new();
    for metric in catalog::all() {
        let labels = |more: &[&str]| -> BTreeSet<String> {
            let own = metric.attributes.iter().map(|attribute| attribute.name.replace('.', "_"));
            own.chain(SCRAPER.iter().chain(more).map(|label| (*label).to_owned())).collect()
        };
        let name = Metric::prometheus_name(metric);
        if matches!(metric.instrument, Instrument::Histogram(_)) {
            for part in ["sum", "count"] {
                all.insert(format!("{name}_{part}"), labels(&[]));
            }
            all.insert(format!("{name}_bucket"), labels(&["le"]));
        } else {
            all.insert(name, labels(&[]));
        }
    }
    all
}

/// All labels there are.
fn all_labels() -> BTreeSet<String> {
    let own = attribute::ALL.iter().map(|attribute| attribute.name.replace('.', "_"));
    let others = SCRAPER.iter().chain(RECORDED).chain(&["le"]);
    own.chain(others.map(|label| (*label).to_owned())).collect()
}

/// Everything that asks Prometheus something.
fn all_queries() -> Vec<Query> {
    [of_boards(), of_rules("recording.yaml"), of_rules("alerts.yaml"), of_page()].concat()
}

#[test]
fn queries_name_what_there_is() {
    let metrics = labels_of_metrics();
    let labels = all_labels();
    let recorded: BTreeSet<String> =
        of_rules("recording.yaml").into_iter().filter_map(|rule| rule.records).collect();
    let queries = all_queries();
    for query in &queries {
        let place = &query.place;
        let Names { selectors, listed, made } = promql::names(&query.expression);
        assert!(!selectors.is_empty(), "{place}: no metric in {}", query.expression);
        let is_label = |label: &String| labels.contains(label) || made.contains(label);
        for selector in &selectors {
            let known = metrics.get(&selector.metric);
            assert!(
                known.is_some()
                    || recorded.contains(&selector.metric)
                    || SCRAPED.contains(&selector.metric.as_str()),
                "{place}: there is no metric {}",
                selector.metric
            );
            for label in &selector.labels {
                let is_there = known.map_or_else(|| is_label(label), |known| known.contains(label));
                assert!(is_there, "{place}: {} has no label {label}", selector.metric);
            }
        }
        for label in listed.iter().chain(&query.labels) {
            assert!(is_label(label), "{place}: there is no label {label}: {}", query.expression);
        }
    }
    let of = |part: &str| queries.iter().filter(|query| query.place.starts_with(part)).count();
    assert!(of("board") > 150 && of("recording") > 10 && of("alerts") >= 9 && of("page") > 10);
}

/// A rule that nothing asks for is either missing on a board or not needed.
#[test]
fn every_recorded_metric_is_used() {
    let used: BTreeSet<String> = all_queries()
        .iter()
        .flat_map(|query| promql::names(&query.expression).selectors)
        .map(|selector| selector.metric)
        .collect();
    for rule in of_rules("recording.yaml") {
        let name = rule.records.unwrap();
        assert!(used.contains(&name), "{name} is recorded and used nowhere");
    }
}

/// Prometheus' own parser reads every query of the boards, as rules.
#[test]
fn prometheus_can_read_the_boards_queries() {
    let test = "prometheus_can_read_the_boards_queries";
    let Some(mut promtool) = crate::support::receivers::promtool(test) else { return };
    let mut rules = "groups:\n- name: boards\n  rules:\n".to_owned();
    for (number, query) in of_boards().iter().enumerate() {
        let expression = serde_json::to_string(&queries::substituted(&query.expression)).unwrap();
        rules += &format!("  - record: query:{number}\n    expr: {expression}\n");
    }
    let file = tempfile::NamedTempFile::with_suffix(".yaml").unwrap();
    std::fs::write(file.path(), rules).unwrap();
    let output = promtool.args(["check", "rules"]).arg(file.path()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}{complaint}");
}

/// Each link to a runbook leads to a finding that exists, on boards and in alerts alike.
#[test]
fn runbooks_exist() {
    let findings = Command::new(crate::support::railscope::PROGRAM)
        .args(["findings", "--format", "markdown"])
        .output()
        .unwrap();
    let page = String::from_utf8(findings.stdout).unwrap();
    let texts = queries::board_files().into_iter().chain([queries::rules("alerts.yaml")]);
    let mut links = 0;
    for text in texts {
        for link in text.split("docs/FINDINGS.md#").skip(1) {
            let id: String =
                link.chars().take_while(|c| c.is_ascii_lowercase() || *c == '_').collect();
            // A table's cell has the finding.
            if link.starts_with("${__value") {
                continue;
            }
            assert!(
                page.contains(&format!("## `{id}`")) || page.contains(&format!("`{id}`")),
                "{id}"
            );
            links += 1;
        }
    }
    assert!(links > 50, "{links}");
}

/// A panel asks a question, says how to read the answer, and never shows 0 for what it cannot see.
#[test]
fn panels_ask_and_explain() {
    for text in queries::board_files() {
        let board: serde_json::Value = serde_json::from_str(&text).unwrap();
        let panels = board["panels"].as_array().unwrap();
        let title = &board["title"];
        let mut seen = BTreeSet::new();
        for panel in panels.iter().filter(|panel| panel["type"] != "row") {
            let name = panel["title"].as_str().unwrap();
            assert!(name.ends_with('?'), "{title}: {name} is no question");
            assert!(seen.insert(name), "{title}: {name} occurs twice");
            let about = panel["description"].as_str().unwrap();
            assert!(about.ends_with('.') && about.len() > 30, "{title}: {name}: {about}");
            let without = &panel["fieldConfig"]["defaults"]["noValue"];
            assert!(
                without.as_str().is_some_and(|words| !words.contains('0')),
                "{name}: {without}"
            );
        }
    }
}
