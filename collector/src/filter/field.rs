//! The fields of a packet that a filter may ask for.

use std::net::IpAddr;

use super::subject::Subject;
use railscope_core::decode::packet::{Body, SflowDatagram};
use railscope_core::decode::roce::aeth::Syndrome;
use railscope_core::decode::roce::packet::RocePacket;
use railscope_core::model::ecn::Ecn;
use railscope_core::model::opcode::{Opcode, Operation, Traits};

/// What can be compared with a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldKind {
    /// Holds or does not.
    Flag,
    /// A whole number.
    Number,
    /// A time after the first frame of the input.
    Time,
    /// An address or a prefix.
    Address,
    /// A name.
    Name,
}

/// A field.
pub struct Field {
    /// Its name.
    pub name: &'static str,
    /// What it is compared with.
    pub kind: FieldKind,
    /// What it is.
    pub about: &'static str,
    /// Names that it can have; empty for opcodes, which are many.
    pub names: &'static [&'static str],
    /// Only an analysis of the whole input knows it.
    pub is_learned: bool,
    pub(super) read: fn(&Subject<'_>) -> Content,
}

/// What a packet has of a field; it may have two values.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Content {
    Flag(bool),
    Numbers([Option<i128>; 2]),
    Addresses([Option<IpAddr>; 2]),
    Name(Option<String>),
}

impl Field {
    /// A test on it, as one would write it.
    #[must_use]
    pub fn example(&self) -> String {
        let name = self.name;
        match (self.kind, name) {
            (FieldKind::Flag, _) => name.to_owned(),
            (FieldKind::Number, "port") => "port == 4791".to_owned(),
            (FieldKind::Number, "size" | "payload") => format!("{name} > 1000"),
            (FieldKind::Number, "qp" | "psn" | "pkey") => format!("{name} == 0x17"),
            (FieldKind::Number, _) => format!("{name} == 3"),
            (FieldKind::Time, _) => format!("{name} > 1.5s"),
            (FieldKind::Address, _) => format!("{name} in 10.0.0.0/24"),
            (FieldKind::Name, _) => {
                format!("{name} == {}", self.names.last().unwrap_or(&"ACKNOWLEDGE"))
            }
        }
    }
}

impl std::fmt::Debug for Field {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

const fn field(
    name: &'static str,
    kind: FieldKind,
    about: &'static str,
    read: fn(&Subject<'_>) -> Content,
) -> Field {
    Field { name, kind, about, names: &[], is_learned: false, read }
}

const fn learned(
    name: &'static str,
    kind: FieldKind,
    about: &'static str,
    read: fn(&Subject<'_>) -> Content,
) -> Field {
    Field { is_learned: true, ..field(name, kind, about, read) }
}

const fn named(
    name: &'static str,
    names: &'static [&'static str],
    about: &'static str,
    read: fn(&Subject<'_>) -> Content,
) -> Field {
    Field { names, ..field(name, FieldKind::Name, about, read) }
}

/// All fields, as help shows them.
pub static FIELDS: [Field; 41] = [
    field("roce", FieldKind::Flag, "RoCEv2, RoCE v1 or InfiniBand", |one| {
        Content::Flag(one.roce().is_some())
    }),
    field("tcp", FieldKind::Flag, "TCP", |one| is(one, |body| matches!(body, Body::Tcp(_)))),
    field("udp", FieldKind::Flag, "UDP other than RoCEv2", |one| {
        is(one, |body| matches!(body, Body::Udp(_) | Body::Sflow(_)))
    }),
    field("pause", FieldKind::Flag, "a PFC or 802.3x pause frame", |one| {
        is(one, |body| matches!(body, Body::Pause(_)))
    }),
    field("mirrored", FieldKind::Flag, "a switch mirrored it (ERSPAN and the like)", |one| {
        Content::Flag(one.packet.mirrored_by.is_some())
    }),
    field("cut", FieldKind::Flag, "a header could not be read", |one| {
        Content::Flag(one.packet.stop.is_some())
    }),
    field("ack", FieldKind::Flag, "a positive acknowledgement without data", |one| {
        let is_alone =
            |roce: &RocePacket<'_>| roce.bth.opcode.operation() == Some(Operation::Acknowledge);
        let is_positive = syndrome(one, |syndrome| matches!(syndrome, Syndrome::Ack { .. }));
        Content::Flag(one.roce().is_some_and(is_alone) && is_positive == Content::Flag(true))
    }),
    field("nak", FieldKind::Flag, "a NAK other than receiver not ready", |one| {
        syndrome(one, |syndrome| matches!(syndrome, Syndrome::Nak(_)))
    }),
    field("rnr", FieldKind::Flag, "a receiver-not-ready NAK", |one| {
        syndrome(one, |syndrome| matches!(syndrome, Syndrome::RnrNak { .. }))
    }),
    field("cnp", FieldKind::Flag, "a congestion notification packet", |one| {
        Content::Flag(one.roce().is_some_and(|roce| roce.bth.opcode == Opcode::CNP))
    }),
    field("ce", FieldKind::Flag, "marked: congestion experienced", |one| {
        Content::Flag(one.packet.is_marked())
    }),
    field("first", FieldKind::Flag, "begins a message", |one| has(one, Traits::STARTS)),
    field("last", FieldKind::Flag, "ends a message", |one| has(one, Traits::ENDS)),
    learned("retransmitted", FieldKind::Flag, "a retransmission", |one| {
        Content::Flag(one.context.retransmitted)
    }),
    learned("late", FieldKind::Flag, "sent by the rank that was late in the collective", |one| {
        Content::Flag(one.context.late)
    }),
    field("host", FieldKind::Address, "IP address of either end", |one| {
        let ip = one.packet.ip;
        Content::Addresses([ip.map(|ip| ip.source), ip.map(|ip| ip.destination)])
    }),
    field("src", FieldKind::Address, "source IP address", |one| {
        Content::Addresses([one.packet.ip.map(|ip| ip.source), None])
    }),
    field("dst", FieldKind::Address, "destination IP address", |one| {
        Content::Addresses([one.packet.ip.map(|ip| ip.destination), None])
    }),
    field("switch", FieldKind::Address, "the switch that mirrored it", |one| {
        Content::Addresses([one.packet.mirrored_by, None])
    }),
    named("opcode", &[], "operation: RDMA_WRITE_FIRST, ACKNOWLEDGE, CNP, 0x81", |one| {
        Content::Name(one.roce().map(|roce| roce.bth.opcode.to_string()))
    }),
    named(
        "transport",
        &["RC", "UC", "RD", "UD", "XRC", "CNP"],
        "transport service of the opcode",
        |one| {
            let name = one.roce().map(|roce| roce.bth.opcode.transport().name().to_owned());
            Content::Name(name)
        },
    ),
    named(
        "ecn",
        &["NOT_ECT", "ECT0", "ECT1", "CE"],
        "ECN codepoint of the innermost IP header",
        |one| {
            let name = |ecn| match ecn {
                Ecn::NotEct => "NOT_ECT",
                Ecn::Ect0 => "ECT0",
                Ecn::Ect1 => "ECT1",
                Ecn::Ce => "CE",
            };
            Content::Name(one.packet.ip.map(|ip| name(ip.ecn()).to_owned()))
        },
    ),
    field(
        "qp",
        FieldKind::Number,
        "destination queue pair, or the source where the packet has it",
        |one| {
            let roce = one.roce();
            let source = roce.and_then(|roce| roce.deth).map(|deth| deth.source_qpn.value());
            numbers(roce.map(|roce| roce.bth.dest_qpn.value()), source)
        },
    ),
    field("psn", FieldKind::Number, "packet sequence number", |one| {
        numbers(one.roce().map(|roce| roce.bth.psn.value()), None)
    }),
    field("pkey", FieldKind::Number, "partition key", |one| {
        numbers(one.roce().map(|roce| roce.bth.partition_key), None)
    }),
    field("immediate", FieldKind::Number, "immediate data", |one| {
        numbers(one.roce().and_then(|roce| roce.immediate).map(|immediate| immediate.0), None)
    }),
    field("payload", FieldKind::Number, "payload bytes", |one| match &one.packet.body {
        Body::Roce(roce) => numbers(Some(roce.payload_len), None),
        Body::Tcp(segment) => numbers(Some(segment.payload_len), None),
        _ => numbers::<u32>(None, None),
    }),
    field("port", FieldKind::Number, "UDP or TCP port of either end", |one| {
        match &one.packet.body {
            Body::Roce(roce) => {
                let source = Some(roce.udp_source_port).filter(|port| *port != 0);
                numbers(source, source.map(|_| 4791))
            }
            Body::Tcp(segment) => {
                numbers(Some(segment.ports.source), Some(segment.ports.destination))
            }
            Body::Sflow(SflowDatagram { ports, .. }) | Body::Udp(ports) => {
                numbers(Some(ports.source), Some(ports.destination))
            }
            _ => numbers::<u16>(None, None),
        }
    }),
    field("dscp", FieldKind::Number, "differentiated services codepoint", |one| {
        numbers(one.packet.ip.map(|ip| ip.dscp().value()), None)
    }),
    field("vlan", FieldKind::Number, "VLAN identifiers", |one| {
        let [outer, inner] = one.packet.vlans.map(|tag| tag.map(|tag| tag.id));
        numbers(outer, inner)
    }),
    field("size", FieldKind::Number, "bytes of the frame on the wire", |one| {
        numbers(Some(one.packet.wire_len), None)
    }),
    field("tap", FieldKind::Number, "number of the tap", |one| {
        numbers(Some(one.frame.tap.0), None)
    }),
    field("frame", FieldKind::Number, "number of the frame in its file", |one| {
        Content::Numbers([Some(one.frame.number.into()), None])
    }),
    field("time", FieldKind::Time, "time after the first frame: 1.5s, 200ms", |one| {
        Content::Numbers([Some(one.frame.time.relative_to(one.origin).into()), None])
    }),
    learned("rank", FieldKind::Number, "NCCL rank at either end", |one| {
        numbers(one.context.src_rank, one.context.dst_rank)
    }),
    learned("src_rank", FieldKind::Number, "NCCL rank that sends it", |one| {
        numbers(one.context.src_rank, None)
    }),
    learned("dst_rank", FieldKind::Number, "NCCL rank that receives it", |one| {
        numbers(one.context.dst_rank, None)
    }),
    learned(
        "peer",
        FieldKind::Number,
        "as rank, for the other end: rank == 3 and peer == 4",
        |one| numbers(one.context.src_rank, one.context.dst_rank),
    ),
    learned("channel", FieldKind::Number, "NCCL channel", |one| numbers(one.context.channel, None)),
    learned("collective", FieldKind::Number, "number of the collective it belongs to", |one| {
        numbers(one.context.collective, None)
    }),
    learned("step", FieldKind::Number, "number of the training step", |one| {
        numbers(one.context.iteration, None)
    }),
];

/// The field with this name.
pub(super) fn find(name: &str) -> Option<&'static Field> {
    FIELDS.iter().find(|field| field.name.eq_ignore_ascii_case(name))
}

/// What other columns, options and tools call a field.
const ELSEWHERE: [(&str, &str); 15] = [
    ("qpn", "qp"),
    ("dest_qpn", "qp"),
    ("partition_key", "pkey"),
    ("payload_bytes", "payload"),
    ("wire_bytes", "size"),
    ("len", "size"),
    ("frame.len", "size"),
    ("ip", "host"),
    ("ip.addr", "host"),
    ("ip.src", "src"),
    ("ip.dst", "dst"),
    ("tcp.port", "port"),
    ("udp.port", "port"),
    ("iteration", "step"),
    ("syndrome", "nak"),
];

/// The field that is meant by a name that is none.
pub(super) fn meant(name: &str) -> Option<&'static str> {
    let elsewhere = ELSEWHERE.iter().find(|(other, _)| other.eq_ignore_ascii_case(name));
    let names = || FIELDS.iter().map(|field| field.name);
    elsewhere.map(|(_, own)| *own).or_else(|| alike(&name.to_ascii_lowercase(), names()))
}

/// Similarity above which a name counts as a typo of another (Jaro-Winkler, from 0 to 1).
const ALIKE: f64 = 0.8;

/// The name that is most like `wanted`.
pub(super) fn alike<'n>(wanted: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let rated = names.map(|name| (strsim::jaro_winkler(name, wanted), name));
    let best = rated.max_by(|(one, _), (other, _)| one.total_cmp(other))?;
    (best.0 >= ALIKE).then_some(best.1)
}

fn is(one: &Subject<'_>, holds: fn(&Body<'_>) -> bool) -> Content {
    Content::Flag(holds(&one.packet.body))
}

fn has(one: &Subject<'_>, trait_: Traits) -> Content {
    Content::Flag(one.roce().is_some_and(|roce| roce.bth.opcode.traits().has(trait_)))
}

fn syndrome(one: &Subject<'_>, holds: fn(Syndrome) -> bool) -> Content {
    let aeth = one.roce().and_then(|roce| roce.aeth);
    Content::Flag(aeth.is_some_and(|aeth| holds(aeth.syndrome)))
}

fn numbers<N: Into<i128>>(one: Option<N>, other: Option<N>) -> Content {
    Content::Numbers([one.map(Into::into), other.map(Into::into)])
}
