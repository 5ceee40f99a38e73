//! Tables of one tool, and of several beside each other.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::answer::Answers;
use super::label::Label;
use super::mark::{Mark, mark};
use crate::incident::interval::wilson;

/// Incidents with how they were judged.
type Judged<'a> = Vec<(&'a Label, Mark)>;

fn judged<'a>(labels: &'a [Label], answers: &Answers) -> Judged<'a> {
    let of = |label: &'a Label| (label, mark(label, answers.by_incident.get(&label.incident)));
    labels.iter().map(of).collect()
}

/// `96.0 (92.1 to 98.0)`: a share with Wilson's interval, in percent.
fn share(hits: usize, of: usize) -> String {
    if of == 0 {
        return "-".to_owned();
    }
    let [least, most] = wilson(hits, of).map(|end| (100.0 * end).max(0.0));
    format!("{:.1} ({least:.1} to {most:.1})", 100.0 * hits as f64 / of as f64)
}

/// All of one tool, by class.
pub(super) fn of_tool(labels: &[Label], answers: &Answers) -> String {
    let all = judged(labels, answers);
    let mut text = String::from(
        "| class | incidents | right cause | right place | both | both, in % (95 %) | wrong | silent | no answer |\n\
         | --- | --: | --: | --: | --: | --: | --: | --: | --: |\n",
    );
    let incidents: Judged<'_> =
        all.iter().filter(|(label, _)| label.class.is_some()).copied().collect();
    row(&mut text, "all", &incidents);
    let mut classes: BTreeMap<&str, Judged<'_>> = BTreeMap::new();
    for one in &incidents {
        classes.entry(one.0.class.as_deref().unwrap_or_default()).or_default().push(*one);
    }
    for (class, of_class) in classes {
        row(&mut text, &format!("`{class}`"), &of_class);
    }
    text += "\n| healthy jobs | jobs | false alarms | in % (95 %) | no answer |\n\
             | --- | --: | --: | --: | --: |\n";
    let healthy: Judged<'_> =
        all.iter().filter(|(label, _)| label.class.is_none()).copied().collect();
    alarms(&mut text, "all", &healthy);
    let mut kinds: BTreeMap<&str, Judged<'_>> = BTreeMap::new();
    for one in &healthy {
        kinds.entry(&one.0.kind).or_default().push(*one);
    }
    for (kind, of_kind) in kinds {
        alarms(&mut text, &format!("`{kind}`"), &of_kind);
    }
    text
}

fn row(text: &mut String, name: &str, judged: &Judged<'_>) {
    let count = |is: fn(&Mark) -> bool| judged.iter().filter(|(_, mark)| is(mark)).count();
    let right = count(|mark| mark.is_right());
    let said = count(|mark| mark.is_said());
    let _ = writeln!(
        text,
        "| {name} | {} | {} | {} | {right} | {} | {} | {} | {} |",
        judged.len(),
        count(|mark| matches!(mark, Mark::Said { is_cause_right: true, .. })),
        count(|mark| matches!(mark, Mark::Said { is_place_right: true, .. })),
        share(right, judged.len()),
        said - right,
        count(|mark| *mark == Mark::Silent),
        count(|mark| *mark == Mark::Missing),
    );
}

fn alarms(text: &mut String, name: &str, judged: &Judged<'_>) {
    let alarms = judged.iter().filter(|(_, mark)| mark.is_said()).count();
    let missing = judged.iter().filter(|(_, mark)| *mark == Mark::Missing).count();
    let _ = writeln!(
        text,
        "| {name} | {} | {alarms} | {} | {missing} |",
        judged.len(),
        share(alarms, judged.len())
    );
}

/// One line a tool.
pub(super) fn side_by_side(labels: &[Label], tools: &[(&str, Answers)]) -> String {
    let mut text = String::from(
        "| tool | right side | right cause | right place | cause and place | wrong | silent | false alarms |\n\
         | --- | --: | --: | --: | --: | --: | --: | --: |\n",
    );
    for (name, answers) in tools {
        let all = judged(labels, answers);
        let (incidents, healthy): (Judged<'_>, Judged<'_>) =
            all.into_iter().partition(|(label, _)| label.class.is_some());
        let of = incidents.len();
        let count = |is: fn(&Mark) -> bool| incidents.iter().filter(|(_, mark)| is(mark)).count();
        let right = count(|mark| mark.is_right());
        let alarms = healthy.iter().filter(|(_, mark)| mark.is_said()).count();
        let _ = writeln!(
            text,
            "| {name} | {} | {} | {} | {} | {} | {} | {} |",
            share(count(|mark| matches!(mark, Mark::Said { is_side_right: true, .. })), of),
            share(count(|mark| matches!(mark, Mark::Said { is_cause_right: true, .. })), of),
            share(count(|mark| matches!(mark, Mark::Said { is_place_right: true, .. })), of),
            share(right, of),
            share(count(|mark| mark.is_said()) - right, of),
            share(count(|mark| *mark == Mark::Silent), of),
            share(alarms, healthy.len()),
        );
    }
    text
}

/// How often an answer is right, by what the tool itself calls its certainty; of incidents and healthy jobs.
pub(super) fn by_confidence(labels: &[Label], answers: &Answers) -> String {
    let mut groups: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    for (label, mark) in judged(labels, answers) {
        let answer = answers.by_incident.get(&label.incident);
        let Some(confidence) = answer.and_then(|answer| answer.confidence.as_ref()) else {
            continue;
        };
        let name = confidence.as_str().map_or_else(|| confidence.to_string(), str::to_owned);
        let group = groups.entry(name).or_default();
        group.0 += usize::from(mark.is_right());
        group.1 += 1;
    }
    if groups.is_empty() {
        return String::new();
    }
    let mut text = String::from(
        "\n| certainty | answers | right | in % (95 %) |\n| --- | --: | --: | --: |\n",
    );
    for (name, (right, of)) in groups {
        let _ = writeln!(text, "| {name} | {of} | {right} | {} |", share(right, of));
    }
    text
}
