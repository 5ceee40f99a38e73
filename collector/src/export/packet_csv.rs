//! Packets as comma-separated values (RFC 4180), for spreadsheets and pandas.

use std::io::{self, Write};

use railscope_core::report::packets::{PacketContext, PacketReport};

/// The names of the columns.
const COLUMNS: [&str; 22] = [
    "frame",
    "tap",
    "time_s",
    "src",
    "dst",
    "wire_bytes",
    "dscp",
    "ecn",
    "kind",
    "transport",
    "opcode",
    "dest_qpn",
    "psn",
    "syndrome",
    "flow",
    "src_rank",
    "dst_rank",
    "channel",
    "collective",
    "step",
    "retransmitted",
    "late",
];

/// Writes the line of names.
///
/// # Errors
///
/// When writing fails.
pub fn write_names(mut out: impl Write) -> io::Result<()> {
    writeln!(out, "{}", COLUMNS.join(","))
}

/// Writes a packet as one line; what it does not have is empty.
///
/// # Errors
///
/// When writing fails.
pub fn write(packet: &PacketReport, mut out: impl Write) -> io::Result<()> {
    let number = |value: Option<u64>| value.map(|value| value.to_string()).unwrap_or_default();
    let text = |value: Option<&str>| quoted(value.unwrap_or_default());
    let roce = packet.roce.as_ref();
    let context = |read: fn(&PacketContext) -> Option<u32>| {
        number(packet.context.as_ref().and_then(read).map(u64::from))
    };
    let values: [String; COLUMNS.len()] = [
        packet.frame.to_string(),
        packet.tap.to_string(),
        seconds(packet.time_ns),
        text(packet.src.as_deref()),
        text(packet.dst.as_deref()),
        packet.wire_bytes.to_string(),
        number(packet.dscp.map(u64::from)),
        text(packet.ecn.as_deref()),
        text(Some(&packet.kind)),
        text(roce.map(|roce| roce.transport.as_str())),
        text(roce.map(|roce| roce.opcode.as_str())),
        number(roce.map(|roce| roce.dest_qpn.into())),
        number(roce.map(|roce| roce.psn.into())),
        text(roce.and_then(|roce| roce.syndrome.as_deref())),
        context(|one| one.flow),
        context(|one| one.src_rank),
        context(|one| one.dst_rank),
        context(|one| one.channel),
        context(|one| one.collective),
        context(|one| one.iteration),
        context(|one| Some(one.retransmitted.into())),
        context(|one| Some(one.late.into())),
    ];
    writeln!(out, "{}", values.join(","))
}

fn seconds(time_ns: i64) -> String {
    let sign = if time_ns < 0 { "-" } else { "" };
    let nanos = time_ns.unsigned_abs();
    format!("{sign}{}.{:09}", nanos / 1_000_000_000, nanos % 1_000_000_000)
}

fn quoted(text: &str) -> String {
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn quotes_where_needed() {
        assert_eq!(quoted("NAK PSN sequence error"), "NAK PSN sequence error");
        assert_eq!(quoted("a,\"b\""), "\"a,\"\"b\"\"\"");
    }
}
