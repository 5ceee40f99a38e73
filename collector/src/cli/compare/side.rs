//! One side: a report, or files that are analysed first.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail, ensure};
use clap::{Args, Parser};

use crate::cli::exit_code;
use crate::cli::recognise::{self, InputKind, is_document};
use crate::cli::source::{Depth, SourceArgs};
use crate::ingest::whole_file;
use railscope_core::compare::document::{CONTRACT, Document, NotAReport};
use railscope_core::report::ReportContext;

/// Options of the analysis.
#[derive(Args)]
#[command(next_help_heading = "Analysis of captures")]
pub(super) struct Options {
    /// Line rate of every port, as in `railscope analyze`
    #[arg(long, value_name = "RATE")]
    line_rate: Option<String>,
    /// Settings file, as in `railscope analyze`
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// The sources of `railscope analyze`, from options of our own.
#[derive(Parser)]
struct Alone {
    #[command(flatten)]
    sources: SourceArgs,
}

/// Logs in a folder; elsewhere any text may be one.
const LOGS: [&str; 4] = ["log", "out", "err", "txt"];

/// The name of a side and its report.
///
/// # Errors
///
/// When a file cannot be read, or the files are no side of a comparison.
pub(super) fn read(
    side: &str,
    given: &[PathBuf],
    options: &Options,
) -> anyhow::Result<(String, Document)> {
    let names: Vec<String> = given.iter().map(|path| path.display().to_string()).collect();
    let name = names.join(" ");
    let mut files = Vec::new();
    for path in given {
        ensure!(
            path != Path::new("-"),
            "{side}: standard input cannot be compared: write it to a file first"
        );
        fs::metadata(path).with_context(|| format!("open {}", path.display()))?;
        if path.is_dir() { files.extend(listed(path)?) } else { files.push(path.clone()) }
    }
    let reports: Vec<&PathBuf> = files.iter().filter(|path| is_document(path)).collect();
    let document = match (reports.as_slice(), files.len()) {
        ([], _) => analysed(&files, options).with_context(|| format!("{side}: {name}"))?,
        ([report], 1) => parsed(report)?,
        ([_], _) => {
            bail!("{side} has a report and other files: name the report alone, or the others")
        }
        _ => bail!("{side} has {} reports: name one", reports.len()),
    };
    Ok((name, document))
}

/// Files of a folder that can be analysed, by name; if there are none, its reports.
fn listed(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let read = || -> std::io::Result<Vec<PathBuf>> {
        let entries = fs::read_dir(folder)?;
        let paths: Result<Vec<PathBuf>, _> = entries.map(|one| Ok(one?.path())).collect();
        paths
    };
    let mut all = read().with_context(|| format!("list {}", folder.display()))?;
    all.retain(|path| path.is_file());
    all.sort();
    let (reports, others): (Vec<_>, Vec<_>) = all.into_iter().partition(|path| is_document(path));
    let files: Vec<PathBuf> = others.into_iter().filter(|path| is_input(path)).collect();
    let found = if files.is_empty() { reports } else { files };
    ensure!(
        !found.is_empty(),
        "folder {} has no captures, logs, counters or reports",
        folder.display()
    );
    Ok(found)
}

fn is_input(path: &Path) -> bool {
    let has = |names: &[&str]| {
        let extension = path.extension().and_then(|extension| extension.to_str());
        extension.is_some_and(|extension| names.contains(&extension))
    };
    match recognise::kind(path) {
        InputKind::Capture => {
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
            name.is_some_and(|name| name.contains(".pcap") || name.contains(".erf"))
        }
        InputKind::Log => has(&LOGS),
        InputKind::Counters
        | InputKind::Dump
        | InputKind::RasStatus
        | InputKind::Profile
        | InputKind::Bundle
        | InputKind::Part => true,
    }
}

fn parsed(path: &Path) -> anyhow::Result<Document> {
    let name = path.display();
    let text = whole_file::read(path).with_context(|| format!("read {name}"))?;
    Document::parse(&text).map_err(|problem| match problem {
        NotAReport::Json(why) => anyhow!("{name} is not a whole report of railscope: {why}"),
        NotAReport::Contract(contract) if contract.starts_with("railscope.report/") => anyhow!(
            "{name} is a `{contract}`, of another release of railscope: this one reads `{CONTRACT}`"
        ),
        NotAReport::Contract(contract) => anyhow!(
            "{name} is a `{contract}`, not a report: make one with `railscope analyze --format json`"
        ),
    })
}

fn analysed(files: &[PathBuf], options: &Options) -> anyhow::Result<Document> {
    let mut words = vec!["railscope".to_owned()];
    words.extend(options.line_rate.iter().map(|rate| ["--line-rate=", rate].concat()));
    words.extend(options.config.iter().map(|path| format!("--config={}", path.display())));
    words.push("--".to_owned());
    let files = files.iter().map(|path| path.as_os_str().to_owned());
    let words = words.into_iter().map(Into::into).chain(files);
    let mut alone = Alone::try_parse_from(words).map_err(|error| {
        anyhow!("{}", error.to_string().trim_start_matches("error: ").trim_end())
    })?;
    alone.sources.recognise()?;
    let depth = Depth { links: true, keeps_details: false };
    let analysed = alone.sources.open()?.analyse(depth, None, ReportContext::default())?;
    ensure!(exit_code::of_input(&analysed.report) == 0, "nothing of it could be read");
    let text = serde_json::to_vec(&analysed.report).context("write the report")?;
    Document::parse(&text).map_err(|_| anyhow!("the report cannot be read back"))
}
