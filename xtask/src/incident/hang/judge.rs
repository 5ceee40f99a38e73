//! What `railscope explain --hang` says, against what stopped the job.

use serde::Deserialize;

use super::kind::HangKind;
use crate::incident::judge::{Mark, Subject, Verdict, judge};
use crate::incident::kind::Expected;

/// The answer of `railscope explain --hang --format json`.
#[derive(Debug, Deserialize)]
pub(super) struct Said {
    state: String,
    hangs: Vec<Hang>,
    stopped_captures: Vec<Stopped>,
}

#[derive(Debug, Deserialize)]
struct Hang {
    class: String,
    alternative: Option<String>,
    title: String,
    subject: Subject,
}

#[derive(Debug, Deserialize)]
struct Stopped {
    port: Option<String>,
}

impl Said {
    /// Whether it is right.
    pub(super) fn mark(&self, kind: HangKind, expected: &Expected, column: usize) -> bool {
        if kind == HangKind::CaptureStopped {
            let port = expected.host.map(|host| format!("10.0.0.{}", host + 1));
            let names = self.stopped_captures.iter().any(|one| one.port == port);
            // Of one host alone, nothing shows that it went on.
            return self.hangs.is_empty() && (names || column == 0);
        }
        let Some(first) = self.hangs.first() else { return expected.classes.is_empty() };
        let verdict = Verdict {
            id: first.class.clone(),
            title: first.title.clone(),
            severity: "critical".to_owned(),
            alternatives: first.alternative.iter().cloned().collect(),
            subject: first.subject.clone(),
        };
        mark_verdict(&verdict, expected)
    }

    /// What it said, in one line.
    pub(super) fn line(&self) -> String {
        match self.hangs.first() {
            Some(hang) => {
                let other = hang.alternative.as_deref().map(|one| format!(" or {one}"));
                format!("{}{}: {}", hang.class, other.unwrap_or_default(), hang.title)
            }
            None => format!("{}, {} captures stopped", self.state, self.stopped_captures.len()),
        }
    }
}

/// Whether a verdict names what stopped the job; nothing did where no class is expected.
pub(super) fn mark_verdict(verdict: &Verdict, expected: &Expected) -> bool {
    if expected.classes.is_empty() {
        return false;
    }
    let mark = match expected.direction {
        Some(_) => judge(Some(verdict), expected),
        None => Mark {
            is_place_right: is_place(&verdict.subject, expected),
            ..judge_class(verdict, expected)
        },
    };
    mark.is_right()
}

fn judge_class(verdict: &Verdict, expected: &Expected) -> Mark {
    let anywhere = Expected { host: None, rank: None, ..expected.clone() };
    judge(Some(verdict), &anywhere)
}

/// Whether the rank or its port is named; none where no rank is odder than the others.
fn is_place(subject: &Subject, expected: &Expected) -> bool {
    if (expected.host, expected.rank) == (None, None) {
        return (&subject.port, subject.rank) == (&None, None);
    }
    let port = expected.host.map(|host| format!("10.0.0.{}", host + 1));
    let is_rank = expected.rank.is_some() && subject.rank == expected.rank;
    is_rank || (port.is_some() && subject.port == port)
}
