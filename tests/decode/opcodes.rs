//! All 256 opcodes: the headers of each, field by field.

use railscope_core::decode::roce::aeth::Syndrome;
use railscope_core::decode::roce::packet::RocePacket;
use railscope_core::model::opcode::{Opcode, Traits};

use super::{decode_whole, plain, roce};
use crate::support::roce::{Header, Roce, meaning};

#[test]
fn every_opcode_reads_the_fields_that_were_written() {
    for opcode in 0..=255 {
        for payload_bytes in [0, 1, 2, 3, 4, 255] {
            let written = Roce::new(opcode, payload_bytes);
            let built = plain(&written);
            let packet = decode_whole(&built);
            assert_eq!(packet.stop, None, "{written:?}");
            assert_fields(&roce(&packet), &written);
        }
    }
}

#[test]
fn every_value_of_the_small_fields_is_decoded() {
    let base = Roce::new(0x11, 0);
    let mut cases = Vec::new();
    for bit in 0..24 {
        cases.push(Roce { dest_qpn: 1 << bit, ..base.clone() });
        cases.push(Roce { psn: 1 << bit, ..base.clone() });
        cases.push(Roce { msn: 1 << bit, ..base.clone() });
    }
    for transport_version in 0..16 {
        cases.push(Roce { transport_version, ..base.clone() });
    }
    for (fecn, becn) in [(false, true), (true, false), (true, true)] {
        cases.push(Roce { fecn, becn, ..base.clone() });
    }
    for flags in 0..8 {
        let [solicited_event, migration_request, ack_request] =
            [1, 2, 4].map(|bit| flags & bit != 0);
        cases.push(Roce { solicited_event, migration_request, ack_request, ..base.clone() });
    }
    cases.extend((0..=255).map(|syndrome| Roce { syndrome, ..base.clone() }));
    for (placement_type, selectivity_level) in (0..16).flat_map(|p| (0..4).map(move |s| (p, s))) {
        cases.push(Roce { placement_type, selectivity_level, ..Roce::new(0x1c, 0) });
    }
    for written in cases {
        assert_fields(&roce(&decode_whole(&plain(&written))), &written);
    }
}

#[test]
fn names_and_places_in_the_psn_spaces() {
    for value in 0..=255 {
        let (opcode, expected) = (Opcode(value), meaning(value));
        assert_eq!(opcode.transport().name(), expected.transport, "{value:#04x}");
        assert_eq!(opcode.name(), expected.name, "{value:#04x}");
        let traits = opcode.traits();
        assert_eq!(traits.has(Traits::REQUEST), expected.is_request, "{value:#04x}");
        assert_eq!(traits.has(Traits::RESPONSE), expected.is_response, "{value:#04x}");
        assert_eq!(traits.has(Traits::PAYLOAD), expected.has_payload, "{value:#04x}");
        let name = expected.name.unwrap_or_default();
        let only = name.contains("_ONLY")
            || matches!(
                name,
                "RDMA_READ_REQUEST"
                    | "COMPARE_SWAP"
                    | "FETCH_ADD"
                    | "RESYNC"
                    | "FLUSH"
                    | "ATOMIC_WRITE"
            );
        assert_eq!(traits.has(Traits::STARTS), only || name.ends_with("_FIRST"), "{name}");
        assert_eq!(traits.has(Traits::ENDS), only || name.contains("_LAST"), "{name}");
    }
}

/// Every field of `read` equals the written one, and there is no other header.
pub fn assert_fields(read: &RocePacket<'_>, written: &Roce) {
    let bth = read.bth;
    let what = format!("{written:?}");
    assert_eq!(bth.opcode.0, written.opcode, "{what}");
    assert_eq!(bth.solicited_event, written.solicited_event, "{what}");
    assert_eq!(bth.migration_request, written.migration_request, "{what}");
    assert_eq!(bth.pad_count, written.pad_count(), "{what}");
    assert_eq!(bth.transport_version, written.transport_version, "{what}");
    assert_eq!(bth.partition_key, written.partition_key, "{what}");
    assert_eq!((bth.fecn, bth.becn), (written.fecn, written.becn), "{what}");
    assert_eq!(bth.dest_qpn.value(), written.dest_qpn, "{what}");
    assert_eq!(bth.ack_request, written.ack_request, "{what}");
    assert_eq!(bth.psn.value(), written.psn, "{what}");

    let headers = meaning(written.opcode).headers;
    let has = |header| headers.contains(&header);
    assert_eq!(
        read.rdeth.map(|h| h.ee_context),
        has(Header::Rdeth).then_some(written.ee_context),
        "{what}"
    );
    assert_eq!(
        read.deth.map(|h| (h.queue_key, h.source_qpn.value())),
        has(Header::Deth).then_some((written.queue_key, written.source_qpn)),
        "{what}"
    );
    assert_eq!(
        read.xrceth.map(|h| h.xrc_srq),
        has(Header::Xrceth).then_some(written.xrc_srq),
        "{what}"
    );
    assert_eq!(
        read.feth.map(|h| (h.placement_type, h.selectivity_level)),
        has(Header::Feth).then_some((written.placement_type, written.selectivity_level)),
        "{what}"
    );
    assert_eq!(
        read.reth.map(|h| (h.virtual_address, h.remote_key, h.dma_len)),
        has(Header::Reth).then_some((written.virtual_address, written.remote_key, written.dma_len)),
        "{what}"
    );
    assert_eq!(
        read.atomic.map(|h| (h.virtual_address, h.remote_key, h.swap_or_add, h.compare)),
        has(Header::AtomicEth).then_some((
            written.virtual_address,
            written.remote_key,
            written.swap_or_add,
            written.compare
        )),
        "{what}"
    );
    assert_eq!(
        read.aeth.map(|h| (syndrome_byte(h.syndrome), h.msn)),
        has(Header::Aeth).then_some((written.syndrome, written.msn)),
        "{what}"
    );
    assert_eq!(
        read.atomic_ack.map(|h| h.original_value),
        has(Header::AtomicAckEth).then_some(written.original_value),
        "{what}"
    );
    assert_eq!(
        read.immediate.map(|h| h.0),
        has(Header::ImmDt).then_some(written.immediate),
        "{what}"
    );
    assert_eq!(
        read.ieth.map(|h| h.remote_key),
        has(Header::Ieth).then_some(written.invalidated_key),
        "{what}"
    );
    assert_eq!(read.payload, written.payload, "{what}");
    assert_eq!(read.payload_len as usize, written.payload.len(), "{what}");
}

/// The byte of a decoded syndrome (IBTA volume 1, tables 44 to 46).
fn syndrome_byte(syndrome: Syndrome) -> u8 {
    use railscope_core::decode::roce::aeth::NakCode;
    match syndrome {
        Syndrome::Ack { credits } => credits,
        Syndrome::RnrNak { timer } => 0b001 << 5 | timer,
        Syndrome::Nak(code) => {
            0b011 << 5
                | match code {
                    NakCode::PsnSequenceError => 0,
                    NakCode::InvalidRequest => 1,
                    NakCode::RemoteAccessError => 2,
                    NakCode::RemoteOperationalError => 3,
                    NakCode::InvalidRdRequest => 4,
                    NakCode::Reserved(code) => code,
                }
        }
        Syndrome::Reserved(byte) => byte,
    }
}
