//! Priority flow control and ECN in an oversubscribed switch.

use std::collections::BTreeMap;

use railscope_drive::simulate::network::Network;
use railscope_drive::simulate::network::id::{LinkId, NicId, PortId};
use railscope_drive::simulate::network::notice::Notice;
use railscope_drive::simulate::network::packet::{Body, Ecn};
use railscope_drive::simulate::network::plan::NetworkPlan;
use railscope_drive::simulate::network::tap::{Direction, Occurrence};
use railscope_drive::simulate::time::VirtualTime;

use super::testbed::{
    LOSSLESS, MARKING, PFC, Seen, finish, options, pair, star, tap_everything, write,
};

const RATE: u64 = 100_000_000_000;
const SENDERS: u32 = 8;

/// The switch port that all senders share.
const CROWDED: PortId = PortId::second(LinkId(SENDERS));

/// Eight NICs write to one at the same time.
fn incast(plan: &NetworkPlan, ecn: Ecn) -> (Network, Seen, Vec<(VirtualTime, Notice)>) {
    let mut network = Network::new(plan, 3).unwrap();
    for sender in 0..SENDERS {
        let options =
            railscope_drive::simulate::network::notice::QueuePairOptions { ecn, ..options() };
        let (from, _) = pair(&mut network, sender, SENDERS, options);
        network.post(from, write(u64::from(sender), 4_000_000, Some(sender))).unwrap();
    }
    let mut seen = Seen::default();
    let notices = finish(&mut network, &mut seen);
    let received = notices.iter().filter(|(_, n)| matches!(n, Notice::Received { .. }));
    assert_eq!(received.count(), SENDERS as usize);
    (network, seen, notices)
}

fn plan() -> NetworkPlan {
    let mut plan = star(SENDERS as usize + 1, RATE);
    tap_everything(&mut plan);
    plan
}

#[test]
fn pauses_come_above_xoff_only_and_nothing_is_dropped() {
    let mut plan = plan();
    for nic in &mut plan.nics {
        nic.dcqcn = None;
    }
    let (network, seen, notices) = incast(&plan, Ecn::NotEct);
    let mut asked: BTreeMap<PortId, bool> = BTreeMap::new();
    for &(_, occurrence) in &seen.occurrences {
        match occurrence {
            Occurrence::Xoff { ingress, priority, stored_bytes } => {
                assert_eq!(priority, LOSSLESS);
                if !asked.insert(ingress, true).unwrap_or(false) {
                    assert!(stored_bytes > PFC.xoff_bytes, "{stored_bytes}");
                }
            }
            Occurrence::Xon { ingress, stored_bytes, .. } => {
                assert_eq!(asked.insert(ingress, false), Some(true));
                assert!(stored_bytes <= PFC.xon_bytes, "{stored_bytes}");
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(asked.len(), SENDERS as usize);
    assert!(asked.values().all(|asked| !asked));
    // No time is lost: the shared link is busy from the first packet to the last.
    let wire_bytes = 4_000_000.0 * f64::from(SENDERS) * (4096.0 + 58.0 + 24.0) / 4096.0;
    let ideal_ns = wire_bytes * 8.0 / (RATE as f64 / 1e9);
    let end = notices.last().unwrap().0.0 as f64;
    assert!((ideal_ns..ideal_ns * 1.01).contains(&end), "{end} {ideal_ns}");
    for sender in 0..SENDERS {
        let counters = network.counters(NicId(sender)).unwrap();
        let place = usize::from(LOSSLESS);
        assert!(counters.rx_prio_pause_transition[place] > 0);
        // Each sender gets an eighth of the link, so it was paused most of the time.
        let paused = counters.rx_prio_pause_duration[place] as f64 * 1000.0 / end;
        assert!((0.6..0.9).contains(&paused), "{paused}");
        assert_eq!(counters.out_of_sequence + counters.packet_seq_err, 0);
    }
}

#[test]
fn a_paused_nic_sends_nothing_but_what_it_had_begun() {
    let mut plan = plan();
    for nic in &mut plan.nics {
        nic.dcqcn = None;
    }
    let (_, seen, _) = incast(&plan, Ecn::NotEct);
    for sender in 0..SENDERS {
        let mut paused = false;
        let mut last = VirtualTime(0);
        let mut pauses = 0;
        for (time, direction, packet) in seen.at(PortId::first(LinkId(sender))) {
            assert!(time >= last, "times never decrease");
            last = time;
            match (&packet.body, direction) {
                (Body::Pause { priority, quanta }, Direction::In) => {
                    assert_eq!((*priority, packet.frame_bytes), (LOSSLESS, 60));
                    paused = *quanta > 0;
                    pauses += 1;
                }
                (Body::Write(_), Direction::Out) => assert!(!paused, "at {time}"),
                _ => {}
            }
        }
        assert!(pauses >= 2);
    }
}

#[test]
fn marks_above_kmin_only_and_cnps_at_a_distance() {
    let (network, seen, _) = incast(&plan(), Ecn::Ect0);
    let mut marks = 0;
    for (_, occurrence) in &seen.occurrences {
        if let Occurrence::Marked { egress, priority, queue_bytes } = *occurrence {
            assert_eq!((egress, priority), (CROWDED, LOSSLESS));
            assert!(queue_bytes > MARKING.kmin_bytes, "{queue_bytes}");
            marks += 1;
        }
    }
    assert!(marks > 100, "{marks}");
    let receiver = network.counters(NicId(SENDERS)).unwrap();
    assert_eq!(receiver.np_ecn_marked_roce_packets, marks);
    assert_eq!(network.port_counters(CROWDED).unwrap().frames_marked, marks);

    // The receiver's CNPs: at least 50 us apart per queue pair, and on their own priority.
    let mut last: BTreeMap<(NicId, u32), u64> = BTreeMap::new();
    let mut cnps = 0;
    for (time, direction, packet) in seen.at(PortId::first(LinkId(SENDERS))) {
        if let (Body::Cnp { destination_qpn }, Direction::Out) = (&packet.body, direction) {
            assert_eq!((packet.dscp, packet.ecn, packet.frame_bytes), (48, Ecn::NotEct, 74));
            cnps += 1;
            if let Some(before) = last.insert((packet.destination, *destination_qpn), time.0) {
                assert!(time.0 - before >= 50_000, "{}", time.0 - before);
            }
        }
    }
    assert_eq!(last.len(), SENDERS as usize);
    assert_eq!(receiver.np_cnp_sent, cnps);
    let handled = (0..SENDERS).map(|n| network.counters(NicId(n)).unwrap().rp_cnp_handled);
    assert_eq!(handled.sum::<u64>(), cnps);
}

#[test]
fn who_has_no_rate_control_ignores_cnps() {
    let mut plan = plan();
    for nic in &mut plan.nics[..SENDERS as usize] {
        nic.dcqcn = None;
    }
    let (network, ..) = incast(&plan, Ecn::Ect0);
    let sent = network.counters(NicId(SENDERS)).unwrap().np_cnp_sent;
    let counters: Vec<_> = (0..SENDERS).map(|n| network.counters(NicId(n)).unwrap()).collect();
    assert!(sent > 0);
    assert_eq!(counters.iter().map(|c| c.rp_cnp_ignored).sum::<u64>(), sent);
    assert_eq!(counters.iter().map(|c| c.rp_cnp_handled).sum::<u64>(), 0);
}

#[test]
fn a_switch_without_pfc_drops_and_nothing_is_lost_for_good() {
    let mut plan = plan();
    plan.switches[0].queues[usize::from(LOSSLESS)].pfc = None;
    plan.switches[0].buffer_bytes = 500_000;
    let (network, seen, _) = incast(&plan, Ecn::Ect0);
    let dropped = seen
        .occurrences
        .iter()
        .filter(|(_, occurrence)| matches!(occurrence, Occurrence::Dropped { .. }))
        .count() as u64;
    assert!(dropped > 0);
    let counted = (0..SENDERS)
        .map(|n| network.port_counters(PortId::second(LinkId(n))).unwrap().frames_dropped);
    assert_eq!(counted.sum::<u64>(), dropped);
    let naks = (0..SENDERS).map(|n| network.counters(NicId(n)).unwrap().packet_seq_err);
    assert!(naks.sum::<u64>() > 0);
}
