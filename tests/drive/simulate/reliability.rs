//! Loss and go-back-N (IBTA volume 1, 9.7): everything arrives once and in order, or fails with an
//! error.

use railscope_drive::simulate::network::Network;
use railscope_drive::simulate::network::id::{LinkId, NicId, PortId};
use railscope_drive::simulate::network::notice::{CallError, Notice, QueuePairId};
use railscope_drive::simulate::network::packet::{Body, Packet, Syndrome};
use railscope_drive::simulate::network::plan::NetworkPlan;
use railscope_drive::simulate::network::tap::{Direction, DropCause, Occurrence};
use railscope_drive::simulate::network::trouble::{LossFilter, Trouble};
use railscope_drive::simulate::time::{Span, VirtualTime};

use super::testbed::{Seen, finish, leaf_spine, options, pair, star, tap_everything, write};

const RATE: u64 = 100_000_000_000;

const SENDER: PortId = PortId::first(LinkId(0));

/// Two NICs; the link out of port `from` loses `share` of its frames during `span`.
fn lossy(from: PortId, share: f64, span: Span) -> NetworkPlan {
    let mut plan = star(2, RATE);
    plan.troubles = vec![Trouble::Loss { from, of: LossFilter::default(), share, span }];
    tap_everything(&mut plan);
    plan
}

fn until(nanoseconds: u64) -> Span {
    Span { from: VirtualTime::START, until: VirtualTime(nanoseconds) }
}

/// The work requests completed at `at`.
fn sent(notices: &[(VirtualTime, Notice)], at: QueuePairId) -> Vec<u64> {
    let works = notices.iter().filter_map(|(_, notice)| match notice {
        Notice::Sent { at: a, work } if *a == at => Some(*work),
        _ => None,
    });
    works.collect()
}

fn immediates(notices: &[(VirtualTime, Notice)], at: QueuePairId) -> Vec<u32> {
    let received = notices.iter().filter_map(|(_, notice)| match notice {
        Notice::Received { at: a, immediate, .. } if *a == at => *immediate,
        _ => None,
    });
    received.collect()
}

fn psn(packet: &Packet) -> Option<u32> {
    if let Body::Write(write) = &packet.body { Some(write.psn) } else { None }
}

#[test]
fn whatever_is_lost_everything_arrives_once_and_in_order() {
    for seed in 0..20 {
        let direction = [SENDER, SENDER.peer()][seed as usize % 2];
        let network = lossy(direction, 0.03, Span::ALWAYS);
        let mut network = Network::new(&network, seed).unwrap();
        let (from, to) = pair(&mut network, 0, 1, options());
        for id in 0..40 {
            network.post(from, write(id, 100_000, Some(id as u32))).unwrap();
        }
        let mut seen = Seen::default();
        let notices = finish(&mut network, &mut seen);
        assert!(immediates(&notices, to).into_iter().eq(0..40), "seed {seed}");
        assert!(sent(&notices, from).into_iter().eq(0..40), "seed {seed}");
    }
}

#[test]
fn one_gap_gives_one_nak_and_everything_from_there_again() {
    // Between 10 and 11 us the link loses the packets in flight: about three, of 330 ns each.
    let span = Span { from: VirtualTime(10_000), until: VirtualTime(11_000) };
    let mut network = Network::new(&lossy(SENDER, 1.0, span), 1).unwrap();
    let (from, to) = pair(&mut network, 0, 1, options());
    network.post(from, write(1, 100 * 4096, Some(5))).unwrap();
    let mut seen = Seen::default();
    let notices = finish(&mut network, &mut seen);
    assert_eq!(immediates(&notices, to), [5]);

    let arrived: Vec<_> = seen
        .at(SENDER.peer())
        .filter(|p| p.1 == Direction::In)
        .filter_map(|(_, _, packet)| psn(packet))
        .collect();
    let gap = arrived.iter().zip(0..).position(|(&psn, expected)| psn != expected).unwrap() as u32;
    let naks: Vec<_> = seen
        .at(SENDER)
        .filter_map(|(time, _, packet)| match packet.body {
            Body::Acknowledge { syndrome: Syndrome::NakSequence, psn, .. } => Some((time, psn)),
            _ => None,
        })
        .collect();
    let [(nak_time, missing)] = naks[..] else { panic!("{naks:?}") };
    assert_eq!(missing, gap);
    // After the NAK: everything from the gap on, in order.
    let again: Vec<_> = seen
        .at(SENDER)
        .filter(|p| p.1 == Direction::Out && p.0 > nak_time)
        .filter_map(|(_, _, packet)| psn(packet))
        .collect();
    let before = again.iter().position(|&psn| psn == gap).unwrap();
    assert!(before <= 1, "at most one packet was on the wire: {again:?}");
    assert!(again[before..].iter().copied().eq(gap..100), "{again:?}");

    let lost = seen.occurrences.iter().filter(|(_, occurrence)| {
        matches!(occurrence, Occurrence::Dropped { cause: DropCause::Loss, .. })
    });
    assert!((2..=4).contains(&lost.count()));
    let (sender, receiver) =
        (network.counters(NicId(0)).unwrap(), network.counters(NicId(1)).unwrap());
    assert_eq!((sender.packet_seq_err, sender.local_ack_timeout_err), (1, 0));
    assert!(receiver.out_of_sequence > 1);
    assert_eq!(receiver.duplicate_request, 0);
}

#[test]
fn a_lost_tail_is_noticed_by_the_timer_alone() {
    let mut network = Network::new(&lossy(SENDER, 1.0, until(5_000)), 1).unwrap();
    let (from, to) = pair(&mut network, 0, 1, options());
    network.post(from, write(1, 1000, Some(5))).unwrap();
    let mut seen = Seen::default();
    let notices = finish(&mut network, &mut seen);
    assert_eq!(immediates(&notices, to), [5]);
    assert_eq!(network.counters(NicId(0)).unwrap().local_ack_timeout_err, 1);
    assert_eq!(network.counters(NicId(1)).unwrap().out_of_sequence, 0);
    let times: Vec<_> = seen
        .at(SENDER)
        .filter(|(_, direction, packet)| *direction == Direction::Out && psn(packet).is_some())
        .map(|(time, ..)| time.0)
        .collect();
    assert_eq!(times, [0, options().timeout_ns]);
}

#[test]
fn a_lost_ack_makes_a_duplicate() {
    let mut network = Network::new(&lossy(SENDER.peer(), 1.0, until(50_000)), 1).unwrap();
    let (from, to) = pair(&mut network, 0, 1, options());
    network.post(from, write(1, 3 * 4096, Some(5))).unwrap();
    let notices = finish(&mut network, &mut Seen::default());
    assert_eq!(immediates(&notices, to), [5], "delivered once");
    assert_eq!(sent(&notices, from), [1]);
    assert_eq!(network.counters(NicId(1)).unwrap().duplicate_request, 3);
    assert_eq!(network.counters(NicId(0)).unwrap().packet_seq_err, 0);
}

#[test]
fn retries_run_out() {
    let mut network = Network::new(&lossy(SENDER, 1.0, Span::ALWAYS), 1).unwrap();
    let (from, _) = pair(&mut network, 0, 1, options());
    network.post(from, write(1, 1000, None)).unwrap();
    network.post(from, write(2, 1000, None)).unwrap();
    let notices = finish(&mut network, &mut Seen::default());
    let end = VirtualTime(8 * options().timeout_ns);
    let failed = |work| (end, Notice::Failed { at: from, work });
    assert_eq!(notices[notices.len() - 2..], [failed(1), failed(2)]);
    assert_eq!(network.counters(NicId(0)).unwrap().local_ack_timeout_err, 8);
    assert_eq!(network.post(from, write(3, 1, None)), Err(CallError::GaveUp(from)));
}

/// Two NICs on a leaf each; packets are sprayed over two spines, whose paths differ by 20 us. The link
/// from the first spine to the receiver's leaf loses `share` of its frames.
fn sprayed(share: f64) -> NetworkPlan {
    let mut plan = leaf_spine(2, 2, 1, RATE);
    plan.sprays = true;
    for link in [3, 5] {
        plan.links[link].delay_ns += 10_000;
    }
    for nic in &mut plan.nics {
        nic.reorder_ns = Some(100_000);
    }
    let from = PortId::second(LinkId(4));
    let of = LossFilter::default();
    plan.troubles = vec![Trouble::Loss { from, of, share, span: Span::ALWAYS }];
    tap_everything(&mut plan);
    plan
}

/// PSNs that the first NIC sent and the second received, and the number of NAKs.
fn data(seen: &Seen) -> (Vec<u32>, Vec<u32>, usize) {
    let psns = |at: PortId, way: Direction| {
        let data = seen.at(at).filter(move |(_, direction, _)| *direction == way);
        data.filter_map(|(_, _, packet)| psn(packet)).collect()
    };
    let is_nak = |packet: &Packet| {
        matches!(packet.body, Body::Acknowledge { syndrome: Syndrome::NakSequence, .. })
    };
    let receiver = PortId::first(LinkId(1));
    let naks = seen.at(SENDER).filter(|(_, _, packet)| is_nak(packet)).count();
    (psns(SENDER, Direction::Out), psns(receiver, Direction::In), naks)
}

#[test]
fn sprayed_packets_come_out_of_order_and_none_is_sent_again() {
    let mut network = Network::new(&sprayed(0.0), 1).unwrap();
    let (from, to) = pair(&mut network, 0, 1, options());
    for id in 0..10 {
        network.post(from, write(id, 100_000, Some(id as u32))).unwrap();
    }
    let mut seen = Seen::default();
    let notices = finish(&mut network, &mut seen);
    assert!(immediates(&notices, to).into_iter().eq(0..10));
    let (sent, arrived, naks) = data(&seen);
    assert!(sent.is_sorted() && !arrived.is_sorted(), "{arrived:?}");
    assert_eq!((sent.len(), naks), (250, 0));
}

#[test]
fn only_lost_packets_are_sent_again_where_nics_place_them_out_of_order() {
    for seed in 0..10 {
        let mut network = Network::new(&sprayed(0.05), seed).unwrap();
        let (from, to) = pair(&mut network, 0, 1, options());
        for id in 0..20 {
            network.post(from, write(id, 100_000, Some(id as u32))).unwrap();
        }
        let mut seen = Seen::default();
        let notices = finish(&mut network, &mut seen);
        assert!(immediates(&notices, to).into_iter().eq(0..20), "seed {seed}");
        assert!(sent(&notices, from).into_iter().eq(0..20), "seed {seed}");
        let (sent, arrived, naks) = data(&seen);
        let lost = sent.len() - arrived.len();
        assert!(lost > 0 && naks > 0, "seed {seed}");
        // A lost last packet is probed for by the timer, and the probe may be lost, too.
        let timeouts = network.counters(NicId(0)).unwrap().local_ack_timeout_err as usize;
        assert!(sent.len() - 500 <= lost + timeouts, "seed {seed}: {lost} lost, {}", sent.len());
    }
}
