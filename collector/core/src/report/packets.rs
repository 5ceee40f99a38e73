//! Packets, one by one, as `railscope packets` shows them.

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::Serialize;

use crate::decode::packet::{Body, Packet, SflowDatagram, TcpSegment, Tunnel};
use crate::decode::pause::Pause;
use crate::decode::roce::aeth::{Aeth, NakCode, Syndrome, rnr_timer_ns};
use crate::decode::roce::connection_manager::{CommunicationIds, ConnectionMessage};
use crate::decode::roce::packet::RocePacket;
use crate::model::ecn::Ecn;
use crate::model::frame::Frame;
use crate::model::time::Timestamp;

/// One packet. Keys of absent headers are left out.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PacketReport {
    /// Number of the frame in its file, from 1.
    pub frame: u64,
    /// The tap that saw it.
    pub tap: u32,
    /// Time relative to the first frame.
    pub time_ns: i64,
    /// Bytes on the wire, without a mirror session's headers.
    pub wire_bytes: u32,
    /// Source address: IP, else Ethernet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub src: Option<String>,
    /// Destination address: IP, else Ethernet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dst: Option<String>,
    /// Differentiated services codepoint.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dscp: Option<u8>,
    /// `not_ect`, `ect0`, `ect1` or `ce`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ecn: Option<String>,
    /// Tunnels around it, outermost first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tunnels: Vec<String>,
    /// `roce`, `pause`, `tcp`, `udp`, `ip`, `other` or `unread`.
    pub kind: String,
    /// What it is if not RoCE: ports, pause times, protocol numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// RoCE headers.
    #[serde(flatten)]
    pub roce: Option<RoceReport>,
    /// Why a header could not be decoded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop: Option<String>,
    /// What an analysis of the whole input knows of it.
    #[serde(flatten)]
    pub context: Option<PacketContext>,
}

/// What an analysis of the whole input knows of a packet. Keys that it does not know are left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PacketContext {
    /// The flow's `id` in the report.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flow: Option<u32>,
    /// NCCL rank that sends it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub src_rank: Option<u32>,
    /// NCCL rank that receives it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dst_rank: Option<u32>,
    /// NCCL channel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channel: Option<u32>,
    /// `id` of the collective whose message or CTS it belongs to, among those of the report.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub collective: Option<u32>,
    /// `iteration` of the training step.
    #[serde(rename = "step", skip_serializing_if = "Option::is_none")]
    pub iteration: Option<u32>,
    /// It was sent before.
    pub retransmitted: bool,
    /// Its sender is the rank that was late in the collective.
    pub late: bool,
}

/// The headers of a RoCE packet.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RoceReport {
    /// UDP source port.
    pub udp_src_port: u16,
    /// `RC`, `UC`, `RD`, `UD`, `XRC`, `CNP` or `OTHER`.
    pub transport: String,
    /// Opcode, named as in Linux's `rdma/ib_pack.h` without transport.
    pub opcode: String,
    /// Destination QPN.
    pub dest_qpn: u32,
    /// Packet sequence number.
    pub psn: u32,
    /// Partition key (P_Key).
    pub partition_key: u16,
    /// The sender requests an ACK.
    pub ack_request: bool,
    /// Payload bytes on the wire.
    pub payload_bytes: u32,
    /// QPN that sent it (DETH).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_qpn: Option<u32>,
    /// Remote address in hexadecimal: 64 bits do not fit a JSON number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub virtual_address: Option<String>,
    /// R_Key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remote_key: Option<u32>,
    /// Bytes of the whole message (RETH).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dma_len: Option<u32>,
    /// AETH syndrome in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub syndrome: Option<String>,
    /// Message sequence number (AETH).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub msn: Option<u32>,
    /// Immediate data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub immediate: Option<u32>,
    /// R_Key that the receiver invalidates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub invalidated_key: Option<u32>,
    /// Management datagram in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub management: Option<String>,
}

impl PacketReport {
    /// What was decoded of `frame`; the time is relative to `origin`.
    #[must_use]
    pub fn new(frame: &Frame<'_>, packet: &Packet<'_>, origin: Timestamp) -> Self {
        let (src, dst) = match (&packet.ip, &packet.ethernet) {
            (Some(ip), _) => (Some(ip.source.to_string()), Some(ip.destination.to_string())),
            (None, Some(ethernet)) => (
                Some(ethernet.source.to_string()),
                ethernet.destination.map(|destination| destination.to_string()),
            ),
            (None, None) => (None, None),
        };
        Self {
            frame: frame.number,
            tap: frame.tap.0,
            time_ns: frame.time.relative_to(origin),
            wire_bytes: packet.wire_len,
            src,
            dst,
            dscp: packet.ip.map(|ip| ip.dscp().value()),
            ecn: packet.ip.map(|ip| ecn_name(ip.ecn()).to_owned()),
            tunnels: packet.tunnels.iter().flatten().map(tunnel_name).collect(),
            kind: kind_name(&packet.body).to_owned(),
            text: describe(packet),
            roce: match &packet.body {
                Body::Roce(roce) => Some(RoceReport::new(roce)),
                _ => None,
            },
            stop: packet.stop.map(|stop| stop.to_string()),
            context: None,
        }
    }
}

impl RoceReport {
    fn new(roce: &RocePacket<'_>) -> Self {
        let address = roce.reth.map(|reth| (reth.virtual_address, reth.remote_key));
        let address =
            address.or(roce.atomic.map(|atomic| (atomic.virtual_address, atomic.remote_key)));
        Self {
            udp_src_port: roce.udp_source_port,
            transport: roce.bth.opcode.transport().name().to_owned(),
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
            invalidated_key: roce.ieth.map(|ieth| ieth.remote_key),
            management: describe_management(roce),
        }
    }
}

/// What a packet that is not RoCE carries, in words.
fn describe(packet: &Packet<'_>) -> Option<String> {
    Some(match &packet.body {
        Body::Unread | Body::Roce(_) => return None,
        Body::Pause(pause) => describe_pause(pause),
        Body::Tcp(TcpSegment { ports, .. })
        | Body::Sflow(SflowDatagram { ports, .. })
        | Body::Udp(ports) => {
            format!("port {} > {}", ports.source, ports.destination)
        }
        Body::OtherIp => format!("protocol {}", packet.ip.map_or(0, |ip| ip.protocol)),
        Body::Other(ether_type) => format!("EtherType {ether_type:#06x}"),
    })
}

fn describe_pause(pause: &Pause) -> String {
    match pause {
        Pause::Link { quanta } => format!("link quanta {quanta}"),
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

/// The management datagram, in words; `None` if there is none or it cannot be decoded.
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

/// Why a request was refused, in words.
#[must_use]
pub const fn nak_name(code: NakCode) -> &'static str {
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
        Tunnel::Geneve { network_identifier } => format!("Geneve {network_identifier}"),
        Tunnel::Mpls { label } => format!("MPLS {label}"),
        Tunnel::IpInIp => "IP in IP".to_owned(),
        Tunnel::Mirror { protocol } => format!("mirror {protocol:#06x}"),
        Tunnel::Gre { protocol } => format!("GRE {protocol:#06x}"),
        Tunnel::ErspanI => "ERSPAN".to_owned(),
        Tunnel::ErspanII { session, .. } | Tunnel::ErspanIII { session, .. } => {
            format!("ERSPAN {session}")
        }
    }
}

const fn kind_name(body: &Body<'_>) -> &'static str {
    match body {
        Body::Unread => "unread",
        Body::Roce(_) => "roce",
        Body::Pause(_) => "pause",
        Body::Tcp(_) => "tcp",
        Body::Udp(_) | Body::Sflow(_) => "udp",
        Body::OtherIp => "ip",
        Body::Other(_) => "other",
    }
}

const fn ecn_name(ecn: Ecn) -> &'static str {
    match ecn {
        Ecn::NotEct => "not_ect",
        Ecn::Ect0 => "ect0",
        Ecn::Ect1 => "ect1",
        Ecn::Ce => "ce",
    }
}
