//! The ports, the busiest first, if their line rate is unknown.

use std::cmp::Reverse;
use std::io::{self, Write};

use super::label;
use super::options::TextOptions;
use super::quantity::bit_rate;
use super::sentence;
use super::style::Meaning;
use super::table::{Column, render};
use railscope_core::report::Report;
use railscope_core::report::places::{Plane, PortReport};

/// Writes the ports that carry RoCE.
pub(super) fn write(
    report: &Report,
    options: &TextOptions,
    out: &mut impl Write,
) -> io::Result<()> {
    let mut ports: Vec<&PortReport> =
        report.ports.iter().filter(|port| port.plane == Plane::Backend).collect();
    if ports.is_empty() {
        return Ok(());
    }
    ports.sort_by_key(|port| Reverse(port.peaks.tx_1ms_bps.max(port.peaks.rx_1ms_bps)));
    let all = ports.len();
    ports.truncate(options.top);
    let column =
        |cell: &dyn Fn(&PortReport) -> String| ports.iter().map(|port| cell(port)).collect();
    let rate = |of: fn(&PortReport) -> u64| {
        column(&|port| match of(port) {
            0 => "-".to_owned(),
            rate => bit_rate(rate as f64),
        })
    };
    let host = |port: &PortReport| port.host.as_deref().map(label::name).unwrap_or_default();
    let columns = vec![
        Column::words("PORT", column(&|port| port.address.clone())),
        Column::words("HOST", column(&host)).spare(1),
        Column::numbers("TX PEAK 1 ms", rate(|port| port.peaks.tx_1ms_bps)),
        Column::numbers("100 us", rate(|port| port.peaks.tx_100us_bps)),
        Column::numbers("RX PEAK 1 ms", rate(|port| port.peaks.rx_1ms_bps)),
        Column::numbers("100 us", rate(|port| port.peaks.rx_100us_bps)),
    ];
    writeln!(out, "\n{}", render(columns, options.width))?;
    options.write_more(all, out)?;
    let hint = "burst detection needs the line rate: --line-rate 400G";
    writeln!(out, "{}", sentence::painted(Meaning::Aside, hint, options.width))
}
