//! One line of text per packet, like tcpdump for RoCE.

use std::io::{self, Write};

use railscope_core::report::packets::{PacketContext, PacketReport, RoceReport};

/// Writes a packet as one line: frame number, tap, seconds, addresses, summary.
///
/// # Errors
///
/// When writing fails.
pub fn write(packet: &PacketReport, mut out: impl Write) -> io::Result<()> {
    let sign = if packet.time_ns < 0 { "-" } else { "" };
    let nanos = packet.time_ns.unsigned_abs();
    let (seconds, nanos) = (nanos / 1_000_000_000, nanos % 1_000_000_000);
    write!(out, "{:>7} {} {sign}{seconds}.{nanos:09} ", packet.frame, packet.tap)?;
    for tunnel in &packet.tunnels {
        write!(out, "{tunnel} ")?;
    }
    if let Some(src) = &packet.src {
        write!(out, "{src} > {} ", packet.dst.as_deref().unwrap_or("?"))?;
    }
    match &packet.roce {
        Some(roce) => write_roce(roce, &mut out)?,
        None => write!(out, "{}", packet.kind.to_uppercase())?,
    }
    if let Some(text) = &packet.text {
        write!(out, " {text} len {}", packet.wire_bytes)?;
    }
    if packet.ecn.as_deref() == Some("ce") {
        write!(out, " CE")?;
    }
    if let Some(context) = &packet.context {
        write_context(context, &mut out)?;
    }
    if let Some(stop) = &packet.stop {
        write!(out, " [{stop}]")?;
    }
    writeln!(out)
}

fn write_context(context: &PacketContext, out: &mut impl Write) -> io::Result<()> {
    if let Some((from, to)) = context.src_rank.zip(context.dst_rank) {
        write!(out, " rank {from} > {to}")?;
    }
    let numbers = [
        ("channel", context.channel),
        ("collective", context.collective),
        ("step", context.iteration),
    ];
    for (name, number) in numbers {
        if let Some(number) = number {
            write!(out, " {name} {number}")?;
        }
    }
    for (name, holds) in [("retransmitted", context.retransmitted), ("late", context.late)] {
        if holds {
            write!(out, " {name}")?;
        }
    }
    Ok(())
}

fn write_roce(roce: &RoceReport, out: &mut impl Write) -> io::Result<()> {
    let RoceReport { transport, opcode, dest_qpn, psn, .. } = roce;
    write!(out, "{transport} {opcode} qp {dest_qpn:#x} psn {psn}")?;
    if roce.ack_request {
        write!(out, " ackreq")?;
    }
    if let Some(source_qpn) = roce.source_qpn {
        write!(out, " from qp {source_qpn:#x}")?;
    }
    if let Some((address, key)) = roce.virtual_address.as_ref().zip(roce.remote_key) {
        write!(out, " va {address} rkey {key:#x}")?;
    }
    if let Some(dma_len) = roce.dma_len {
        write!(out, " dma_len {dma_len}")?;
    }
    if let Some((syndrome, msn)) = roce.syndrome.as_ref().zip(roce.msn) {
        write!(out, " {syndrome} msn {msn}")?;
    }
    if let Some(immediate) = roce.immediate {
        write!(out, " imm {immediate:#x}")?;
    }
    if let Some(key) = roce.invalidated_key {
        write!(out, " invalidates rkey {key:#x}")?;
    }
    if roce.payload_bytes > 0 {
        write!(out, " payload {}", roce.payload_bytes)?;
    }
    match &roce.management {
        Some(management) => write!(out, " {management}"),
        None => Ok(()),
    }
}
