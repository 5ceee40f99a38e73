//! The ranks of a communicator: host, process, GPU, and the NICs that carry their data.

use std::io::{self, Write};

use super::label;
use super::options::TextOptions;
use super::table::{Column, render};
use railscope_core::report::communicators::{CommunicatorReport, NicReport, RankReport};

/// Writes the ranks of `communicator`.
pub(super) fn write(
    communicator: &CommunicatorReport,
    options: &TextOptions,
    out: &mut impl Write,
) -> io::Result<()> {
    let ranks = &communicator.ranks;
    if ranks.is_empty() {
        return Ok(());
    }
    let shown = &ranks[..ranks.len().min(options.top)];
    let column = |cell: &dyn Fn(&RankReport) -> String| shown.iter().map(cell).collect();
    let name = |rank: &RankReport| rank.host.as_deref().map(label::name).unwrap_or_default();
    let columns = vec![
        Column::numbers("RANK", column(&|rank| rank.rank.to_string())),
        Column::words("HOST", column(&name)),
        Column::words("ADDRESS", column(&|rank| rank.address.clone().unwrap_or_default())).spare(2),
        Column::numbers(
            "PID",
            column(&|rank| rank.pid.map(|pid| pid.to_string()).unwrap_or_default()),
        ),
        Column::words("GPU", column(&|rank| rank.bus_id.clone().unwrap_or_default())).spare(1),
        Column::words("NICS", column(&|rank| nics(&rank.nics, options))),
    ];
    writeln!(out, "{}", render(columns, options.width))?;
    options.write_more(ranks.len(), out)
}

/// `10.0.0.1 mlx5_0, 10.0.1.1 mlx5_1 +6`: as many as fit half of the line.
pub(super) fn nics(nics: &[NicReport], options: &TextOptions) -> String {
    let mut shown = String::new();
    for (at, nic) in nics.iter().enumerate() {
        let device = nic.device.as_deref().map(|device| format!(" {}", label::name(device)));
        let name = format!("{}{}", nic.address, device.unwrap_or_default());
        let comma = if at == 0 { "" } else { ", " };
        if at > 0 && shown.chars().count() + comma.len() + name.chars().count() > options.width / 2
        {
            return format!("{shown} +{}", nics.len() - at);
        }
        shown.push_str(comma);
        shown.push_str(&name);
    }
    shown
}
