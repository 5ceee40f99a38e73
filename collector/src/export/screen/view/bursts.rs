//! Bursts by port, the busiest first; if the line rate is unknown, peaks only.

use std::cmp::Reverse;

use crate::export::screen::grid::{Cell, Grid, Row, Tone, numbers, words};
use crate::filter::Facts;
use railscope_core::report::Report;
use railscope_core::report::bursts::{BurstDirection, BurstPort};
use railscope_core::report::places::{Plane, PortReport};
use railscope_core::report::words::number::{bit_rate, count, duration};

pub(super) fn grid(report: &Report) -> Grid {
    match report.bursts.as_deref() {
        Some([narrow, ..]) => Grid {
            headings: vec![
                words("PORT"),
                words("DIRECTION"),
                numbers("TAP"),
                numbers("PEAK 100 us"),
                numbers("BURSTS"),
                numbers("LONGEST"),
                numbers("IN BURSTS"),
                numbers("INCAST"),
                numbers("CE IN BURSTS"),
                numbers("CE"),
            ],
            rows: narrow.ports.iter().map(burst).collect(),
            empty: "No RoCE yet.".to_owned(),
            is_list: false,
        },
        _ => peaks(report),
    }
}

fn burst(port: &BurstPort) -> Row {
    let direction = match port.direction {
        BurstDirection::Tx => "TX",
        BurstDirection::Rx => "RX",
    };
    Row {
        cells: vec![
            Cell::word(port.address.as_str()),
            Cell::word(direction),
            Cell::number(port.tap.to_string(), u64::from(port.tap)),
            Cell::some(Some(port.peak_bps), |bps| bit_rate(bps as f64)),
            Cell::some(Some(port.bursts), count),
            Cell::some(Some(port.longest_ns), duration),
            Cell::some(Some(port.time_above_ns), duration),
            Cell::some(Some(u64::from(port.max_incast_flows)), count),
            Cell::some(Some(port.ce_in_bursts), count),
            Cell::some(Some(port.ce_total), count),
        ],
        tone: if port.bursts > 0 { Tone::Odd } else { Tone::Plain },
        detail: format!(
            "{} {direction}: {} above the burst threshold, measured over 100 us",
            port.address,
            duration(port.time_above_ns)
        ),
        facts: Facts::default().address("host", [&port.address, ""]),
    }
}

fn peaks(report: &Report) -> Grid {
    let mut ports: Vec<&PortReport> =
        report.ports.iter().filter(|port| port.plane == Plane::Backend).collect();
    let most = |port: &PortReport| port.peaks.tx_100us_bps.max(port.peaks.rx_100us_bps);
    ports.sort_by_key(|port| Reverse(most(port)));
    Grid {
        headings: vec![
            words("PORT"),
            words("HOST"),
            numbers("TX 1 ms"),
            numbers("TX 100 us"),
            numbers("RX 1 ms"),
            numbers("RX 100 us"),
        ],
        rows: ports.into_iter().map(peak).collect(),
        empty: "No RoCE yet.".to_owned(),
        is_list: false,
    }
}

fn peak(port: &PortReport) -> Row {
    let rate = |bps: u64| Cell::some(Some(bps), |bps| bit_rate(bps as f64));
    let peaks = &port.peaks;
    Row {
        cells: vec![
            Cell::word(port.address.as_str()),
            Cell::word(port.host.clone().unwrap_or_default()),
            rate(peaks.tx_1ms_bps),
            rate(peaks.tx_100us_bps),
            rate(peaks.rx_1ms_bps),
            rate(peaks.rx_100us_bps),
        ],
        tone: Tone::Plain,
        detail: "Peaks only: bursts need the line rate (--line-rate 400G)".to_owned(),
        facts: Facts::default().address("host", [&port.address, ""]),
    }
}
