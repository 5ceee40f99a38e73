//! What a real Prometheus answers to all queries.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;

use anyhow::{Context, Result};
use railscope_testbed::data_base::DataBase;
use railscope_testbed::http;
use serde_json::{Value, json};

use super::question::{ANNOTATIONS, Question};

/// When to ask: a span in seconds of Unix time, and the latest time in it.
#[derive(Clone, Copy, Debug)]
pub(super) struct When {
    pub(super) begin: f64,
    pub(super) end: f64,
    /// The time for queries for the latest values.
    pub(super) at: f64,
}

/// Boards with their panels, by title.
pub(super) type Panels = BTreeSet<(String, String)>;

/// The answers.
#[derive(Clone, Debug, Default)]
pub(super) struct Answers {
    pub(super) asked: usize,
    /// Places and reasons.
    pub(super) refused: Vec<String>,
    /// Panels with queries.
    pub(super) panels: Panels,
    /// Those with an answer to at least one of their queries.
    pub(super) answered: Panels,
    /// Those with a value other than 0 in it.
    pub(super) shown: Panels,
}

/// Asks all queries, and writes the answers for boards to `answers.json` in `folder`.
pub(super) fn ask(
    data_base: &DataBase,
    questions: &[Question],
    when: When,
    folder: &Path,
) -> Result<Answers> {
    let mut answers = Answers::default();
    let mut kept: BTreeMap<String, Value> = BTreeMap::new();
    for question in questions {
        answers.asked += 1;
        let result = match ask_one(data_base, question, when) {
            Ok(result) => result,
            Err(reason) => {
                answers.refused.push(format!("{}: {reason}", question.place));
                continue;
            }
        };
        let Some(panel) = &question.panel else { continue };
        let name = (panel.board.clone(), panel.title.clone());
        let values = values(&result);
        if !values.is_empty() && panel.id != ANNOTATIONS {
            answers.answered.insert(name.clone());
        }
        if values.iter().any(|value| *value != 0.0 && !value.is_nan()) {
            answers.shown.insert(name.clone());
        }
        if panel.id != ANNOTATIONS {
            answers.panels.insert(name);
        }
        let of_board = kept.entry(panel.board.clone()).or_insert_with(|| json!({}));
        of_board[panel.id.to_string()][&panel.letter] = result;
    }
    let When { begin, end, at } = when;
    let content = json!({ "begin": begin, "end": end, "at": at, "boards": kept });
    let file = folder.join("answers.json");
    fs::write(&file, content.to_string()).with_context(|| format!("write {}", file.display()))?;
    Ok(answers)
}

fn ask_one(data_base: &DataBase, question: &Question, when: When) -> Result<Value> {
    let query: String = question.expression.bytes().map(|byte| format!("%{byte:02x}")).collect();
    let path = if question.is_instant {
        format!("/api/v1/query?query={query}&time={}", when.at)
    } else {
        let When { begin, end, .. } = when;
        format!("/api/v1/query_range?query={query}&start={begin}&end={end}&step=1")
    };
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, data_base.port));
    let (_, body) = http::answer(address, &path).context("Prometheus does not answer")?;
    let body: Value = serde_json::from_str(&body).context("Prometheus' answer is not JSON")?;
    match body["error"].as_str() {
        Some(error) => anyhow::bail!("{error}"),
        None => Ok(body["data"]["result"].clone()),
    }
}

/// The values of all series of an answer.
fn values(result: &Value) -> Vec<f64> {
    let value = |sample: &Value| sample[1].as_str().and_then(|text| text.parse().ok());
    let series = result.as_array().into_iter().flatten();
    series
        .flat_map(|one| {
            let many = one["values"].as_array().into_iter().flatten().filter_map(value);
            many.chain(value(&one["value"])).collect::<Vec<_>>()
        })
        .collect()
}
