//! What a tool said of an incident: `railbench.answer/1`, or a `railscope.report/1`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Serialize};

use super::label::Label;

const SCHEMA: &str = "railbench.answer/1";

/// A longer file is no answer.
const MOST_BYTES: u64 = 1 << 30;

/// The first thing that a tool named.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Answer {
    /// `railbench.answer/1`, if it is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) schema: Option<String>,
    pub(super) incident: String,
    /// A class of docs/verdicts.md, or `network` or `rank`; `None`: nothing is wrong, or nothing to say.
    pub(super) verdict: Option<String>,
    /// At most one more class that it may be.
    #[serde(default)]
    pub(super) alternatives: Vec<String>,
    #[serde(default)]
    pub(super) rank: Option<u32>,
    /// Its address, or `host3` for 10.0.0.4.
    #[serde(default)]
    pub(super) host: Option<String>,
    #[serde(default)]
    pub(super) peer: Option<String>,
    #[serde(default)]
    pub(super) direction: Option<String>,
    /// Instead of host, peer and direction: from where to where.
    #[serde(default)]
    pub(super) path: Vec<String>,
    #[serde(default)]
    pub(super) confidence: Option<serde_json::Value>,
    /// What it added to all training steps.
    #[serde(default)]
    pub(super) cost_ns: Option<u64>,
    /// What it added to some.
    #[serde(default)]
    pub(super) iterations: Vec<Cost>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Cost {
    pub(super) iteration: u32,
    pub(super) cost_ns: u64,
}

/// Answers by incident, and why others were refused.
#[derive(Debug, Default)]
pub(super) struct Answers {
    pub(super) by_incident: BTreeMap<String, Answer>,
    pub(super) refused: Vec<String>,
}

/// The part of a `railscope.report/1` that is an answer.
#[derive(Debug, Deserialize)]
struct Report {
    verdicts: Vec<Verdict>,
    iterations: Vec<Iteration>,
}

#[derive(Debug, Deserialize)]
struct Verdict {
    id: String,
    severity: String,
    #[serde(default)]
    alternatives: Vec<String>,
    subject: Subject,
    cost_ns: Option<u64>,
    grade: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Subject {
    rank: Option<u32>,
    port: Option<String>,
    peer_port: Option<String>,
    direction: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Iteration {
    iteration: u32,
    #[serde(default)]
    costs: Vec<Contribution>,
}

#[derive(Debug, Deserialize)]
struct Contribution {
    rank: u32,
    cause: String,
    ns: u64,
}

/// Causes whose costs are those of a class.
fn causes(class: &str) -> &'static [&'static str] {
    match class {
        "loss" | "reordering" | "port_down" | "path_dead" | "queue_pair_error" => &["loss"],
        "congestion" | "slow_path" => &["congestion"],
        "pause" => &["pause"],
        "slow_receiver" => &["receiver"],
        "late_rank" => &["enqueue", "compute", "sender"],
        _ => &[],
    }
}

/// The answer in a report: its first verdict above `info`, with what its cause cost each training step.
pub(super) fn of_report(incident: &str, bytes: &[u8]) -> Result<Answer> {
    let report: Report = serde_json::from_slice(bytes).context("not a railscope.report/1")?;
    let mut answer = Answer { incident: incident.to_owned(), ..Answer::default() };
    let Some(first) = report.verdicts.into_iter().find(|verdict| verdict.severity != "info") else {
        return Ok(answer);
    };
    let causes = causes(&first.id);
    let is_meant = |one: &&Contribution| {
        let is_own =
            first.id != "late_rank" || first.subject.rank.is_none_or(|rank| rank == one.rank);
        is_own && causes.contains(&one.cause.as_str())
    };
    for iteration in &report.iterations {
        let costs = iteration.costs.iter().filter(is_meant).map(|one| one.ns);
        let cost_ns = costs.fold(0, u64::saturating_add);
        if cost_ns > 0 {
            answer.iterations.push(Cost { iteration: iteration.iteration, cost_ns });
        }
    }
    answer.verdict = Some(first.id);
    answer.alternatives = first.alternatives;
    answer.rank = first.subject.rank;
    answer.host = first.subject.port;
    answer.peer = first.subject.peer_port;
    answer.direction = first.subject.direction;
    answer.confidence = first.grade.map(serde_json::Value::String);
    answer.cost_ns = first.cost_ns;
    Ok(answer)
}

/// Reads answers: a folder with `NAME.json` each, or a file with one a line.
///
/// # Errors
///
/// There is no such file. What is in it is refused and counted.
pub(super) fn read(source: &Path, labels: &[Label]) -> Result<Answers> {
    let mut answers = Answers::default();
    if source.is_dir() {
        for path in crate::folder::files(source, "json")? {
            let answer = read_file(&path);
            answers.add(labels, &path.display().to_string(), answer);
        }
    } else {
        let bytes = read_bounded(source)?;
        let lines = bytes.split(|byte| *byte == b'\n').enumerate();
        for (at, line) in lines.filter(|(_, line)| !line.trim_ascii().is_empty()) {
            answers.add(labels, &format!("{}:{}", source.display(), at + 1), parse(line, None));
        }
    }
    Ok(answers)
}

fn read_bounded(path: &Path) -> Result<Vec<u8>> {
    let len = fs::metadata(path).with_context(|| path.display().to_string())?.len();
    ensure!(len <= MOST_BYTES, "{}: {len} bytes are too many", path.display());
    fs::read(path).with_context(|| path.display().to_string())
}

fn read_file(path: &Path) -> Result<Answer> {
    let name = path.file_stem().and_then(|stem| stem.to_str()).context("a file has a name")?;
    parse(&read_bounded(path)?, Some(name))
}

fn parse(bytes: &[u8], name: Option<&str>) -> Result<Answer> {
    #[derive(Deserialize)]
    struct Head {
        schema: Option<String>,
    }
    let head: Head = serde_json::from_slice(bytes).context("not JSON")?;
    let answer = match (head.schema.as_deref(), name) {
        (Some("railscope.report/1"), Some(name)) => of_report(name, bytes)?,
        (Some("railscope.report/1"), None) => {
            bail!("a report names no incident: it must be a file NAME.json")
        }
        (Some(schema), _) if schema != SCHEMA => {
            bail!("neither railscope.report/1 nor {SCHEMA}: {schema}")
        }
        _ => serde_json::from_slice(bytes).with_context(|| format!("not a {SCHEMA}"))?,
    };
    ensure!(name.is_none_or(|name| name == answer.incident), "its incident is {}", answer.incident);
    answer.normalised()
}

impl Answers {
    fn add(&mut self, labels: &[Label], from: &str, answer: Result<Answer>) {
        let known = |answer: Answer| {
            let is_known = labels.iter().any(|label| label.incident == answer.incident);
            ensure!(is_known, "no incident `{}`", answer.incident);
            let is_second = self.by_incident.contains_key(&answer.incident);
            ensure!(!is_second, "a second answer to incident {}", answer.incident);
            Ok(answer)
        };
        match answer.and_then(known) {
            Ok(answer) => {
                self.by_incident.insert(answer.incident.clone(), answer);
            }
            Err(error) => self.refused.push(format!("{from}: {error:#}")),
        }
    }
}

impl Answer {
    /// With addresses for names of hosts, and no path.
    pub(super) fn normalised(mut self) -> Result<Self> {
        ensure!(self.alternatives.len() <= 1, "{} alternatives", self.alternatives.len());
        match self.path.as_slice() {
            [] => {}
            [from, to] => {
                ensure!(self.host.is_none() && self.peer.is_none(), "a host and a path");
                (self.peer, self.host) = (Some(from.clone()), Some(to.clone()));
                self.direction = Some("towards".to_owned());
                self.path.clear();
            }
            _ => bail!("a path has two ends"),
        }
        if let Some(direction) = &self.direction {
            let is_known = ["towards", "from", "both"].contains(&direction.as_str());
            ensure!(is_known, "no direction `{direction}`");
        }
        (self.host, self.peer) = (self.host.map(to_address), self.peer.map(to_address));
        if self.verdict.as_deref() == Some("healthy") {
            self.verdict = None;
        }
        Ok(self)
    }
}

/// `10.0.0.4` for `host3`; anything else as it is.
fn to_address(host: String) -> String {
    let number = host.strip_prefix("host").and_then(|number| number.parse::<u32>().ok());
    match number.filter(|number| *number < 100_000) {
        Some(number) => crate::incident::judge::address(number),
        None => host,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str, name: Option<&str>) -> String {
        parse(text.as_bytes(), name).map_or_else(|error| format!("{error:#}"), |_| String::new())
    }

    #[test]
    fn bad_answers_are_refused() {
        assert!(refusal("{", None).starts_with("not JSON"));
        assert!(refusal(r#"{"incident":"1"}"#, None).is_empty());
        assert!(refusal(r#"{"schema":"railbench.answer/1","incident":"1"}"#, None).is_empty());
        assert!(refusal(r#"{"verdict":"loss"}"#, None).contains("missing field `incident`"));
        assert!(refusal(r#"{"incident":"1","verdict":"loss","rank":-1}"#, None).contains("-1"));
        assert!(refusal(r#"{"incident":"1","verdict":"loss","hsot":"a"}"#, None).contains("hsot"));
        assert!(
            refusal(r#"{"incident":"1","verdict":"loss"}"#, Some("2")).contains("incident is 1")
        );
        assert!(refusal(r#"{"schema":"railscope.report/2"}"#, Some("2")).contains("report/2"));
        assert!(refusal(r#"{"schema":"railscope.report/1"}"#, None).contains("names no incident"));
        let path = r#"{"incident":"1","verdict":"loss","path":["host0"]}"#;
        assert!(refusal(path, None).contains("two ends"));
    }

    #[test]
    fn a_path_is_a_place() {
        let text = r#"{"incident":"1","verdict":"loss","path":["host0","10.0.0.2"]}"#;
        let answer = parse(text.as_bytes(), None).unwrap_or_default();
        assert_eq!(answer.host.as_deref(), Some("10.0.0.2"));
        assert_eq!(answer.peer.as_deref(), Some("10.0.0.1"));
        assert_eq!(answer.direction.as_deref(), Some("towards"));
    }
}
