//! The ports of known line rate, the burstiest first; each direction as captured by its busiest tap.

use std::collections::BTreeMap;
use std::io::{self, Write};

use super::label;
use super::options::TextOptions;
use super::quantity::{bit_rate, count, counted, duration, share};
use super::sentence;
use super::style::Meaning;
use super::table::{Column, render};
use railscope_core::report::Report;
use railscope_core::report::bursts::{BurstDirection, BurstPort, BurstReport};
use railscope_core::report::places::{Plane, PortReport};

/// One direction of a port.
struct Row<'a> {
    port: &'a PortReport,
    burst: &'a BurstPort,
}

impl Row<'_> {
    /// A cell that is empty without bursts.
    fn in_bursts(&self, cell: impl Fn(&BurstPort) -> String) -> String {
        if self.burst.bursts == 0 { String::new() } else { cell(self.burst) }
    }
}

/// Writes the ports that carry RoCE.
pub(super) fn write(
    report: &Report,
    bursts: &BurstReport,
    options: &TextOptions,
    out: &mut impl Write,
) -> io::Result<()> {
    let mut rows = rows(report, bursts);
    if rows.is_empty() {
        return Ok(());
    }
    let all = rows.len();
    let any_burst = rows.iter().any(|row| row.burst.bursts > 0);
    rows.truncate(options.top);
    let column = |cell: &dyn Fn(&Row<'_>) -> String| rows.iter().map(cell).collect();
    let columns = vec![
        Column::words("PORT", column(&|row| row.port.address.clone())),
        Column::words("DIR", column(&|row| direction(row).to_owned())),
        Column::words(
            "HOST",
            column(&|row| row.port.host.as_deref().map(label::name).unwrap_or_default()),
        )
        .spare(2),
        Column::numbers("PEAK 100 us", column(&|row| bit_rate(row.burst.peak_bps as f64))),
        Column::numbers("OF LINE RATE", column(&of_line_rate)),
        Column::numbers("BURSTS", column(&|row| row.in_bursts(|burst| count(burst.bursts)))),
        Column::numbers(
            "LONGEST",
            column(&|row| row.in_bursts(|burst| duration(burst.longest_ns))),
        )
        .spare(3),
        Column::numbers(
            "IN BURSTS",
            column(&|row| row.in_bursts(|burst| duration(burst.time_above_ns))),
        ),
        Column::numbers("INCAST", column(&incast)).spare(1),
        Column::numbers(
            "CE IN BURSTS",
            column(&|row| match row.burst.ce_total {
                0 => String::new(),
                total => share(row.burst.ce_in_bursts, total),
            }),
        ),
    ];
    writeln!(out, "\n{}", render(columns, options.width))?;
    options.write_more(all, out)?;
    let threshold = bursts.threshold_of_line_rate * 100.0;
    let meaning = if any_burst {
        format!("burst: above {threshold:.0} % of the line rate for 100 us or more")
    } else {
        format!("no bursts: never above {threshold:.0} % of the line rate for 100 us")
    };
    writeln!(out, "{}", sentence::painted(Meaning::Aside, &meaning, options.width))
}

/// One row per port and direction, however many taps captured it.
fn rows<'a>(report: &'a Report, bursts: &'a BurstReport) -> Vec<Row<'a>> {
    let ports = report.ports.iter().filter(|port| port.plane == Plane::Backend);
    let ports: BTreeMap<&str, &PortReport> =
        ports.map(|port| (port.address.as_str(), port)).collect();
    let busiest = bursts.ports.iter().filter(|burst| burst.is_busiest_tap);
    let row = |burst: &'a BurstPort| Some(Row { port: ports.get(burst.address.as_str())?, burst });
    busiest.filter_map(row).collect()
}

fn direction(row: &Row<'_>) -> &'static str {
    match row.burst.direction {
        BurstDirection::Tx => "TX",
        BurstDirection::Rx => "RX",
    }
}

fn of_line_rate(row: &Row<'_>) -> String {
    row.port.line_rate_bps.map(|rate| share(row.burst.peak_bps, rate)).unwrap_or_default()
}

/// The incast degree, which only receiving ports have.
fn incast(row: &Row<'_>) -> String {
    match row.burst.direction {
        BurstDirection::Rx => counted(u64::from(row.burst.max_incast_flows), "flow"),
        BurstDirection::Tx => String::new(),
    }
}
