//! One line a packet: a tcpdump that knows RoCE, for people or as JSON lines.

use std::fmt::Write as _;
use std::io::{self, Write};

use serde::Serialize;

use crate::decode::packet::{Body, Packet, Ports, Tunnel};
use crate::decode::pause::Pause;
use crate::decode::roce::aeth::{Aeth, NakCode, Syndrome, rnr_timer_ns};
use crate::decode::roce::connection_manager::{CommunicationIds, ConnectionMessage};
use crate::decode::roce::packet::RocePacket;
use crate::model::ecn::Ecn;
use crate::model::frame::Frame;
use crate::model::time::Timestamp;

/// Writes a packet as one line for people; times are seconds after `origin`.
///
/// # Errors
///
/// When writing fails.
pub fn write_text(
    frame: &Frame<'_>,
    packet: &Packet<'_>,
    origin: Timestamp,
    mut out: impl Write,
) -> io::Result<()> {
    let relative_ns = frame.time.as_nanos() as i64 - origin.as_nanos() as i64;
    let sign = if relative_ns < 0 { "-" } else { "" };
    let (seconds, nanos) =
        (relative_ns.unsigned_abs() / 1_000_000_000, relative_ns.unsigned_abs() % 1_000_000_000);
    write!(out, "{:>7} {} {sign}{seconds}.{nanos:09} ", frame.number, frame.tap.0)?;
    for tunnel in packet.tunnels.iter().flatten() {
        write!(out, "{} ", tunnel_name(tunnel))?;
    }
    if let Some(ip) = &packet.ip {
        write!(out, "{} > {} ", ip.source, ip.destination)?;
    } else if let Some(ethernet) = &packet.ethernet {
        write!(out, "{} > ", ethernet.source)?;
        match ethernet.destination {
            Some(destination) => write!(out, "{destination} ")?,
            None => write!(out, "? ")?,
        }
    }
    out.write_all(describe(packet).as_bytes())?;
    if let Some(ip) = packet.ip.filter(|ip| ip.ecn() == Ecn::Ce) {
        write!(out, " CE dscp {}", ip.dscp().value())?;
    }
    match &packet.stop {
        Some(stop) => writeln!(out, " [{stop}]"),
        None => writeln!(out),
    }
}

/// What the innermost packet carries, in words.
fn describe(packet: &Packet<'_>) -> String {
    match &packet.body {
        Body::Unread => "unread".to_owned(),
        Body::Roce(roce) => describe_roce(roce),
        Body::Pause(pause) => describe_pause(pause),
        Body::Tcp(ports) => describe_ports("TCP", *ports, packet.wire_len),
        Body::Udp(ports) => describe_ports("UDP", *ports, packet.wire_len),
        Body::OtherIp => {
            format!("IP protocol {}", packet.ip.map_or(0, |ip| ip.protocol))
        }
        Body::Other(ether_type) => format!("EtherType {ether_type:#06x}"),
    }
}

fn describe_ports(name: &str, ports: Ports, wire_len: u32) -> String {
    format!("{name} {} > {}, {wire_len} bytes", ports.source, ports.destination)
}

fn describe_pause(pause: &Pause) -> String {
    match pause {
        Pause::Link { quanta } => format!("PAUSE link quanta {quanta}"),
        Pause::Pfc { enabled, quanta } => {
            let mut line = "PFC".to_owned();
            for (priority, quanta) in quanta.iter().enumerate() {
                if enabled & (1 << priority) != 0 {
                    // Writing to a String does not fail.
                    let _ = write!(line, " priority {priority} quanta {quanta}");
                }
            }
            line
        }
    }
}

fn describe_roce(roce: &RocePacket<'_>) -> String {
    let bth = &roce.bth;
    let mut line = format!(
        "{} {} qp {} psn {}",
        bth.opcode.transport().name(),
        bth.opcode,
        bth.dest_qpn,
        bth.psn
    );
    if bth.ack_request {
        line.push_str(" ackreq");
    }
    append(&mut line, roce);
    line
}

/// The extension headers that are there. Writing to a `String` does not fail.
fn append(line: &mut String, roce: &RocePacket<'_>) {
    if let Some(deth) = roce.deth {
        let _ = write!(line, " from qp {}", deth.source_qpn);
    }
    if let Some(reth) = roce.reth {
        let _ = write!(
            line,
            " va {:#x} rkey {:#x} dma_len {}",
            reth.virtual_address, reth.remote_key, reth.dma_len
        );
    }
    if let Some(atomic) = roce.atomic {
        let _ = write!(
            line,
            " va {:#x} rkey {:#x} swap {:#x} compare {:#x}",
            atomic.virtual_address, atomic.remote_key, atomic.swap_or_add, atomic.compare
        );
    }
    if let Some(aeth) = roce.aeth {
        let _ = write!(line, " {} msn {}", syndrome(aeth), aeth.msn);
    }
    if let Some(answer) = roce.atomic_ack {
        let _ = write!(line, " was {:#x}", answer.original_value);
    }
    if let Some(immediate) = roce.immediate {
        let _ = write!(line, " imm {:#x}", immediate.0);
    }
    if let Some(ieth) = roce.ieth {
        let _ = write!(line, " invalidates rkey {:#x}", ieth.remote_key);
    }
    if roce.payload_len > 0 {
        let _ = write!(line, " payload {}", roce.payload_len);
    }
    if let Some(management) = describe_management(roce) {
        let _ = write!(line, " {management}");
    }
}

/// The management datagram, in words; `None` when there is none or it cannot be read.
fn describe_management(roce: &RocePacket<'_>) -> Option<String> {
    let datagram = roce.management()?.ok()?;
    let message = match datagram.connection_message() {
        Some(message) => message.ok()?,
        None => return Some(format!("MAD class {:#04x}", datagram.management_class)),
    };
    let pair = |ids: CommunicationIds| format!("id {:#x} for {:#x}", ids.local, ids.remote);
    Some(match message {
        ConnectionMessage::Req(req) => format!(
            "CM REQ id {:#x} qp {} starting psn {} service {:#x}",
            req.local_communication_id, req.local_qpn, req.starting_psn, req.service_id
        ),
        ConnectionMessage::Rep(rep) => {
            format!(
                "CM REP {} qp {} starting psn {}",
                pair(rep.ids),
                rep.local_qpn,
                rep.starting_psn
            )
        }
        ConnectionMessage::Rtu(rtu) => format!("CM RTU {}", pair(rtu.ids)),
        ConnectionMessage::Rej(rej) => format!("CM REJ {} reason {}", pair(rej.ids), rej.reason),
        ConnectionMessage::Mra(mra) => format!("CM MRA {}", pair(mra.ids)),
        ConnectionMessage::Dreq(dreq) => {
            format!("CM DREQ {} qp {}", pair(dreq.ids), dreq.remote_qpn)
        }
        ConnectionMessage::Drep(drep) => format!("CM DREP {}", pair(drep.ids)),
        ConnectionMessage::Other(attribute) => format!("CM attribute {attribute:#06x}"),
    })
}

fn syndrome(aeth: Aeth) -> String {
    match aeth.syndrome {
        Syndrome::Ack { .. } => "ACK".to_owned(),
        Syndrome::RnrNak { timer } => format!("RNR NAK wait {} us", rnr_timer_ns(timer) / 1000),
        Syndrome::Nak(code) => format!("NAK {}", nak_name(code)),
        Syndrome::Reserved(value) => format!("syndrome {value:#04x}"),
    }
}

const fn nak_name(code: NakCode) -> &'static str {
    match code {
        NakCode::PsnSequenceError => "PSN sequence error",
        NakCode::InvalidRequest => "invalid request",
        NakCode::RemoteAccessError => "remote access error",
        NakCode::RemoteOperationalError => "remote operational error",
        NakCode::InvalidRdRequest => "invalid RD request",
        NakCode::Reserved(_) => "reserved",
    }
}

fn tunnel_name(tunnel: &Tunnel) -> String {
    match tunnel {
        Tunnel::Vxlan { network_identifier } => format!("VXLAN {network_identifier}"),
        Tunnel::Gre { protocol } => format!("GRE {protocol:#06x}"),
        Tunnel::ErspanI => "ERSPAN".to_owned(),
        Tunnel::ErspanII { session, .. } | Tunnel::ErspanIII { session, .. } => {
            format!("ERSPAN {session}")
        }
    }
}

/// A packet as a JSON line. Keys of headers that a packet does not have are left out.
#[derive(Serialize)]
struct PacketLine {
    frame: u64,
    tap: u32,
    time_ns: i64,
    wire_bytes: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    src: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dst: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dscp: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ecn: Option<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tunnels: Vec<String>,
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none", flatten)]
    roce: Option<RoceLine>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stop: Option<String>,
}

#[derive(Serialize)]
struct RoceLine {
    udp_src_port: u16,
    transport: &'static str,
    opcode: String,
    dest_qpn: u32,
    psn: u32,
    partition_key: u16,
    ack_request: bool,
    payload_bytes: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    source_qpn: Option<u32>,
    /// In hexadecimal: 64 bits do not fit a JSON number.
    #[serde(skip_serializing_if = "Option::is_none")]
    virtual_address: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    remote_key: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dma_len: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    syndrome: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    msn: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    immediate: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    management: Option<String>,
}

/// Writes a packet as one JSON line; `time_ns` is relative to `origin`.
///
/// # Errors
///
/// When writing fails.
pub fn write_json(
    frame: &Frame<'_>,
    packet: &Packet<'_>,
    origin: Timestamp,
    mut out: impl Write,
) -> io::Result<()> {
    let roce = match &packet.body {
        Body::Roce(roce) => Some(roce_line(roce)),
        _ => None,
    };
    let line = PacketLine {
        frame: frame.number,
        tap: frame.tap.0,
        time_ns: frame.time.as_nanos() as i64 - origin.as_nanos() as i64,
        wire_bytes: packet.wire_len,
        src: packet.ip.map(|ip| ip.source.to_string()),
        dst: packet.ip.map(|ip| ip.destination.to_string()),
        dscp: packet.ip.map(|ip| ip.dscp().value()),
        ecn: packet.ip.map(|ip| match ip.ecn() {
            Ecn::NotEct => "not_ect",
            Ecn::Ect0 => "ect0",
            Ecn::Ect1 => "ect1",
            Ecn::Ce => "ce",
        }),
        tunnels: packet.tunnels.iter().flatten().map(tunnel_name).collect(),
        kind: match &packet.body {
            Body::Unread => "unread",
            Body::Roce(_) => "roce",
            Body::Pause(_) => "pause",
            Body::Tcp(_) => "tcp",
            Body::Udp(_) => "udp",
            Body::OtherIp => "ip",
            Body::Other(_) => "other",
        },
        roce,
        stop: packet.stop.map(|stop| stop.to_string()),
    };
    serde_json::to_writer(&mut out, &line)?;
    out.write_all(b"\n")
}

fn roce_line(roce: &RocePacket<'_>) -> RoceLine {
    let address = roce.reth.map(|reth| (reth.virtual_address, reth.remote_key));
    let address = address.or(roce.atomic.map(|atomic| (atomic.virtual_address, atomic.remote_key)));
    RoceLine {
        udp_src_port: roce.udp_source_port,
        transport: roce.bth.opcode.transport().name(),
        opcode: roce.bth.opcode.to_string(),
        dest_qpn: roce.bth.dest_qpn.value(),
        psn: roce.bth.psn.value(),
        partition_key: roce.bth.partition_key,
        ack_request: roce.bth.ack_request,
        payload_bytes: roce.payload_len,
        source_qpn: roce.deth.map(|deth| deth.source_qpn.value()),
        virtual_address: address.map(|(address, _)| format!("{address:#018x}")),
        remote_key: address.map(|(_, key)| key),
        dma_len: roce.reth.map(|reth| reth.dma_len),
        syndrome: roce.aeth.map(syndrome),
        msn: roce.aeth.map(|aeth| aeth.msn),
        immediate: roce.immediate.map(|immediate| immediate.0),
        management: describe_management(roce),
    }
}
