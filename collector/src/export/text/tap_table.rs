//! Where the frames were captured: files, interfaces, and the hosts on whose links they are.

use std::io::{self, Write};

use super::label;
use super::options::TextOptions;
use super::quantity::count;
use super::table::{Column, render};
use railscope_core::report::Report;
use railscope_core::report::taps::TapReport;

/// Writes the taps if there are several.
pub(super) fn write(
    report: &Report,
    options: &TextOptions,
    out: &mut impl Write,
) -> io::Result<()> {
    if report.taps.len() < 2 {
        return Ok(());
    }
    let shown = &report.taps[..report.taps.len().min(options.top)];
    let column = |cell: &dyn Fn(&TapReport) -> String| shown.iter().map(cell).collect();
    let some = |value: u64| if value == 0 { String::new() } else { count(value) };
    let columns = vec![
        Column::numbers("TAP", column(&|tap| tap.id.to_string())),
        Column::words("FILE", column(&|tap| label::file(&tap.file, options.path_width()))),
        Column::words(
            "INTERFACE",
            column(&|tap| interface(tap).map(label::name).unwrap_or_default()),
        )
        .spare(1),
        Column::numbers("FRAMES", column(&|tap| count(tap.frames))),
        Column::numbers("LOST", column(&|tap| some(tap.lost_frames))),
        Column::words("LINK OF", column(&link_of)),
    ];
    writeln!(out, "\n{}", render(columns, options.width))?;
    options.write_more(report.taps.len(), out)
}

/// Its name, unless the file has the same.
fn interface(tap: &TapReport) -> Option<&str> {
    tap.interface.as_deref().filter(|name| *name != tap.file)
}

/// The hosts on whose own link the tap is: the first, and how many more.
fn link_of(tap: &TapReport) -> String {
    match tap.hosts_near.as_slice() {
        [] => String::new(),
        [host] => host.address.clone(),
        [host, others @ ..] => format!("{} +{}", host.address, others.len()),
    }
}
