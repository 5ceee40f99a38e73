//! What NCCL's profiler plugin recorded: `NCCL's proxies: 15,120 transfers of 4 ranks`, late ranks, the waits of each rank.

use std::io::{self, Write};

use super::options::TextOptions;
use super::quantity::{counted, duration};
use super::style::Meaning;
use super::{label, sentence};
use railscope_core::report::Report;
use railscope_core::report::call_records::{LateByProxiesReport, ProxyReport};
use railscope_core::report::profiles::{JudgedByProxiesReport, ProfileReport};

/// Writes it, if there is any.
pub(super) fn write(
    report: &Report,
    options: &TextOptions,
    out: &mut impl Write,
) -> io::Result<()> {
    let Some(read) = summary(report) else { return Ok(()) };
    writeln!(out, "\n{}", sentence::line(&read, options.width))?;
    let records = &report.call_records;
    for one in &records.late_by_proxies {
        let text = label::printable(&late(one));
        writeln!(out, "{}", sentence::bullet(Meaning::Odd, &text, options.width))?;
    }
    for text in records.judged_by_proxies.iter().flat_map(slow) {
        writeln!(out, "{}", sentence::bullet(Meaning::Odd, &text, options.width))?;
    }
    let cut = records.profiles.iter().filter(|one| one.is_cut && one.records > 0);
    for one in cut.take(options.top) {
        let text = format!("{} ends within a block: truncated, or still being written", one.file);
        writeln!(out, "{}", sentence::note(&label::printable(&text), options.width))?;
    }
    let mut proxies: Vec<&ProxyReport> = records.proxies.iter().collect();
    proxies.sort_by_key(|one| (&one.communicator, one.rank));
    for one in proxies.into_iter().take(options.top) {
        let text = label::printable(&waits(one));
        writeln!(out, "{}", sentence::note(&text, options.width))?;
    }
    options.write_more(records.proxies.len(), out)
}

/// What was read, in one phrase; `None` if there is nothing.
pub(super) fn summary(report: &Report) -> Option<String> {
    let proxies = &report.call_records.proxies;
    let files = report.call_records.profiles.len() as u64;
    if proxies.is_empty() && files > 0 {
        return Some(format!("{} of NCCL's profiler plugin", counted(files, "file")));
    }
    let transfers = proxies.iter().fold(0, |sum, one| u64::saturating_add(sum, one.transfers));
    let kernels = proxies.iter().filter_map(|one| Some(one.kernels.as_ref()?.collectives));
    let kernels = kernels.fold(0, u64::saturating_add);
    let ranks = counted(proxies.len() as u64, "rank");
    let text = match (transfers, kernels) {
        (0, 1..) => format!("{} of {ranks}", counted(kernels, "kernel")),
        _ => format!("NCCL's proxies: {} of {ranks}", counted(transfers, "transfer")),
    };
    (!proxies.is_empty()).then_some(text)
}

/// The rank that others waited for most; `None` if none is named.
pub(super) fn late_rank(report: &Report) -> Option<String> {
    report.call_records.late_by_proxies.first().map(late)
}

/// What a first line says where they name nobody: the job is well, or records of ranks are not there.
pub(super) fn nobody_late(report: &Report) -> Option<String> {
    let records = &report.call_records;
    if records.proxies.is_empty() || !records.late_by_proxies.is_empty() {
        return records.profiles.iter().find(|one| one.records == 0).map(empty);
    }
    // One rank waits for nobody; of two, each waits for the other. The least judged of the others decides.
    let named = records.judged_by_proxies.iter().filter(|one| one.ranks.is_none_or(|it| it > 1));
    let judged = |one: &JudgedByProxiesReport| one.judged.max(one.judged_by_kernels);
    let worst = named.min_by_key(|one| (one.ranks == Some(2), judged(one)));
    Some(worst.map_or_else(
        || "no rank can be named: no record says which communicator and rank it is of".to_owned(),
        nobody,
    ))
}

/// `no record in a.railprof: it is truncated`.
fn empty(one: &ProfileReport) -> String {
    let why = match one.is_cut {
        true => "it is truncated, or its process was killed while it wrote",
        false => "it has a header and no more",
    };
    format!("no record in the profile {}: {why}", one.file)
}

/// `none of 4 ranks of 5b1a77c0 was late in 321 collectives`.
fn nobody(one: &JudgedByProxiesReport) -> String {
    let JudgedByProxiesReport { communicator, judged, judged_by_kernels, recorded, .. } = one;
    let judged = judged.max(judged_by_kernels);
    let has_kernels = *judged_by_kernels > 0;
    let ranks = one.ranks.unwrap_or(0);
    match one.missing.as_deref() {
        None => format!(
            "no rank of {communicator} can be named: its number of ranks is not known (up to NCCL \
             2.26, the interface does not say)"
        ),
        Some([]) if ranks < 3 && !has_kernels => {
            format!("of two ranks, as in {communicator}, each waits for the other: none is named")
        }
        Some([]) if *judged == 0 => format!(
            "no rank of {communicator} can be named: no collective over rings was recorded by all of \
             its {}",
            counted(ranks.into(), "rank")
        ),
        Some([]) if has_kernels => format!(
            "no single one of {} of {communicator} stands out in {}",
            counted(ranks.into(), "rank"),
            counted(*judged, "collective")
        ),
        Some([]) if one.shares_nodes => format!(
            "no single one of {} of {communicator} stands out in {}; ranks that share a node wait alike: of \
             them, only one that calls late is told apart",
            counted(ranks.into(), "rank"),
            counted(*judged, "collective")
        ),
        Some([]) => format!(
            "none of {} of {communicator} was late in {}",
            counted(ranks.into(), "rank"),
            counted(*judged, "collective")
        ),
        Some(missing) => {
            let named: Vec<String> = missing.iter().take(8).map(u32::to_string).collect();
            let more = if one.missing_count > Some(8) { ", ..." } else { "" };
            format!(
                "no rank of {communicator} can be named: {} of {ranks} ranks recorded, without rank \
                 {}{more}",
                recorded.len(),
                named.join(", ")
            )
        }
    }
}

/// `rank 2 takes data slowly: sends of rank 1 waited 1.2 s for room`.
fn slow(one: &JudgedByProxiesReport) -> impl Iterator<Item = String> {
    let receiver = one.slow_receiver.as_ref().map(|edge| {
        let waited = duration(edge.waited_ns);
        format!(
            "rank {} takes data slowly: sends of rank {} waited {waited} for room",
            edge.to, edge.from
        )
    });
    let path = one.slow_path.as_ref().map(|edge| {
        let waited = duration(edge.waited_ns);
        format!(
            "data from rank {} to rank {} takes long: {waited} more than on other edges; records do not \
             show whether by loss, congestion or pause",
            edge.from, edge.to
        )
    });
    receiver.into_iter().chain(path)
}

/// `rank 2 was late: the others waited 5.55 s for it in 107 of 321 collectives of 5b1a77c0: it enqueued late`.
fn late(one: &LateByProxiesReport) -> String {
    let why = match one.why {
        "gpu" => "its GPU had the data late",
        "enqueue" if one.by_clock => {
            "it enqueued late, when the other ranks of its node had their data"
        }
        "enqueue" => "it enqueued late",
        _ => "why is not known",
    };
    let by = if one.by_kernels { " (by the times of kernels)" } else { "" };
    format!(
        "rank {} was late: the others waited {} for it in {} of {} of {}; {why}{by}",
        one.rank,
        duration(one.late_ns),
        one.collectives,
        counted(one.judged, "collective"),
        one.communicator
    )
}

/// `rank 2 of 5b1a77c0 on gpu01: peer_wait 1.20 s, send_wait 3.4 ms`.
fn waits(one: &ProxyReport) -> String {
    let name = one.rank.map_or_else(|| "rank ?".to_owned(), |rank| format!("rank {rank}"));
    let communicator = one.communicator.as_deref().unwrap_or("an unknown communicator");
    let named = [
        ("gpu_wait (send)", &one.waits.send_gpu),
        ("peer_wait", &one.waits.peer),
        ("send_wait", &one.waits.send),
        ("recv_wait", &one.waits.recv),
        ("flush_wait", &one.waits.flush),
        ("gpu_wait (receive)", &one.waits.recv_gpu),
    ];
    let known = named.into_iter().filter_map(|(name, wait)| Some((name, wait.as_ref()?)));
    let mut known: Vec<String> =
        known.map(|(name, wait)| format!("{name} {}", duration(wait.total_ns))).collect();
    known.extend(one.kernels.as_ref().map(|kernels| {
        let of = counted(kernels.collectives, "collective");
        format!("kernels of {of} {}", duration(kernels.total_ns))
    }));
    let lost = match one.lost.saturating_add(one.overwritten_words) {
        0 => "",
        _ => "; records were lost",
    };
    format!("{name} of {communicator} on {}: {}{lost}", one.host, known.join(", "))
}
