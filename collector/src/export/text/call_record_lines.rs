//! What was read of records: `4 flight recorder dumps, 20 calls; 2 answers of RAS`.

use std::io::{self, Write};

use super::options::TextOptions;
use super::quantity::{counted, duration};
use super::style::Meaning;
use super::{label, sentence};
use railscope_core::report::Report;
use railscope_core::report::call_records::UnusedRecordReport;

/// Writes it, if there is any.
pub(super) fn write(
    report: &Report,
    options: &TextOptions,
    out: &mut impl Write,
) -> io::Result<()> {
    let records = &report.call_records;
    let mut parts = Vec::new();
    if !records.dumps.is_empty() {
        let calls = records.dumps.iter().map(|one| one.calls).sum();
        parts.push(format!(
            "{}, {}",
            counted(records.dumps.len() as u64, "flight recorder dump"),
            counted(calls, "call")
        ));
    }
    if !records.ras.is_empty() {
        parts.push(format!("{} of RAS", counted(records.ras.len() as u64, "answer")));
    }
    if !parts.is_empty() {
        writeln!(out, "\n{}", sentence::line(&parts.join("; "), options.width))?;
    }
    write_proxies(report, options, out)?;
    write_unused(&records.unused, options, out)
}

/// Writes what waits of proxies say, where nothing else was read.
pub(super) fn write_summary(
    report: &Report,
    options: &TextOptions,
    out: &mut impl Write,
) -> io::Result<()> {
    let late = &report.call_records.late_by_proxies;
    if late.is_empty() {
        // A job that is well, or ranks whose records are not there: both name nobody.
        let text = "No rank is named late. That takes the records of all ranks of a communicator.";
        writeln!(out, "{}", sentence::line(text, options.width))?;
    }
    for one in late {
        let text = format!("Rank {} of {} was late.", one.rank, one.communicator);
        writeln!(out, "{}", sentence::bullet(Meaning::Odd, &text, options.width))?;
    }
    let aside = "Without packets, nothing is known about the network between the hosts.";
    writeln!(out, "{}", sentence::aside(aside, options.width))
}

/// Writes what NCCL's profiler plugin recorded: late ranks, then the waits of each rank.
fn write_proxies(report: &Report, options: &TextOptions, out: &mut impl Write) -> io::Result<()> {
    let records = &report.call_records;
    if records.proxies.is_empty() {
        return Ok(());
    }
    let transfers = records.proxies.iter().map(|one| one.transfers).sum();
    let text = format!(
        "NCCL's proxies: {} of {}",
        counted(transfers, "transfer"),
        counted(records.proxies.len() as u64, "rank")
    );
    writeln!(out, "\n{}", sentence::line(&text, options.width))?;
    for late in &records.late_by_proxies {
        let why = match late.why {
            "gpu" => "its GPU had the data late",
            "enqueue" => "it enqueued late",
            _ => "why is not known",
        };
        let text = format!(
            "The others waited {} for rank {} of {}, in {} of {}: {why}.",
            duration(late.late_ns),
            late.rank,
            late.communicator,
            late.collectives,
            counted(late.judged, "collective")
        );
        writeln!(out, "{}", sentence::bullet(Meaning::Odd, &text, options.width))?;
    }
    let mut proxies: Vec<_> = records.proxies.iter().collect();
    proxies.sort_by_key(|one| (&one.communicator, one.rank));
    for one in proxies.into_iter().take(options.top) {
        let name = one.rank.map_or_else(|| "rank ?".to_owned(), |rank| format!("rank {rank}"));
        let comm = one.communicator.as_deref().unwrap_or("an unknown communicator");
        let waits = &one.waits;
        let named = [
            ("gpu_wait (send)", &waits.send_gpu),
            ("peer_wait", &waits.peer),
            ("send_wait", &waits.send),
            ("recv_wait", &waits.recv),
            ("flush_wait", &waits.flush),
            ("gpu_wait (receive)", &waits.recv_gpu),
        ];
        let known = named.into_iter().filter_map(|(name, wait)| Some((name, wait.as_ref()?)));
        let known: Vec<String> =
            known.map(|(name, wait)| format!("{name} {}", duration(wait.total_ns))).collect();
        let lost = match one.lost + one.overwritten_words {
            0 => "",
            _ => "; records were lost",
        };
        let text = format!("{name} of {comm} on {}: {}{lost}", one.host, known.join(", "));
        writeln!(out, "{}", sentence::note(&label::printable(&text), options.width))?;
    }
    options.write_more(records.proxies.len(), out)
}

/// Writes which records are not used, and why: those with the same reason together.
pub(super) fn write_unused(
    unused: &[UnusedRecordReport],
    options: &TextOptions,
    out: &mut impl Write,
) -> io::Result<()> {
    let mut reasons: Vec<(&str, Vec<&UnusedRecordReport>)> = Vec::new();
    for one in unused {
        match reasons.iter_mut().find(|(why, _)| *why == one.why) {
            Some((_, all)) => all.push(one),
            None => reasons.push((&one.why, vec![one])),
        }
    }
    for (why, all) in reasons.iter().take(options.top) {
        let first = all.first().map(|one| one.file.as_str()).unwrap_or_default();
        let more = match all.len() {
            0 | 1 => String::new(),
            many => format!(" and {}", counted(many as u64 - 1, "other")),
        };
        let text = format!("Not used: {first}{more}: {why}.");
        let text = label::printable(&text);
        writeln!(out, "{}", sentence::bullet(Meaning::Odd, &text, options.width))?;
    }
    options.write_more(reasons.len(), out)
}
