//! Makes one incident: what a tool may read, and beside it what is true.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use super::label::{Iteration, Label, SCHEMA};
use super::plan::{Case, Planned};
use crate::incident::contribution::{Spans, length_ns, spans};
use crate::incident::draw::{Drawn, FAULT, Source};
use crate::incident::judge::{address, passing};
use crate::incident::{hang, make};

/// The folder that a tool may read; `label.json` and `truth` lie beside it.
pub(super) const INPUTS: &str = "inputs";

/// Makes the incident in `folder`.
pub(super) fn make(railscope: &Path, planned: &Planned, folder: &Path) -> Result<Label> {
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| format!("empty {}", folder.display()))?;
    }
    let drawn = planned.case.draw(planned.seed);
    let work = folder.join("work");
    match planned.case {
        Case::Slow(_) => make::make(railscope, &drawn, &work)?,
        Case::Hang(kind) => hang::make(railscope, kind, &drawn, &work)?,
    };
    let [inputs, truth] = [INPUTS, "truth"].map(|name| folder.join(name));
    fs::create_dir(&truth).context("make a folder for the truth")?;
    fs::rename(work.join("job"), &inputs).context("move the captures")?;
    fs::rename(work.join("scenario.toml"), truth.join("scenario.toml")).context("its scenario")?;
    for file in make::files(&inputs, &["jsonl"])? {
        let name = file.file_name().context("a file has a name")?;
        if name.to_string_lossy().starts_with("truth") {
            fs::rename(&file, truth.join(name)).context("move the truth")?;
        }
    }
    let iterations = match without_fault(&drawn) {
        Some(scenario) => {
            let without = work.join("without");
            fs::create_dir(&without).context("make a folder")?;
            make::simulate(railscope, &scenario, &without)?;
            let with = spans(&truth.join("truth.jsonl"))?;
            pair(&with, &spans(&without.join("job/truth.jsonl"))?)?
        }
        None => Vec::new(),
    };
    fs::remove_dir_all(&work).context("remove a folder")?;
    let label = label(planned, &drawn, iterations);
    let text = serde_json::to_string_pretty(&label).context("write a label")? + "\n";
    fs::write(folder.join("label.json"), text).context("write a label")?;
    Ok(label)
}

/// The scenario without its main fault; `None` if the job is healthy or hangs.
fn without_fault(drawn: &Drawn) -> Option<String> {
    let Source::Simulated { scenario } = &drawn.source else { return None };
    let [begin, end] = FAULT;
    let (before, rest) = scenario.split_once(begin)?;
    let (_, after) = rest.split_once(end)?;
    Some(format!("{before}{after}"))
}

/// The lengths of all training steps but the first, which has none before it.
fn pair(with: &Spans, without: &Spans) -> Result<Vec<Iteration>> {
    ensure!(with.len() == without.len() && with.len() > 2, "training steps are missing");
    let pair = |number: &u32| {
        let ns = length_ns(with, *number)?;
        // A report counts the one that warms up, too.
        Some(Iteration { iteration: number + 1, ns, without_ns: length_ns(without, *number)? })
    };
    Ok(with.keys().filter_map(pair).collect())
}

fn label(planned: &Planned, drawn: &Drawn, iterations: Vec<Iteration>) -> Label {
    let expected = &drawn.expected;
    let mut classes = expected.classes.iter().map(|class| (*class).to_owned());
    let class = classes.next();
    let rank = expected.rank.or(expected.host).filter(|_| class.is_some());
    let host = rank.map(address);
    let peer = expected.peer.map(address);
    let path = match (&host, expected.direction) {
        (Some(host), Some(direction)) => {
            let path = passing(expected.ring, host, peer.as_deref(), direction);
            path.into_iter().map(|(from, to)| [from, to]).collect()
        }
        _ => Vec::new(),
    };
    let sum = |of: fn(&Iteration) -> u64| iterations.iter().map(of).sum::<u64>() as i64;
    let cost_ns = sum(|one| one.ns) - sum(|one| one.without_ns);
    Label {
        schema: SCHEMA.to_owned(),
        incident: planned.name.clone(),
        kind: planned.case.name(),
        seed: planned.seed,
        hangs: matches!(planned.case, Case::Hang(_)) && class.is_some(),
        class,
        also_right: classes.collect(),
        ranks: expected.ring,
        rank,
        host,
        peer,
        direction: expected.direction.map(str::to_owned),
        path,
        is_cut: drawn.is_cut,
        beside: drawn.second.clone(),
        longer: iterations.iter().filter(|one| one.is_longer()).map(|one| one.iteration).collect(),
        cost_ns: (!iterations.is_empty()).then_some(cost_ns),
        iterations,
    }
}

/// All files of an incident by name, those in folders too.
pub(super) fn all_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry.context("list a folder")?.path();
        if path.is_dir() {
            files.extend(all_files(&path)?);
        } else {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}
