//! NCCL's logs in a few lines: communicators, and how long the bootstrap took. Problems in logs are
//! findings.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use super::options::TextOptions;
use super::quantity::{counted, duration};
use super::{label, sentence};
use railscope_core::report::Report;
use railscope_core::report::communicators::{ChannelReport, CommunicatorReport};
use railscope_core::report::logs::{
    LineReport, LogFileReport, LogProcessReport, LogRankReport, LogsReport,
};

/// Longest ring written out.
const RING_SHOWN: usize = 16;

/// Most rings written out.
const RINGS_SHOWN: usize = 4;

/// Writes what the logs say.
pub(super) fn write(
    report: &Report,
    options: &TextOptions,
    out: &mut impl Write,
) -> io::Result<()> {
    let logs = &report.logs;
    let Some(read) = summary(report) else { return Ok(()) };
    let title = match logs.files.as_slice() {
        [file] => label::file(&file.file, options.path_width()),
        files => counted(files.len() as u64, "log"),
    };
    writeln!(out, "\n{}", sentence::titled(&title, &read, options.width))?;
    write_communicators(report, options, out)?;
    // A slow bootstrap is a finding.
    let is_reported = report.findings.iter().any(|finding| finding.id == "bootstrap_slow");
    if is_reported { Ok(()) } else { write_bootstrap(logs, options, out) }
}

/// `92 NCCL lines of 1 process on 1 host, NCCL 2.27.3`; `None` without logs.
pub(super) fn summary(report: &Report) -> Option<String> {
    let logs = &report.logs;
    // A text with nothing but outputs of other tools is no log.
    let is_log =
        |file: &LogFileReport| file.nccl_entries + file.other_lines > 0 || file.output_lines == 0;
    if !logs.files.iter().any(is_log) {
        return None;
    }
    let entries: u64 = logs.files.iter().map(|file| file.nccl_entries).sum();
    let hosts: BTreeSet<&str> = logs.processes.iter().map(|one| one.host.as_str()).collect();
    let releases = logs.processes.iter().filter_map(|one| one.nccl_version.as_deref());
    let releases: BTreeSet<&str> = releases.collect();
    let releases: Vec<&str> = releases.into_iter().collect();
    let release =
        if releases.is_empty() { "release unknown".to_owned() } else { releases.join(", ") };
    let other: u64 = logs.files.iter().map(|file| file.other_lines).sum();
    let others = format!("{} of PyTorch, launchers or the kernel", counted(other, "line"));
    if entries == 0 && other > 0 {
        return Some(others);
    }
    let other = if other == 0 { String::new() } else { format!(", {others}") };
    Some(format!(
        "{} of {} on {}, NCCL {release}{other}",
        counted(entries, "NCCL line"),
        counted(logs.processes.len() as u64, "process"),
        counted(hosts.len() as u64, "host"),
    ))
}

/// The ranks named in logs, by communicator.
fn ranks(logs: &LogsReport) -> BTreeMap<&str, Vec<(&LogProcessReport, &LogRankReport)>> {
    let mut ranks: BTreeMap<&str, Vec<_>> = BTreeMap::new();
    for process in &logs.processes {
        for rank in &process.ranks {
            if let Some(id) = &rank.communicator {
                ranks.entry(id).or_default().push((process, rank));
            }
        }
    }
    ranks
}

fn write_communicators(
    report: &Report,
    options: &TextOptions,
    out: &mut impl Write,
) -> io::Result<()> {
    let logged = ranks(&report.logs);
    let communicators =
        report.communicators.iter().filter_map(|one| Some((one, logged.get(one.id.as_str())?)));
    let communicators: Vec<_> = communicators.collect();
    for (communicator, ranks) in communicators.iter().take(options.top) {
        writeln!(out, "{}", sentence::note(&describe(communicator, ranks), options.width))?;
    }
    options.write_more(communicators.len(), out)
}

/// `bc42413ad5ab3a45: 4 ranks on 4 nodes over Socket, 2 channels, ring 0 1 2 3`.
fn describe(
    communicator: &CommunicatorReport,
    ranks: &[(&LogProcessReport, &LogRankReport)],
) -> String {
    let known = ranks.len() as u64;
    let nranks = communicator.nranks.map_or(known, u64::from);
    let mut text = format!("{}: {}", communicator.id, counted(nranks, "rank"));
    if let Some(nodes) = ranks.iter().find_map(|(_, rank)| rank.nodes) {
        text.push_str(&format!(" on {}", counted(u64::from(nodes), "node")));
    }
    let networks: BTreeSet<&str> =
        ranks.iter().filter_map(|(process, _)| process.network.as_deref()).collect();
    if !networks.is_empty() {
        let networks: Vec<&str> = networks.into_iter().collect();
        text.push_str(&format!(" over {}", networks.join(", ")));
    }
    if let Some(channels) = ranks.iter().find_map(|(_, rank)| rank.channels) {
        text.push_str(&format!(", {}", counted(u64::from(channels), "channel")));
    }
    text.push_str(&rings(&communicator.channels));
    if known < nranks {
        let hosts: Vec<String> = ranks.iter().map(|(_, rank)| rank.rank.to_string()).collect();
        text.push_str(&format!(
            "; log of {} {} only",
            if hosts.len() == 1 { "rank" } else { "ranks" },
            brief(&hosts)
        ));
    }
    if let Some(parent) = &communicator.parent {
        text.push_str(&format!("; split from {parent}"));
    }
    let aborted = ranks.iter().filter(|(_, rank)| rank.end == Some("aborted")).count();
    if aborted > 0 {
        text.push_str(&format!("; aborted by {}", counted(aborted as u64, "rank")));
    }
    text
}

/// `, ring 0 1 2 3`, each different ring once.
fn rings(channels: &[ChannelReport]) -> String {
    let mut rings: Vec<String> = Vec::new();
    for channel in channels.iter().filter(|channel| !channel.ring.is_empty()) {
        let ranks: Vec<String> = channel.ring.iter().map(u32::to_string).collect();
        let ring = brief(&ranks);
        if !rings.contains(&ring) {
            rings.push(ring);
        }
    }
    let more = if rings.len() > RINGS_SHOWN { ", ..." } else { "" };
    match rings.as_slice() {
        [] => String::new(),
        [ring] => format!(", ring {ring}"),
        rings => format!(", rings {}{more}", rings[..rings.len().min(RINGS_SHOWN)].join(" | ")),
    }
}

fn brief(words: &[String]) -> String {
    match words.get(..RING_SHOWN).filter(|_| words.len() > RING_SHOWN + 1) {
        Some(start) => format!("{} ... {}", start.join(" "), words[words.len() - 1]),
        None => words.join(" "),
    }
}

/// `line 22` of the only log, `nccl.1.log:22` of several.
fn place(logs: &LogsReport, line: &LineReport, options: &TextOptions) -> String {
    match logs.files.as_slice() {
        [_] => format!("line {}", line.line),
        _ => format!("{}:{}", label::file(&line.file, options.path_width()), line.line),
    }
}

/// Writes how long the slowest bootstrap took, and how long it waited.
fn write_bootstrap(
    logs: &LogsReport,
    options: &TextOptions,
    out: &mut impl Write,
) -> io::Result<()> {
    let all = logs.processes.iter().flat_map(|process| {
        process.ranks.iter().filter_map(move |rank| Some((process, rank, rank.bootstrap.as_ref()?)))
    });
    let Some((process, rank, timing)) = all.max_by_key(|(.., timing)| timing.total_ns) else {
        return Ok(());
    };
    let waited = timing.parts_ns.get("recv").copied().unwrap_or(0);
    let of = rank.communicator.as_deref().unwrap_or("a communicator");
    let line = timing.line.as_ref().map(|line| format!(" ({})", place(logs, line, options)));
    let text = format!(
        "slowest bootstrap of {of}: rank {} on {}, {} ({} of it waiting for the root's reply){}",
        rank.rank,
        process.host,
        duration(timing.total_ns),
        duration(waited),
        line.unwrap_or_default(),
    );
    writeln!(out, "{}", sentence::note(&text, options.width))
}
