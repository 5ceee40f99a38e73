//! What a running capture shows.

use std::time::Duration;

use bytesize::ByteSize;

use crate::record::tally::Tally;
use railscope_core::report::words::number::count;

/// One line on a capture.
pub(super) fn line(tally: &Tally, elapsed: Duration, rate: f64, is_ring: bool) -> String {
    let mut parts = vec![
        clock(elapsed),
        format!("{} frames", count(tally.frames.get())),
        format!("{}/s", count(rate as u64)),
        format!("lost {}", count(tally.lost())),
    ];
    let size = ByteSize(tally.disk_bytes.get()).display().si().to_string();
    match is_ring {
        true => parts.push(format!("ring {size}, {:.1} s", tally.span_ns() as f64 / 1e9)),
        false => parts.push(size),
    }
    if tally.unanalysed.get() > 0 {
        parts.push(format!("not analysed {}", count(tally.unanalysed.get())));
    }
    if tally.write_errors.get() > 0 {
        parts.push(format!("failed writes {}", count(tally.write_errors.get())));
    }
    parts.join("  ")
}

/// What was captured, at the end.
pub(super) fn summary(tally: &Tally, elapsed: Duration) -> Vec<String> {
    let mut lines = vec![format!(
        "captured {} frames in {:.1} s, lost {}",
        count(tally.frames.get()),
        elapsed.as_secs_f64(),
        count(tally.lost())
    )];
    let mut add = |frames: u64, text: &str| {
        if frames > 0 {
            lines.push(format!("  {} {text}", count(frames)));
        }
    };
    add(tally.filtered.get(), "frames left out by --filter");
    add(
        tally.kernel_lost.get(),
        "frames dropped by the kernel or the NIC: a ring was full (--buffer 256MiB; ethtool -G)",
    );
    add(tally.queue_lost.get(), "frames dropped by the recorder: the disk is too slow or full");
    add(tally.unanalysed.get(), "frames recorded, but not analysed live: the analysis was slower");
    add(tally.write_errors.get(), "failed writes to the ring");
    add(
        tally.crowded_out.get(),
        "segments removed before their time: the ring was full (--max-size)",
    );
    lines
}

/// `02:13`, `1:02:13`.
fn clock(time: Duration) -> String {
    let seconds = time.as_secs();
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match hours {
        0 => format!("{minutes:02}:{seconds:02}"),
        _ => format!("{hours}:{minutes:02}:{seconds:02}"),
    }
}
