//! Connection manager messages: built ones field by field, cut ones, and a real connection against
//! tshark.

use std::net::Ipv6Addr;

use railscope::ingest::file::CaptureSet;
use railscope::ingest::file::event::SourceEvent;
use railscope_core::decode::error::{DecodeError, Layer, Limit};
use railscope_core::decode::frame::decode;
use railscope_core::decode::packet::Body;
use railscope_core::decode::roce::connection_manager::{CommunicationIds, ConnectionMessage};
use railscope_core::model::opcode::Transport;

use super::{decode_cut, decode_whole, plain, roce};
use crate::support::frame::Built;
use crate::support::{fixture, mad, require, tshark};

/// Passes the message in a frame to `visit`.
fn with_message(built: &Built, visit: impl FnOnce(ConnectionMessage<'_>)) {
    let datagram = roce(&decode_whole(built)).management().unwrap().unwrap();
    assert_eq!((datagram.management_class, datagram.class_version), (7, 2));
    assert_eq!((datagram.base_version, datagram.method, datagram.status), (1, 3, 0));
    assert_eq!(datagram.transaction_id, mad::TRANSACTION);
    visit(datagram.connection_message().unwrap().unwrap());
}

const IDS: CommunicationIds = CommunicationIds { local: mad::LOCAL_ID, remote: mad::REMOTE_ID };

#[test]
fn a_request_says_who_connects_and_how() {
    with_message(&plain(&mad::message(mad::REQ)), |message| {
        let ConnectionMessage::Req(req) = message else { panic!("{message:?}") };
        assert_eq!(req.local_communication_id, mad::LOCAL_ID);
        assert_eq!(req.service_id, mad::SERVICE_ID);
        assert_eq!(req.local_ca_guid, mad::CA_GUID);
        assert_eq!(req.local_queue_key, mad::QUEUE_KEY);
        assert_eq!(req.local_qpn.value(), mad::LOCAL_QPN);
        assert_eq!((req.responder_resources, req.initiator_depth), (4, 5));
        assert_eq!((req.remote_cm_response_timeout, req.local_cm_response_timeout), (20, 21));
        assert_eq!((req.transport, req.end_to_end_flow_control), (Transport::Rc, true));
        assert_eq!(req.starting_psn.value(), mad::STARTING_PSN);
        assert_eq!((req.retry_count, req.rnr_retry_count, req.max_cm_retries), (7, 6, 15));
        assert_eq!(req.partition_key, mad::PARTITION_KEY);
        assert_eq!((req.path_mtu, req.shared_receive_queue), (Some(1024), false));
        assert_eq!(req.primary_local_gid, Ipv6Addr::from(mad::LOCAL_GID));
        assert_eq!(req.primary_remote_gid, Ipv6Addr::from(mad::REMOTE_GID));
        assert_eq!((req.primary_traffic_class, req.primary_hop_limit), (106, 64));
        assert_eq!((req.primary_service_level, req.primary_local_ack_timeout), (0, 18));
        assert_eq!(req.alternate_local_gid, Ipv6Addr::UNSPECIFIED);
        assert_eq!(req.private_data.len(), 92);
        let service = req.ip_service().unwrap();
        assert_eq!((service.protocol, service.destination_port), (6, 0x4c5d));
        assert_eq!(service.source_port, mad::SOURCE_PORT);
        assert_eq!(service.source.to_string(), "10.1.2.3");
        assert_eq!(service.destination.to_string(), "10.4.5.6");
    });
}

#[test]
fn a_reply_says_who_answers() {
    with_message(&plain(&mad::message(mad::REP)), |message| {
        let ConnectionMessage::Rep(rep) = message else { panic!("{message:?}") };
        assert_eq!(rep.ids, IDS);
        assert_eq!(rep.local_queue_key, mad::QUEUE_KEY);
        assert_eq!(rep.local_qpn.value(), mad::LOCAL_QPN);
        assert_eq!(rep.starting_psn.value(), mad::STARTING_PSN);
        assert_eq!((rep.responder_resources, rep.initiator_depth), (4, 5));
        assert_eq!((rep.target_ack_delay, rep.rnr_retry_count), (15, 6));
        assert_eq!((rep.end_to_end_flow_control, rep.shared_receive_queue), (true, false));
        assert_eq!(rep.local_ca_guid, mad::CA_GUID);
        assert_eq!(rep.private_data.len(), 196);
    });
}

#[test]
fn the_other_messages() {
    with_message(&plain(&mad::message(mad::RTU)), |message| {
        let ConnectionMessage::Rtu(rtu) = message else { panic!("{message:?}") };
        assert_eq!((rtu.ids, rtu.private_data.len()), (IDS, 224));
    });
    with_message(&plain(&mad::message(mad::REJ)), |message| {
        let ConnectionMessage::Rej(rej) = message else { panic!("{message:?}") };
        assert_eq!((rej.ids, rej.message, rej.reason.0), (IDS, 0, 28));
        assert_eq!((rej.additional.len(), rej.private_data.len()), (0, 148));
    });
    with_message(&plain(&mad::message(mad::MRA)), |message| {
        let ConnectionMessage::Mra(mra) = message else { panic!("{message:?}") };
        assert_eq!((mra.ids, mra.message, mra.service_timeout), (IDS, 1, 19));
        assert_eq!(mra.private_data.len(), 222);
    });
    with_message(&plain(&mad::message(mad::DREQ)), |message| {
        let ConnectionMessage::Dreq(dreq) = message else { panic!("{message:?}") };
        assert_eq!((dreq.ids, dreq.remote_qpn.value()), (IDS, mad::LOCAL_QPN));
        assert_eq!(dreq.private_data.len(), 220);
    });
    with_message(&plain(&mad::message(mad::DREP)), |message| {
        let ConnectionMessage::Drep(drep) = message else { panic!("{message:?}") };
        assert_eq!((drep.ids, drep.private_data.len()), (IDS, 224));
    });
    with_message(&plain(&mad::message(0x0019)), |message| {
        assert!(matches!(message, ConnectionMessage::Other(0x0019)), "{message:?}");
    });
}

#[test]
fn messages_cut_at_every_length() {
    // Bytes of each message without private data; for a REJ, up to its additional information.
    let fixed = [
        (mad::REQ, 140),
        (mad::MRA, 10),
        (mad::REJ, 84),
        (mad::REP, 36),
        (mad::RTU, 8),
        (mad::DREQ, 12),
        (mad::DREP, 8),
    ];
    for (attribute, fixed_bytes) in fixed {
        let built = plain(&mad::message(attribute));
        let start = built.places.last().unwrap().end();
        for kept in start..=built.bytes.len() {
            let packet = decode_cut(&built, kept, built.bytes.len());
            assert_eq!(packet.stop, None);
            let what = format!("{attribute:#06x}, {} bytes of the datagram", kept - start);
            let read = match roce(&packet).management().unwrap() {
                Err(stop) => Some(stop),
                Ok(datagram) => datagram.connection_message().unwrap().err(),
            };
            let expected = match kept - start {
                have @ 0..24 => Some((Layer::Mad, start, 24, have)),
                have if have < 24 + fixed_bytes => {
                    Some((Layer::ConnectionManager, start + 24, fixed_bytes, have - 24))
                }
                _ => None,
            };
            let expected = expected.map(|(layer, offset, need, have)| DecodeError {
                layer,
                offset: offset as u32,
                need: need as u32,
                have: have as u32,
                limit: Limit::Snap,
            });
            assert_eq!(read, expected, "{what}");
        }
    }
}

#[test]
fn other_packets_carry_no_management() {
    use crate::support::roce::Roce;
    for packet in [
        Roce::new(0x64, 256),
        Roce { dest_qpn: 1, ..Roce::new(0x04, 256) },
        Roce { dest_qpn: 1, ..Roce::new(0x11, 0) },
    ] {
        assert!(roce(&decode_whole(&plain(&packet))).management().is_none(), "{packet:?}");
    }
}

/// A real connection by `rping`: the same messages and numbers that tshark shows.
#[test]
fn a_real_connection_reads_as_tshark_reads_it() {
    if !require::has("a_real_connection_reads_as_tshark_reads_it", "tshark") {
        return;
    }
    let file = fixture::path("rdmacm_rping.pcap.gz");
    let names = [
        "infiniband.mad.attributeid",
        "infiniband.cm.req",
        "infiniband.cm.req.localqpn",
        "infiniband.cm.req.startpsn",
        "infiniband.cm.rep",
        "infiniband.cm.rep.localqpn",
        "infiniband.cm.rep.startpsn",
        "infiniband.cm.rtu.localcommid",
        "infiniband.cm.dreq.localcommid",
        "infiniband.cm.req.remoteqpneecn",
        "infiniband.cm.drsp.localcommid",
    ];
    let rows = tshark::fields(&file, &names);
    let theirs: Vec<(u64, Vec<u64>)> = rows
        .iter()
        .filter_map(|row| {
            let attribute = tshark::number(&row[0])?;
            Some((attribute, row[1..].iter().filter_map(|text| tshark::number(text)).collect()))
        })
        .collect();

    let mut ours = Vec::new();
    let mut captures = CaptureSet::open(&[file]).unwrap();
    while let Some(event) = captures.next_event() {
        let SourceEvent::Frame(frame) = event else { continue };
        let packet = decode(&frame);
        let Body::Roce(roce) = packet.body else { continue };
        let Some(datagram) = roce.management() else { continue };
        let datagram = datagram.unwrap();
        let message = datagram.connection_message().unwrap().unwrap();
        ours.push((datagram.attribute_id.into(), numbers(&message)));
    }
    assert_eq!(ours, theirs);
    let attributes: Vec<u64> = ours.iter().map(|(attribute, _)| *attribute).collect();
    let expected = [mad::REQ, mad::REP, mad::RTU, mad::DREQ, mad::DREP].map(u64::from);
    assert_eq!(attributes, expected);
}

/// The numbers of a message that tshark also shows, in the order of its fields.
fn numbers(message: &ConnectionMessage<'_>) -> Vec<u64> {
    let numbers = match message {
        ConnectionMessage::Req(req) => {
            vec![req.local_communication_id, req.local_qpn.value(), req.starting_psn.value()]
        }
        ConnectionMessage::Rep(rep) => {
            vec![rep.ids.local, rep.local_qpn.value(), rep.starting_psn.value()]
        }
        ConnectionMessage::Rtu(rtu) => vec![rtu.ids.local],
        ConnectionMessage::Dreq(dreq) => vec![dreq.ids.local, dreq.remote_qpn.value()],
        ConnectionMessage::Drep(drep) => vec![drep.ids.local],
        _ => panic!("{message:?} is not in this capture"),
    };
    numbers.into_iter().map(u64::from).collect()
}
