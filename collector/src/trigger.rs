//! What makes a recording save its ring, as options and settings have it.
//!
//! ```text
//! finding            finding:critical   finding:loss   hang   pause   step:2x
//! log:FILE:REGEX     end                fail
//! ```

use std::path::PathBuf;
use std::str::FromStr;

use regex_lite::Regex;

use railscope_core::analysis::finding::catalog;
use railscope_core::analysis::severity::Severity;
use railscope_core::analysis::verdict::class::Class;

/// What is missing, and what to write.
const KINDS: &str =
    "finding, finding:critical, finding:loss, step:2x, hang, pause, log:FILE:REGEX, end, fail";

/// Smallest factor of a training step that is worth a file.
const LEAST_FACTOR: f64 = 1.05;

/// A trigger.
#[derive(Clone, Debug)]
pub struct Trigger {
    /// As it was written.
    pub text: String,
    /// When it holds.
    pub condition: Condition,
}

/// When a trigger holds.
#[derive(Clone, Debug)]
pub enum Condition {
    /// A finding or verdict at least this bad is new.
    Severity(Severity),
    /// A finding or verdict of this name is new.
    Named(String),
    /// A training step takes this many times the median.
    Slow(f64),
    /// A port or queue pair is dead, or a collective stands still.
    Hang,
    /// A pause storm.
    PauseStorm,
    /// A new line of a file matches.
    Log(PathBuf, Box<Regex>),
    /// The capture ends.
    End,
    /// The command fails.
    Fail,
}

impl Trigger {
    /// Whether only an analysis of the frames can tell.
    #[must_use]
    pub fn needs_analysis(&self) -> bool {
        !matches!(self.condition, Condition::Log(..) | Condition::End | Condition::Fail)
    }

    /// Whether it makes sense where nothing ends and no command runs.
    #[must_use]
    pub fn is_for_agents(&self) -> bool {
        !matches!(self.condition, Condition::End | Condition::Fail)
    }
}

impl PartialEq for Trigger {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl FromStr for Trigger {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (kind, argument) = match text.split_once(':') {
            Some((kind, argument)) => (kind, Some(argument)),
            None => (text, None),
        };
        let condition = match (kind, argument) {
            ("finding" | "verdict", argument) => found(argument.unwrap_or("warning"))?,
            ("step", argument) => Condition::Slow(factor(argument)?),
            ("log", argument) => log(argument.unwrap_or_default())?,
            ("hang", None) => Condition::Hang,
            ("pause", None) => Condition::PauseStorm,
            ("end", None) => Condition::End,
            ("fail", None) => Condition::Fail,
            ("hang" | "pause" | "end" | "fail", Some(_)) => {
                return Err(format!("`{kind}` stands alone: --on {kind}"));
            }
            _ => return Err(unknown(kind)),
        };
        Ok(Self { text: text.to_owned(), condition })
    }
}

fn unknown(kind: &str) -> String {
    // A name of a finding alone is what most would try.
    if names().any(|name| name == kind) {
        return format!("`{kind}` is a finding: --on finding:{kind}");
    }
    if ["info", "warning", "critical"].contains(&kind) {
        return format!("`{kind}` is a severity: --on finding:{kind}");
    }
    format!("there is no trigger `{kind}`; write one of {KINDS}")
}

fn names() -> impl Iterator<Item = &'static str> {
    let findings = catalog::names();
    findings.chain(Class::ALL.iter().map(|class| class.id()))
}

fn found(what: &str) -> Result<Condition, String> {
    let severities = [Severity::Info, Severity::Warning, Severity::Critical];
    if let Some(severity) = severities.into_iter().find(|one| one.name() == what) {
        return Ok(Condition::Severity(severity));
    }
    if names().any(|name| name == what) {
        return Ok(Condition::Named(what.to_owned()));
    }
    let rated = names().map(|name| (strsim::jaro_winkler(name, what), name));
    let best = rated.max_by(|(one, _), (other, _)| one.total_cmp(other));
    Err(match best.filter(|(likeness, _)| *likeness > 0.8) {
        Some((_, name)) => format!("there is no finding `{what}`; did you mean finding:{name}?"),
        None => format!(
            "there is no finding `{what}`; write finding:info, finding:warning, finding:critical, or a name \
             that `railscope findings` lists"
        ),
    })
}

fn factor(argument: Option<&str>) -> Result<f64, String> {
    let example = "write step:2x for training steps that take twice the median";
    let Some(text) = argument else { return Err(format!("how slow? {example}")) };
    let number = text.strip_suffix('x').unwrap_or(text);
    match number.parse::<f64>() {
        Ok(factor) if (LEAST_FACTOR..1e6).contains(&factor) => Ok(factor),
        Ok(_) => Err(format!("`{text}` is not a factor of {LEAST_FACTOR} or more; {example}")),
        Err(_) => Err(format!("`{text}` is not a factor; {example}")),
    }
}

fn log(argument: &str) -> Result<Condition, String> {
    let example = "write log:FILE:REGEX, as in 'log:/var/log/train.log:NaN|CUDA error'";
    let Some((file, pattern)) = argument.split_once(':') else {
        return Err(format!("a file or a pattern is missing; {example}"));
    };
    if file.is_empty() || pattern.is_empty() {
        return Err(format!("a file or a pattern is missing; {example}"));
    }
    let regex = Regex::new(pattern).map_err(|error| format!("`{pattern}`: {error}; {example}"))?;
    if regex.is_match("") {
        return Err(format!("`{pattern}` matches every line; {example}"));
    }
    Ok(Condition::Log(file.into(), Box::new(regex)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn triggers_as_people_write_them() {
        for text in [
            "finding",
            "finding:info",
            "finding:critical",
            "finding:loss",
            "verdict:late_rank",
            "step:2x",
            "step:1.5",
            "hang",
            "pause",
            "end",
            "fail",
            "log:/tmp/x:NaN|a:b",
        ] {
            assert!(text.parse::<Trigger>().is_ok(), "{text}");
        }
        for (text, said) in [
            ("", "write one of finding"),
            ("loss", "--on finding:loss"),
            ("critical", "--on finding:critical"),
            ("finding:los", "did you mean finding:loss"),
            ("finding:zzzzzz", "railscope findings"),
            ("step", "step:2x"),
            ("step:1x", "1.05 or more"),
            ("step:NaN", "1.05 or more"),
            ("step:slow", "not a factor"),
            ("hang:5s", "stands alone"),
            ("log:/tmp/x", "log:FILE:REGEX"),
            ("log:/tmp/x:(", "log:FILE:REGEX"),
            ("log:/tmp/x:.*", "matches every line"),
        ] {
            let error = text.parse::<Trigger>().unwrap_err();
            assert!(error.contains(said), "{text}: {error}");
        }
    }
}
