//! Built frames through tshark: it reads the same fields and calls no frame malformed. This shows
//! that the builder is right; `opcodes` and `encapsulations` show that the decoder agrees with the
//! builder.

use std::collections::BTreeMap;

use super::{encapsulations, infiniband};
use crate::support::frame::{Built, FrameBuilder, INFINIBAND};
use crate::support::ip::Ipv4;
use crate::support::roce::{Header, Roce, meaning};
use crate::support::{mad, pcap, require, tshark};

/// tshark 4.0's names for the BTH fields, and the written values.
fn base_fields(written: &Roce) -> Vec<(&'static str, u64)> {
    vec![
        ("infiniband.bth.opcode", written.opcode.into()),
        ("infiniband.bth.se", written.solicited_event.into()),
        ("infiniband.bth.m", written.migration_request.into()),
        ("infiniband.bth.padcnt", written.pad_count().into()),
        ("infiniband.bth.tver", written.transport_version.into()),
        ("infiniband.bth.p_key", written.partition_key.into()),
        ("infiniband.bth.destqp", written.dest_qpn.into()),
        ("infiniband.bth.a", written.ack_request.into()),
        ("infiniband.bth.psn", written.psn.into()),
    ]
}

/// The same for an extension header; empty if tshark 4.0 does not know it.
fn extension_fields(written: &Roce, header: Header) -> Vec<(&'static str, u64)> {
    match header {
        Header::Rdeth => vec![("infiniband.rdeth.eecnxt", written.ee_context.into())],
        Header::Deth => vec![
            ("infiniband.deth.q_key", written.queue_key.into()),
            ("infiniband.deth.srcqp", written.source_qpn.into()),
        ],
        Header::Reth => vec![
            ("infiniband.reth.va", written.virtual_address),
            ("infiniband.reth.r_key", written.remote_key.into()),
            ("infiniband.reth.dmalen", written.dma_len.into()),
        ],
        Header::AtomicEth => vec![
            ("infiniband.atomiceth.swapdt", written.swap_or_add),
            ("infiniband.atomiceth.cmpdt", written.compare),
        ],
        Header::Aeth => vec![
            ("infiniband.aeth.syndrome", written.syndrome.into()),
            ("infiniband.aeth.msn", written.msn.into()),
        ],
        Header::AtomicAckEth => {
            vec![("infiniband.atomicacketh.origremdt", written.original_value)]
        }
        Header::Xrceth | Header::Feth | Header::ImmDt | Header::Ieth => vec![],
    }
}

/// tshark shows immediate data and the invalidated key as byte strings.
const BYTE_STRINGS: [&str; 2] = ["infiniband.immdt", "infiniband.ieth"];

fn byte_string_fields(written: &Roce, header: Header) -> Option<(&'static str, String)> {
    match header {
        Header::ImmDt => Some(("infiniband.immdt", format!("{:08x}", written.immediate))),
        Header::Ieth => Some(("infiniband.ieth", format!("{:08x}", written.invalidated_key))),
        _ => None,
    }
}

/// Whether tshark 4.0 knows the opcode's headers. It does not know XRC, CNP, FLUSH and ATOMIC
/// WRITE, and looks for the RDETH of RD eight bytes too late.
fn is_known_to_tshark(opcode: u8) -> bool {
    let meaning = meaning(opcode);
    matches!(meaning.transport, "RC" | "UC" | "UD")
        && meaning.name.is_some_and(|name| !matches!(name, "FLUSH" | "ATOMIC_WRITE"))
}

/// Every field that tshark shows for the frames, by name.
fn read(frames: &[Built]) -> Vec<BTreeMap<String, String>> {
    let mut names: Vec<&str> = vec!["_ws.malformed"];
    names.extend(BYTE_STRINGS);
    let all = Roce::new(0, 0);
    names.extend(base_fields(&all).iter().map(|(name, _)| name));
    for header in [
        Header::Rdeth,
        Header::Deth,
        Header::Reth,
        Header::AtomicEth,
        Header::Aeth,
        Header::AtomicAckEth,
    ] {
        names.extend(extension_fields(&all, header).iter().map(|(name, _)| name));
    }
    fields_of(frames, &names)
        .into_iter()
        .map(|row| names.iter().map(|name| (*name).to_owned()).zip(row).collect())
        .collect()
}

/// These fields of the frames, as tshark shows them.
fn fields_of(frames: &[Built], names: &[&str]) -> Vec<Vec<String>> {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), pcap::capture(frames)).unwrap();
    let rows = tshark::fields(file.path(), names);
    assert_eq!(rows.len(), frames.len());
    rows
}

fn assert_same(seen: &BTreeMap<String, String>, written: &Roce, what: &str) {
    assert_eq!(seen["_ws.malformed"], "", "{what}");
    for (field, value) in base_fields(written) {
        assert_eq!(tshark::number(&seen[field]), Some(value), "{what}: {field}");
    }
    for header in meaning(written.opcode).headers {
        for (field, value) in extension_fields(written, header) {
            assert_eq!(tshark::number(&seen[field]), Some(value), "{what}: {field}");
        }
        if let Some((field, value)) = byte_string_fields(written, header) {
            assert_eq!(seen[field], value, "{what}: {field}");
        }
    }
}

#[test]
fn every_opcode_that_tshark_knows() {
    if !require::has("every_opcode_that_tshark_knows", "tshark") {
        return;
    }
    let written: Vec<Roce> = (0..=255)
        .filter(|opcode| is_known_to_tshark(*opcode))
        .flat_map(|opcode| [0, 5, 256].map(|bytes| Roce::new(opcode, bytes)))
        .collect();
    let frames: Vec<Built> = written.iter().map(super::plain).collect();
    for (seen, written) in read(&frames).iter().zip(&written) {
        assert_same(seen, written, &format!("{written:?}"));
    }
}

#[test]
fn every_encapsulation() {
    if !require::has("every_encapsulation", "tshark") {
        return;
    }
    let mut by_link_type = BTreeMap::<u32, Vec<(&str, Built)>>::new();
    let written = Roce::new(0x0b, 8);
    // tshark knows no layout of SONiC's mirror header, and must be told which labels hold Ethernet.
    let is_unknown = |name: &str| name.starts_with("sonic") || name.starts_with("mpls of ethernet");
    let known = |(name, _): &(&str, FrameBuilder)| !is_unknown(name);
    for (name, frame) in encapsulations().into_iter().filter(known) {
        let built = frame.roce(&written).finish();
        by_link_type.entry(built.link_type).or_default().push((name, built));
    }
    for named in by_link_type.into_values() {
        let (names, frames): (Vec<_>, Vec<_>) = named.into_iter().unzip();
        for (seen, name) in read(&frames).iter().zip(names) {
            assert_same(seen, &written, name);
        }
    }
}

#[test]
fn without_udp() {
    if !require::has("without_udp", "tshark") {
        return;
    }
    let written = Roce::new(0x0b, 8);
    let mut by_link_type = BTreeMap::<u32, Vec<Built>>::new();
    // tshark reads InfiniBand in probes' records only.
    let known = |(_, built): &(&str, Built)| built.link_type != INFINIBAND;
    for (_, built) in infiniband::frames(&written).into_iter().filter(known) {
        by_link_type.entry(built.link_type).or_default().push(built);
    }
    for frames in by_link_type.into_values() {
        for seen in read(&frames) {
            assert_same(&seen, &written, "without UDP");
        }
    }
}

#[test]
fn tags_and_tunnels() {
    if !require::has("tags_and_tunnels", "tshark") {
        return;
    }
    let names = [
        "vlan.id",
        "vlan.priority",
        "vxlan.vni",
        "erspan.spanid",
        "gre.sequence_number",
        "gre.key",
    ];
    let expected = [
        ("qinq", [Some(100), Some(3), None, None, None, None]),
        ("three tags", [Some(3), Some(5), None, None, None, None]),
        ("vxlan", [None, None, Some(0x12_3456), None, None, None]),
        ("vxlan linux port", [None, None, Some(0x12_3456), None, None, None]),
        ("erspan I", [None, None, None, None, None, None]),
        ("erspan II", [None, None, None, Some(0x155), Some(7), None]),
        ("erspan III out, sub-header", [None, None, None, Some(0x2aa), Some(8), None]),
        ("erspan II of vxlan", [None, None, Some(0x12_3456), Some(0x155), Some(7), None]),
        ("gre ethernet, key", [None, None, None, None, None, Some(9)]),
        ("gre ipv6, sequence", [None, None, None, None, Some(1), None]),
    ];
    let all = encapsulations();
    let frames: Vec<Built> = expected
        .iter()
        .map(|(name, _)| {
            let (_, frame) = all.iter().find(|(other, _)| other == name).unwrap();
            frame.clone().roce(&Roce::new(0x11, 0)).finish()
        })
        .collect();
    for (row, (name, numbers)) in fields_of(&frames, &names).iter().zip(expected) {
        let seen: Vec<Option<u64>> = row.iter().map(|text| tshark::number(text)).collect();
        assert_eq!(seen, numbers, "{name}");
    }
}

#[test]
fn connection_manager_messages() {
    if !require::has("connection_manager_messages", "tshark") {
        return;
    }
    let attributes = [mad::REQ, mad::MRA, mad::REJ, mad::REP, mad::RTU, mad::DREQ, mad::DREP];
    let frames: Vec<Built> =
        attributes.iter().map(|attribute| super::plain(&mad::message(*attribute))).collect();
    let expected: [(usize, &str, u64); 14] = [
        (0, "infiniband.cm.req", mad::LOCAL_ID.into()),
        (0, "infiniband.cm.req.serviceid", mad::SERVICE_ID),
        (0, "infiniband.cm.req.localqpn", mad::LOCAL_QPN.into()),
        (0, "infiniband.cm.req.startpsn", mad::STARTING_PSN.into()),
        (0, "infiniband.cm.req.pkey", mad::PARTITION_KEY.into()),
        (0, "infiniband.cm.req.ip_cm.sport", mad::SOURCE_PORT.into()),
        (2, "infiniband.cm.rej.reason", 28),
        (3, "infiniband.cm.rep.remotecommid", mad::REMOTE_ID.into()),
        (3, "infiniband.cm.rep.localqpn", mad::LOCAL_QPN.into()),
        (3, "infiniband.cm.rep.startpsn", mad::STARTING_PSN.into()),
        (4, "infiniband.cm.rtu.localcommid", mad::LOCAL_ID.into()),
        (5, "infiniband.cm.dreq.localcommid", mad::LOCAL_ID.into()),
        (5, "infiniband.cm.req.remoteqpneecn", mad::LOCAL_QPN.into()),
        (6, "infiniband.cm.drsp.remotecommid", mad::REMOTE_ID.into()),
    ];
    let mut names = vec!["_ws.malformed", "infiniband.mad.attributeid"];
    names.extend(expected.map(|(_, name, _)| name));
    let rows = fields_of(&frames, &names);
    for (row, attribute) in rows.iter().zip(attributes) {
        assert_eq!(row[0], "", "attribute {attribute:#06x}");
        assert_eq!(tshark::number(&row[1]), Some(attribute.into()));
    }
    for (column, (frame, name, value)) in expected.iter().enumerate() {
        assert_eq!(tshark::number(&rows[*frame][column + 2]), Some(*value), "{name}");
    }
}

#[test]
fn pause_frames() {
    if !require::has("pause_frames", "tshark") {
        return;
    }
    let frames = [
        FrameBuilder::ethernet().pfc(0b1000, [0, 0, 0, 0xabcd, 0, 0, 0, 0]).finish(),
        FrameBuilder::ethernet().link_pause(0x1234).finish(),
    ];
    let names = [
        "_ws.malformed",
        "macc.opcode",
        "macc.pause_time",
        "macc.cbfc.enbv",
        "macc.cbfc.pause_time.c3",
    ];
    let rows = fields_of(&frames, &names);
    let numbers = |row: &[String]| -> Vec<Option<u64>> {
        row[1..].iter().map(|text| tshark::number(text)).collect()
    };
    assert_eq!(numbers(&rows[0]), [Some(0x0101), None, Some(0b1000), Some(0xabcd)]);
    assert_eq!(numbers(&rows[1]), [Some(0x0001), Some(0x1234), None, None]);
}

/// The builder computes the IPv4 checksum itself; tshark checks it on request.
#[test]
fn header_checksums() {
    if !require::has("header_checksums", "tshark") {
        return;
    }
    let options = Ipv4 { options: vec![1; 8], ..Ipv4::default() };
    let frames = [Ipv4::default(), options].map(|ip| {
        FrameBuilder::ethernet().ipv4(&ip).udp(49_152, 4791).roce(&Roce::new(4, 9)).finish()
    });
    let rows = fields_of(&frames, &["ip.checksum.status"]);
    assert!(rows.iter().all(|row| row[0] == "1"), "{rows:?}");
}
