//! What to say when nothing stands out: why that may be so, before it is called good.

use std::io::{self, Write};

use super::sentence;
use super::style::Meaning;
use railscope_core::model::health::event::HealthEvent;
use railscope_core::report::Report;
use railscope_core::report::queue_pairs::QueuePairReport;

/// Headers before that of RoCE, cut by the capture.
const CUT: &[&str] =
    &["ethernet.snap", "vlan.snap", "ipv4.snap", "ipv6.snap", "udp.snap", "bth.snap"];

/// Whether one of these reasons kept headers from being read.
fn refused(report: &Report, reasons: &[&str]) -> bool {
    reasons.iter().any(|reason| report.capture.refused.contains_key(*reason))
}

/// Says why there is nothing to report.
pub(super) fn write(
    report: &Report,
    queue_pairs: &[&QueuePairReport],
    out: &mut impl Write,
) -> io::Result<()> {
    let capture = &report.capture;
    let missed = |event: HealthEvent| report.health.contains_key(event.name());
    let (meaning, text, aside) = if capture.frames == 0 && missed(HealthEvent::CaptureSkippedFrames)
    {
        let aside = "Times count from the first frame of the input, or are dates: --since 1.5s.";
        (Meaning::Odd, "No frame is inside --since and --until.", aside)
    } else if capture.frames == 0 {
        (Meaning::Odd, "No frame in this capture.", "")
    } else if capture.roce_frames == 0 && refused(report, &["link.header_field"]) {
        let aside = "railscope reads Ethernet, Linux cooked, raw IP and loopback captures; \
                     InfiniBand and radio headers it does not know.";
        (Meaning::Odd, "No frame of a link type that is known.", aside)
    } else if capture.roce_frames == 0 && refused(report, CUT) {
        let aside = "Keep at least 128 bytes of each: tcpdump -s 128.";
        (Meaning::Odd, "No RoCEv2 header: the frames were cut before it.", aside)
    } else if capture.roce_frames == 0 && missed(HealthEvent::CaptureRoceVersion1Frames) {
        let aside = "RoCE version 1 (EtherType 0x8915) is counted, not followed.";
        (Meaning::Odd, "RoCE in this capture is version 1, on Ethernet without IP.", aside)
    } else if capture.roce_frames == 0 {
        let aside = "RDMA by a NIC bypasses the kernel: tcpdump on its netdev sees none of it. \
                     Capture on a mirror port, or with tcpdump on the RDMA device (mlx5_0).";
        (Meaning::Odd, "No RoCEv2 in this capture.", aside)
    } else if queue_pairs.is_empty() {
        let aside = "Without --host, --qpn and --opcode every flow is shown.";
        (Meaning::Odd, "No flow is like that.", aside)
    } else if missed(HealthEvent::FlowEvictedFlows) {
        let aside = "Many were dropped to make room: raise --max-flows.";
        (Meaning::Odd, "Nothing stands out in the flows that were kept.", aside)
    } else {
        return write_good(report, out);
    };
    writeln!(out, "{}", sentence::bullet(meaning, text))?;
    if aside.is_empty() { Ok(()) } else { writeln!(out, "{}", sentence::aside(aside)) }
}

/// Says that nothing is wrong, as far as was looked.
pub(super) fn write_good(report: &Report, out: &mut impl Write) -> io::Result<()> {
    let text = "Nothing stands out that costs much speed.";
    writeln!(out, "{}", sentence::bullet(Meaning::Good, text))?;
    let kinds = match report.findings_not_checked.len() {
        0 => return Ok(()),
        1 => "1 kind of finding was".to_owned(),
        several => format!("{several} kinds of findings were"),
    };
    let aside = format!("{kinds} not looked for; the last lines say what that needs.");
    writeln!(out, "{}", sentence::aside(&aside))
}
