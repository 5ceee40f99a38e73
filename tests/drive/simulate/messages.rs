//! Messages between two hosts over one switch: packets on each wire, and their times.

use std::sync::Arc;

use railscope_drive::simulate::network::Network;
use railscope_drive::simulate::network::id::{LinkId, PortId};
use railscope_drive::simulate::network::notice::{CallError, Notice};
use railscope_drive::simulate::network::packet::{Body, Ecn, Packet, Syndrome};
use railscope_drive::simulate::network::tap::{Blind, Direction};

use super::testbed::{Seen, finish, options, pair, star, tap_everything, write};

const RATE: u64 = 400_000_000_000;

const SENDER: PortId = PortId::first(LinkId(0));
const RECEIVER: PortId = PortId::first(LinkId(1));

/// Transmission time of a frame at 400 Gb/s: 20 ps per byte, with preamble, gap and FCS.
fn transmission_ps(packet: &Packet) -> u64 {
    (u64::from(packet.frame_bytes) + 24) * 20
}

#[test]
fn a_write_is_cut_to_packets_and_acknowledged_once() {
    let mut plan = star(2, RATE);
    tap_everything(&mut plan);
    let mut network = Network::new(&plan, 1).unwrap();
    let (from, to) = pair(&mut network, 0, 1, options());
    network.post(from, write(7, 10_000, Some(42))).unwrap();
    let mut seen = Seen::default();
    let notices = finish(&mut network, &mut seen);

    let requests: Vec<_> = seen.at(SENDER).filter(|p| p.1 == Direction::Out).collect();
    let Body::Write(first) = &requests[0].2.body else { panic!("{requests:?}") };
    let reth = first.first.unwrap();
    assert_eq!((reth.bytes, reth.rkey, reth.remote_address), (10_000, 0x1234, 0x7f00_0000_0007));
    let fields = requests.iter().map(|(_, _, packet)| {
        let Body::Write(write) = &packet.body else { panic!("{packet:?}") };
        assert_eq!((write.destination_qpn, packet.ecn, packet.hops), (to.qpn, Ecn::Ect0, 0));
        (write.psn, write.opcode(), write.payload_bytes, packet.frame_bytes, write.ack_request)
    });
    // FIRST with RETH, MIDDLE, LAST with immediate. 58: Ethernet, IPv4, UDP, BTH, ICRC.
    assert_eq!(
        fields.collect::<Vec<_>>(),
        [
            (0, 0x06, 4096, 58 + 16 + 4096, false),
            (1, 0x07, 4096, 58 + 4096, false),
            (2, 0x09, 1808, 58 + 4 + 1808, true)
        ]
    );

    let answers: Vec<_> = seen.at(SENDER).filter(|p| p.1 == Direction::In).collect();
    let [(ack_time, _, ack)] = answers[..] else { panic!("{answers:?}") };
    let destination_qpn = from.qpn;
    let syndrome = Syndrome::Ack;
    assert_eq!(ack.body, Body::Acknowledge { destination_qpn, psn: 2, syndrome, msn: 1 });
    assert_eq!((ack.frame_bytes, ack.hops), (58 + 4, 1));

    // Packets leave back to back, are stored and forwarded once, and each link takes 1000 ns. The
    // switch forwards once it has the whole first packet; the others are shorter.
    let sent: u64 = requests.iter().map(|(_, _, packet)| transmission_ps(packet)).sum();
    let first = transmission_ps(requests[0].2);
    let arrival = sent + first + 2_000_000;
    let answered = arrival + 2 * transmission_ps(ack) + 2_000_000;
    let arrivals: Vec<_> = seen.at(RECEIVER).filter(|p| p.1 == Direction::In).collect();
    assert_eq!(arrivals[2].0.0, arrival / 1000);
    assert_eq!(ack_time.0, answered / 1000);
    let received = Notice::Received {
        at: to,
        bytes: 10_000,
        remote_address: 0x7f00_0000_0007,
        immediate: Some(42),
        head: None,
    };
    let times: Vec<_> = notices.iter().map(|(time, notice)| (time.0, notice.clone())).collect();
    assert_eq!(
        times,
        [
            (0, Notice::Started { at: from, work: 7 }),
            (arrival / 1000, received),
            (answered / 1000, Notice::Sent { at: from, work: 7 }),
        ]
    );
}

#[test]
fn an_ack_is_asked_for_every_so_often() {
    let mut plan = star(2, RATE);
    plan.nics[0].ack_every = 4;
    tap_everything(&mut plan);
    let mut network = Network::new(&plan, 1).unwrap();
    let (from, _) = pair(&mut network, 0, 1, options());
    network.post(from, write(1, 10 * 4096, None)).unwrap();
    let mut seen = Seen::default();
    finish(&mut network, &mut seen);
    let asking = seen.at(SENDER).filter_map(|(_, _, packet)| match &packet.body {
        Body::Write(write) if write.ack_request => Some(write.psn),
        _ => None,
    });
    assert_eq!(asking.collect::<Vec<_>>(), [3, 7, 9]);
    let acks = seen.at(SENDER).filter_map(|(_, _, packet)| match packet.body {
        Body::Acknowledge { psn, .. } => Some(psn),
        _ => None,
    });
    assert_eq!(acks.collect::<Vec<_>>(), [3, 7, 9]);
}

#[test]
fn short_and_empty_messages_are_one_packet() {
    let mut plan = star(2, RATE);
    tap_everything(&mut plan);
    let mut network = Network::new(&plan, 1).unwrap();
    let (from, to) = pair(&mut network, 0, 1, options());
    let head: Arc<[u8]> = Arc::from(*b"clear to send");
    let mut cts = write(1, 61, None);
    cts.head = Some(head.clone());
    network.post(from, cts).unwrap();
    network.post(from, write(2, 0, Some(9))).unwrap();
    let mut seen = Seen::default();
    let notices = finish(&mut network, &mut seen);
    let packets: Vec<_> = seen.at(RECEIVER).filter(|p| p.1 == Direction::In).collect();
    let Body::Write(first) = &packets[0].2.body else { panic!("{packets:?}") };
    assert_eq!((first.opcode(), first.head.as_deref()), (0x0a, Some(&b"clear to send"[..])));
    assert_eq!(packets[0].2.frame_bytes, 58 + 16 + 64);
    let Body::Write(second) = &packets[1].2.body else { panic!("{packets:?}") };
    assert_eq!((second.opcode(), packets[1].2.frame_bytes), (0x0b, 58 + 16 + 4));
    let received = notices.into_iter().filter_map(|(_, notice)| match notice {
        Notice::Received { at, bytes, immediate, head, .. } => Some((at, bytes, immediate, head)),
        _ => None,
    });
    let expected = [(to, 61, None, Some(head)), (to, 0, Some(9), None)];
    assert_eq!(received.collect::<Vec<_>>(), expected);
}

#[test]
fn both_directions_share_a_connection() {
    let mut network = Network::new(&star(2, RATE), 1).unwrap();
    let (one, other) = pair(&mut network, 0, 1, options());
    for id in 0..50 {
        network.post(one, write(id, 100_000, Some(1))).unwrap();
        network.post(other, write(id, 50_000, Some(2))).unwrap();
    }
    let notices = finish(&mut network, &mut Blind);
    for (at, bytes) in [(one, 50_000), (other, 100_000)] {
        let received = notices.iter().filter(
            |(_, n)| matches!(n, Notice::Received { at: a, bytes: b, .. } if *a == at && *b == bytes),
        );
        assert_eq!(received.count(), 50);
        let sent = notices.iter().filter_map(|(_, notice)| match notice {
            Notice::Sent { at: a, work } if *a == at => Some(*work),
            _ => None,
        });
        assert!(sent.eq(0..50));
    }
}

#[test]
fn queue_pairs_of_a_nic_take_turns() {
    let mut plan = star(3, RATE);
    tap_everything(&mut plan);
    let mut network = Network::new(&plan, 1).unwrap();
    for to in [1, 2] {
        let (from, _) = pair(&mut network, 0, to, options());
        network.post(from, write(1, 100 * 4096, None)).unwrap();
    }
    let mut seen = Seen::default();
    finish(&mut network, &mut seen);
    let requests = seen.at(SENDER).filter(|p| p.1 == Direction::Out);
    let destinations: Vec<_> = requests.map(|(_, _, packet)| packet.destination.0).collect();
    assert_eq!(destinations.len(), 200);
    // The first starts before the second has anything to send, and is back in turn by then.
    assert!(destinations[1..199].chunks(2).all(|turns| turns == [1, 2]), "{destinations:?}");
}

#[test]
fn calls_that_make_no_sense_are_refused() {
    let mut network = Network::new(&star(2, RATE), 1).unwrap();
    let (one, other) = pair(&mut network, 0, 1, options());
    assert_eq!(network.connect(one, other, options()), Err(CallError::Connected(one)));
    let mut odd = options();
    odd.mtu = 1500;
    assert_eq!(network.connect(one, other, odd), Err(CallError::Mtu(1500)));
    let alone = network.create_queue_pair(one.nic).unwrap();
    assert_eq!(alone.qpn, one.qpn + 1);
    assert_eq!(network.connect(alone, alone, options()), Err(CallError::Connected(alone)));
    assert_eq!(network.post(alone, write(1, 1, None)), Err(CallError::NotConnected(alone)));
    let mut long = write(1, 4, None);
    long.head = Some(Arc::from([0; 5]));
    assert_eq!(network.post(one, long), Err(CallError::Head { head: 5, room: 4 }));
    assert!(network.advance(&mut Blind).is_none());
}
