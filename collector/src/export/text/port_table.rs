//! The ports, the busiest first: peaks and bursts.

use std::cmp::Reverse;
use std::io::{self, Write};

use super::TextOptions;
use super::quantity::{bit_rate, count, duration, share};
use super::style::{Meaning, paint};
use super::table::{Column, render};
use crate::report::Report;
use crate::report::bursts::{BurstDirection, BurstPort, BurstReport};
use crate::report::places::{Plane, PortReport};

/// Writes the table of ports: bursts where the line rate is known, peaks elsewhere.
pub(super) fn write(
    report: &Report,
    options: &TextOptions,
    out: &mut impl Write,
) -> io::Result<()> {
    match report.bursts.as_deref() {
        Some([narrow, ..]) => write_bursts(narrow, options, out),
        _ => write_peaks(report, options, out),
    }
}

fn write_peaks(report: &Report, options: &TextOptions, out: &mut impl Write) -> io::Result<()> {
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
    let columns = vec![
        Column::words("PORT", column(&|port| port.address.clone())),
        Column::words("HOST", column(&|port| port.host.clone().unwrap_or_else(|| "-".to_owned()))),
        Column::numbers("TX peak 1 ms", column(&|port| bit_rate(port.peaks.tx_1ms_bps as f64))),
        Column::numbers("100 us", column(&|port| bit_rate(port.peaks.tx_100us_bps as f64))),
        Column::numbers("RX peak 1 ms", column(&|port| bit_rate(port.peaks.rx_1ms_bps as f64))),
        Column::numbers("100 us", column(&|port| bit_rate(port.peaks.rx_100us_bps as f64))),
    ];
    writeln!(out, "\n{}", render(columns))?;
    write_more(all, ports.len(), out)?;
    let hint = "bursts need the line rate: --line-rate 400G";
    writeln!(out, "{}", paint(Meaning::Aside, hint))
}

fn write_bursts(
    bursts: &BurstReport,
    options: &TextOptions,
    out: &mut impl Write,
) -> io::Result<()> {
    let mut ports: Vec<&BurstPort> = bursts.ports.iter().collect();
    ports.sort_by_key(|port| Reverse((port.bursts, port.peak_bps)));
    let all = ports.len();
    ports.truncate(options.top);
    let column =
        |cell: &dyn Fn(&BurstPort) -> String| ports.iter().map(|port| cell(port)).collect();
    let columns = vec![
        Column::words("PORT", column(&|port| port.address.clone())),
        Column::words(
            "",
            column(&|port| match port.direction {
                BurstDirection::Tx => "sends".to_owned(),
                BurstDirection::Rx => "receives".to_owned(),
            }),
        ),
        Column::numbers("PEAK 100 us", column(&|port| bit_rate(port.peak_bps as f64))),
        Column::numbers("BURSTS", column(&|port| count(port.bursts))),
        Column::numbers("LONGEST", column(&|port| duration(port.longest_ns))),
        Column::numbers("ABOVE 50 %", column(&|port| duration(port.time_above_ns))),
        Column::numbers("INCAST", column(&|port| format!("{} flows", port.max_incast_flows))),
        Column::optional(
            "CE IN BURSTS",
            column(&|port| match port.ce_total {
                0 => String::new(),
                total => share(port.ce_in_bursts, total),
            }),
        ),
    ];
    writeln!(out, "\n{}", render(columns))?;
    write_more(all, ports.len(), out)
}

fn write_more(all: usize, shown: usize, out: &mut impl Write) -> io::Result<()> {
    if all > shown {
        writeln!(out, "and {} more: --top {all}", all - shown)?;
    }
    Ok(())
}
