//! Nodes that `railscope doctor merge` compared, for people.

use std::io::{self, Write};

use super::sentence;
use super::style::Meaning;
use super::table::{Column, render};
use crate::doctor::merge::{Comparison, Difference, Other, Problem};
use crate::doctor::outcome::Status;
use crate::printable::printable;

/// Most settings in the table.
const SHOWN: usize = 40;
/// Most hosts in one cell.
const HOSTS: usize = 6;

/// Writes a comparison: who differs, then what checks say.
///
/// # Errors
///
/// When `out` fails.
pub fn write(comparison: &Comparison, width: usize, mut out: impl Write) -> io::Result<()> {
    let is_well = comparison.differences.is_empty() && comparison.problems.is_empty();
    let meaning = if is_well { Meaning::Good } else { Meaning::Odd };
    writeln!(out, "{}", sentence::painted(meaning, &title(comparison), width))?;
    if !comparison.differences.is_empty() {
        writeln!(out, "\n{}", table(comparison, width))?;
    }
    let more = folded(&comparison.differences).len().saturating_sub(SHOWN);
    if more > 0 {
        writeln!(
            out,
            "{}",
            sentence::aside(&format!("{more} more settings differ: --json has them."), width)
        )?;
    }
    for problem in &comparison.problems {
        writeln!(out)?;
        trouble(problem, comparison.hosts.len(), width, &mut out)?;
    }
    Ok(())
}

fn title(comparison: &Comparison) -> String {
    let nodes = comparison.hosts.len();
    let odd = odd_hosts(comparison);
    match (comparison.differences.len(), odd.as_slice()) {
        (0, _) if nodes == 1 => "1 node: nothing to compare it with.".to_owned(),
        (0, _) => format!("{nodes} nodes have all settings alike."),
        (settings, []) => {
            format!("{nodes} nodes differ in {settings} settings, none of which has a majority.")
        }
        (_, [only]) => format!("1 of {nodes} nodes differs: {}.", printable(only)),
        (_, odd) => format!("{} of {nodes} nodes differ: {}.", odd.len(), printable(&list(odd))),
    }
}

/// Nodes that differ from a majority, those that differ most first.
fn odd_hosts(comparison: &Comparison) -> Vec<String> {
    let mut counts: std::collections::BTreeMap<&String, usize> = std::collections::BTreeMap::new();
    for difference in comparison.differences.iter().filter(|one| one.nodes_with_most > 0) {
        for host in difference.others.iter().flat_map(|other| &other.hosts) {
            *counts.entry(host).or_default() += 1;
        }
    }
    let mut odd: Vec<(&String, usize)> = counts.into_iter().collect();
    odd.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    odd.into_iter().map(|(host, _)| host.clone()).collect()
}

fn list(hosts: &[String]) -> String {
    let shown = hosts.iter().take(HOSTS).cloned().collect::<Vec<_>>().join(", ");
    match hosts.len().saturating_sub(HOSTS) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// Differences of many devices that are alike but for the device's number, as one each, with how many there are.
fn folded(differences: &[Difference]) -> Vec<(&Difference, usize)> {
    let stem = |difference: &Difference| difference.key.replace(|c: char| c.is_ascii_digit(), "");
    let same = |one: &Difference, other: &Difference| {
        let values = |difference: &Difference| {
            difference
                .others
                .iter()
                .map(|other| (other.value.clone(), other.hosts.clone()))
                .collect::<Vec<_>>()
        };
        stem(one) == stem(other) && one.most == other.most && values(one) == values(other)
    };
    let mut folded: Vec<(&Difference, usize)> = Vec::new();
    for difference in differences {
        match folded.iter_mut().find(|(known, _)| same(known, difference)) {
            Some((_, alike)) => *alike += 1,
            None => folded.push((difference, 1)),
        }
    }
    folded
}

fn key(difference: &Difference, alike: usize) -> String {
    let key = printable(&difference.key);
    if alike > 1 { format!("{key} and {} alike", alike - 1) } else { key.into_owned() }
}

fn table(comparison: &Comparison, width: usize) -> String {
    let folded = folded(&comparison.differences);
    let rows = folded.iter().take(SHOWN).flat_map(|(difference, alike)| {
        difference.others.iter().map(move |other| (*difference, *alike, other))
    });
    let rows: Vec<_> = rows.collect();
    let spelt = |value: &Option<String>| {
        value.as_deref().map_or("-".to_owned(), |value| printable(value).into_owned())
    };
    let most = |(difference, ..): &(&Difference, usize, &Other)| match difference.nodes_with_most {
        0 => "no majority".to_owned(),
        nodes => format!("{} ({nodes})", spelt(&difference.most)),
    };
    render(
        vec![
            Column::words(
                "setting",
                rows.iter().map(|(difference, alike, _)| key(difference, *alike)).collect(),
            ),
            Column::words("most nodes", rows.iter().map(most).collect()),
            Column::words("differs", rows.iter().map(|(.., other)| spelt(&other.value)).collect()),
            Column::words(
                "on",
                rows.iter()
                    .map(|(.., other)| printable(&list(&other.hosts)).into_owned())
                    .collect(),
            ),
        ],
        width,
    )
}

fn trouble(problem: &Problem, nodes: usize, width: usize, out: &mut impl Write) -> io::Result<()> {
    let meaning = if problem.status == Status::Critical { Meaning::Bad } else { Meaning::Odd };
    let who = match problem.hosts.len() {
        all if all == nodes && nodes > 1 => format!("all {nodes} nodes"),
        _ => list(&problem.hosts),
    };
    writeln!(
        out,
        "{}",
        sentence::bullet(meaning, &printable(&format!("{who}: {}", problem.says)), width)
    )?;
    if let Some(fix) = &problem.fix {
        writeln!(out, "{}", sentence::note(&printable(&format!("Fix: {fix}")), width))?;
    }
    Ok(())
}
