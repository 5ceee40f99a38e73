//! The first lines where nothing is wrong: what was judged, or why nothing could be.

use std::io::{self, Write};

use super::options::TextOptions;
use super::quantity::counted;
use super::style::Meaning;
use super::{
    call_record_lines, label, log_section, proxy_lines, sentence, tool_section, verdict_list,
};
use railscope_core::model::health::event::HealthEvent;
use railscope_core::report::Report;
use railscope_core::report::queue_pairs::QueuePairTallies;

/// Reasons for headers up to the BTH that the capture truncated.
const CUT: &[&str] =
    &["ethernet.snap", "vlan.snap", "ipv4.snap", "ipv6.snap", "udp.snap", "bth.snap"];

/// Whether headers were not read for one of these reasons.
fn refused(report: &Report, reasons: &[&str]) -> bool {
    reasons.iter().any(|reason| report.capture.refused.contains_key(*reason))
}

/// Writes why nothing was found.
pub(super) fn write(
    report: &Report,
    tallies: QueuePairTallies,
    options: &TextOptions,
    out: &mut impl Write,
) -> io::Result<()> {
    let Some((text, aside)) = why_unjudged(report, tallies) else {
        return match read_without_packets(report) {
            Some((is_odd, text)) => write_read(report, is_odd, &text, options, out),
            None => write_good(report, options, out),
        };
    };
    if let Some(looks) = excerpt(report) {
        let text = format!("Nothing of this could be judged: {looks}.");
        return writeln!(out, "{}", sentence::bullet(Meaning::Odd, &text, options.width));
    }
    writeln!(out, "{}", sentence::bullet(Meaning::Odd, text, options.width))?;
    if aside.is_empty() {
        Ok(())
    } else {
        writeln!(out, "{}", sentence::aside(aside, options.width))
    }
}

/// What was read where there are no packets, behind the most important finding on it, and whether there is one; `None` if
/// packets, or only counters, were read.
pub(in crate::export) fn read_without_packets(report: &Report) -> Option<(bool, String)> {
    if !is_without_captures(report) {
        return None;
    }
    let read = [
        log_section::summary(report),
        call_record_lines::summary(report),
        proxy_lines::summary(report),
        tool_section::summary(report),
    ];
    let read: Vec<String> = read.into_iter().flatten().collect();
    if read.is_empty() {
        return None;
    }
    let read = read.join("; ");
    let finding = || Some(report.findings.first()?.title.clone());
    let late = proxy_lines::late_rank(report).or_else(finding);
    let seen = late.or_else(|| proxy_lines::nobody_late(report));
    let text = match &seen {
        Some(seen) => format!("{seen}. Read: {read}."),
        None => format!("Read: {read}. No problem found in it."),
    };
    Some((seen.is_some(), text))
}

/// Writes what was read, and that packets were not.
fn write_read(
    report: &Report,
    is_odd: bool,
    text: &str,
    options: &TextOptions,
    out: &mut impl Write,
) -> io::Result<()> {
    let meaning = if is_odd { Meaning::Odd } else { Meaning::Good };
    let text = label::printable(text);
    writeln!(out, "{}", sentence::bullet(meaning, &text, options.width))?;
    writeln!(out, "{}", sentence::aside(&unseen(report), options.width))?;
    match tool_section::summary(report) {
        Some(_) => Ok(()),
        None => write_unchecked(report, options, out),
    }
}

/// What logs, records and outputs of tools cannot show.
pub(in crate::export) fn unseen(report: &Report) -> String {
    let read = [
        (log_section::summary(report), "Logs show what the job itself noticed. "),
        (tool_section::summary(report), "Outputs of tools show one moment. "),
    ];
    let limits = read.into_iter().filter_map(|(read, limit)| read.map(|_| limit));
    let limits: String = limits.collect();
    format!("{limits}Without packets, nothing is known about the network between the hosts.")
}

/// What the file looks like of which nothing was read.
fn excerpt(report: &Report) -> Option<&'static str> {
    let mut notes = report.inputs.iter().filter_map(|input| input.note);
    notes.find(|note| note.starts_with("it looks like"))
}

/// Why nothing could be found, and what to do about it; `None` if something was judged.
pub(in crate::export) fn why_unjudged(
    report: &Report,
    tallies: QueuePairTallies,
) -> Option<(&'static str, &'static str)> {
    let capture = &report.capture;
    let missed = |event: HealthEvent| report.health.contains_key(event.name());
    if is_without_captures(report) && is_without_entries(report) {
        let aside = "railscope reads captures, NCCL logs (NCCL_DEBUG=INFO), lines of PyTorch's watchdog and \
                     of launchers, NIC counters, dumps of the flight recorder, answers of RAS, tables of \
                     nccl-tests and outputs of tools (docs/outputs.md).";
        Some(("Nothing of this could be judged: no line was recognised.", aside))
    } else if is_without_captures(report) {
        None
    } else if capture.frames == 0 && missed(HealthEvent::CaptureSkippedFrames) {
        let aside = "Times are relative to the first frame of the input, or dates: --since 1.5s.";
        Some(("No frame between --since and --until.", aside))
    } else if capture.frames == 0 {
        Some(("No frames in this capture.", ""))
    } else if capture.roce_frames == 0 && refused(report, &["link.header_field"]) {
        let aside = "railscope reads Ethernet, InfiniBand, ERF, Linux cooked, raw IP and loopback \
                     captures, but no IP over InfiniBand and no 802.11.";
        Some(("No frame with a supported link type.", aside))
    } else if capture.roce_frames == 0 && refused(report, CUT) {
        let aside = "Capture at least 128 bytes of each frame: tcpdump -s 128.";
        Some(("No RoCEv2 header: the capture truncated the frames before it.", aside))
    } else if capture.roce_frames == 0 && !report.sampled.is_empty() {
        let aside = "Samples of switches show volume, marks and rhythm (below). Loss, single messages and ranks \
                     need packets.";
        Some(("No RoCEv2 packet was captured, but switches sampled some traffic.", aside))
    } else if capture.roce_frames == 0 {
        let aside = "RDMA bypasses the kernel: tcpdump on the netdev of an RDMA NIC sees no RoCE. \
                     Capture on a mirror port, or with tcpdump on the RDMA device (mlx5_0).";
        Some(("No RoCEv2 in this capture.", aside))
    } else if tallies.all == 0 {
        let aside = "Remove --host, --qpn, --opcode and --filter to see all flows.";
        Some(("No flow matches the filters.", aside))
    } else if missed(HealthEvent::FlowEvictedFlows) {
        let aside = "Other flows were evicted: raise --max-flows.";
        Some(("No problem found in the flows that were tracked.", aside))
    } else {
        None
    }
}

/// Writes the verdict on the network, what varies by chance, and how many checks were impossible.
fn write_good(report: &Report, options: &TextOptions, out: &mut impl Write) -> io::Result<()> {
    if !verdict_list::write_network(report, options, out)? {
        let (meaning, text) = match options.hidden_verdicts {
            0 => (Meaning::Good, "No problem found."),
            _ => (Meaning::Odd, "No problem found in what is shown."),
        };
        writeln!(out, "{}", sentence::bullet(meaning, text, options.width))?;
    }
    verdict_list::write_chance(report, options, out)?;
    write_unchecked(report, options, out)
}

/// Writes how many checks were impossible.
fn write_unchecked(report: &Report, options: &TextOptions, out: &mut impl Write) -> io::Result<()> {
    let unchecked = report.findings_not_checked.len() as u64;
    if unchecked == 0 {
        return Ok(());
    }
    let aside = format!(
        "{} not checked: see \"Not seen, or not certain\" below.",
        counted(unchecked, "finding")
    );
    writeln!(out, "{}", sentence::aside(&aside, options.width))
}

fn is_without_entries(report: &Report) -> bool {
    let records = &report.call_records;
    let has_records =
        !records.dumps.is_empty() || !records.ras.is_empty() || !records.profiles.is_empty();
    !has_records
        && report.counters.is_empty()
        && report
            .logs
            .files
            .iter()
            .all(|file| file.nccl_entries + file.other_lines + file.output_lines == 0)
}

/// Whether the input is logs or counters only.
pub(in crate::export) fn is_without_captures(report: &Report) -> bool {
    let records = &report.call_records;
    let has_files = !report.logs.files.is_empty()
        || !report.counters.is_empty()
        || !records.dumps.is_empty()
        || !records.ras.is_empty()
        || !records.profiles.is_empty();
    report.taps.is_empty() && has_files
}
