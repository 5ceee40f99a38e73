//! An injected fault shows where it should, and nowhere else.

use railscope_drive::simulate::network::Network;
use railscope_drive::simulate::network::counters::NicCounters;
use railscope_drive::simulate::network::id::{LinkId, NicId, PortId};
use railscope_drive::simulate::network::packet::{Body, Ecn};
use railscope_drive::simulate::network::plan::{BackgroundFlow, NetworkPlan, PlanError};
use railscope_drive::simulate::network::tap::{Blind, Direction, Occurrence};
use railscope_drive::simulate::network::trouble::{LossFilter, Trouble};
use railscope_drive::simulate::time::{Span, VirtualTime};

use super::testbed::{
    LOSSLESS, ROCE_DSCP, Seen, finish, options, pair, star, tap_everything, write,
};

const RATE: u64 = 100_000_000_000;

/// One NIC writes 40 MB to another, which takes 3.3 ms; returns the counters of both, and the end.
fn transfer(plan: &NetworkPlan, seen: &mut Seen) -> ([NicCounters; 2], VirtualTime) {
    let mut network = Network::new(plan, 1).unwrap();
    let (from, _) = pair(&mut network, 0, 1, options());
    network.post(from, write(1, 40_000_000, Some(1))).unwrap();
    let notices = finish(&mut network, seen);
    let counters = [0, 1].map(|nic| network.counters(NicId(nic)).unwrap());
    (counters, notices.last().unwrap().0)
}

fn with(trouble: Trouble) -> NetworkPlan {
    let mut plan = star(2, RATE);
    plan.troubles = vec![trouble];
    tap_everything(&mut plan);
    plan
}

#[test]
fn a_clean_network_counts_nothing() {
    let (counters, end) = transfer(&star(2, RATE), &mut Seen::default());
    for counters in counters {
        let traffic = NicCounters {
            rx_vport_rdma_unicast_bytes: counters.rx_vport_rdma_unicast_bytes,
            rx_vport_rdma_unicast_packets: counters.rx_vport_rdma_unicast_packets,
            tx_vport_rdma_unicast_bytes: counters.tx_vport_rdma_unicast_bytes,
            tx_vport_rdma_unicast_packets: counters.tx_vport_rdma_unicast_packets,
            ..NicCounters::default()
        };
        assert_eq!(counters, traffic);
    }
    assert_eq!(counters[0].tx_vport_rdma_unicast_bytes, counters[1].rx_vport_rdma_unicast_bytes);
    assert_eq!(counters[1].rx_vport_rdma_unicast_packets, 40_000_000_u64.div_ceil(4096));
    assert!((3_200_000..3_300_000).contains(&end.0), "{end}");
}

#[test]
fn a_slow_receiver_pauses_its_switch() {
    let trouble = Trouble::SlowReceive {
        nic: NicId(1),
        rate_bps: RATE / 4,
        span: Span { from: VirtualTime(1_000_000), until: VirtualTime(2_000_000) },
    };
    let mut plan = with(trouble);
    // Rate control would slow the sender too.
    plan.nics[0].dcqcn = None;
    let (counters, end) = transfer(&plan, &mut Seen::default());
    let place = usize::from(LOSSLESS);
    assert!(counters[1].tx_prio_pause[place] > 2);
    // Three quarters of the millisecond, less what the buffer held.
    let paused = counters[1].tx_prio_pause_duration[place];
    assert!((600..900).contains(&paused), "{paused}");
    assert_eq!(counters[1].rx_discards_phy, 0);
    assert!((3_950_000..4_200_000).contains(&end.0), "{end}");
}

#[test]
fn a_slow_sender_is_slow() {
    let span = Span::ALWAYS;
    let trouble = Trouble::SlowSend { nic: NicId(0), rate_bps: RATE / 2, span };
    let (counters, end) = transfer(&with(trouble), &mut Seen::default());
    assert!((6_400_000..6_600_000).contains(&end.0), "{end}");
    assert_eq!(counters[0].rx_prio_pause[usize::from(LOSSLESS)], 0);
}

#[test]
fn a_pause_storm_stops_everything_for_as_long_as_it_lasts() {
    let span = Span { from: VirtualTime(1_000_000), until: VirtualTime(6_000_000) };
    let trouble = Trouble::PauseStorm { nic: NicId(1), priority: LOSSLESS, span };
    let mut seen = Seen::default();
    let (counters, end) = transfer(&with(trouble), &mut seen);
    let place = usize::from(LOSSLESS);
    assert_eq!(counters[1].tx_prio_pause_duration[place], 5_000);
    // A pause lasts 335.5 us at 100 Gb/s and is renewed after half of that; then XON.
    assert_eq!(counters[1].tx_prio_pause[place], 1 + 5_000 / 167 + 1);
    assert!((8_200_000..8_400_000).contains(&end.0), "{end}");
    let storm = (VirtualTime(1_010_000)..VirtualTime(6_000_000), PortId::first(LinkId(1)));
    let arrivals = seen.at(storm.1).filter(|(time, direction, packet)| {
        let is_data = matches!(packet.body, Body::Write(_));
        storm.0.contains(time) && *direction == Direction::In && is_data
    });
    assert_eq!(arrivals.count(), 0);
}

#[test]
fn a_leg_that_clears_ect_is_not_marked_after_it() {
    let trouble = Trouble::ClearEct { from: PortId::second(LinkId(1)), span: Span::ALWAYS };
    let mut seen = Seen::default();
    transfer(&with(trouble), &mut seen);
    let data = |port| {
        let packets = seen.at(port).filter(|p| matches!(p.2.body, Body::Write(_)));
        packets.map(|(_, _, packet)| packet.ecn).collect::<Vec<_>>()
    };
    assert!(data(PortId::second(LinkId(0))).iter().all(|&ecn| ecn == Ecn::Ect0));
    assert!(data(PortId::first(LinkId(1))).iter().all(|&ecn| ecn == Ecn::NotEct));
}

#[test]
fn another_dscp_is_another_priority() {
    let trouble =
        Trouble::RewriteDscp { from: PortId::first(LinkId(0)), dscp: 0, span: Span::ALWAYS };
    let mut plan = with(trouble);
    // The outgoing link is slow, so the switch must buffer. In a lossless class it would pause
    // instead.
    plan.links[1].rate_bps = RATE / 10;
    plan.switches[0].buffer_bytes = 1_000_000;
    let mut seen = Seen::default();
    let (counters, _) = transfer(&plan, &mut seen);
    let data = seen.at(PortId::first(LinkId(1))).filter(|p| matches!(p.2.body, Body::Write(_)));
    assert!(data.clone().count() > 9_000 && data.clone().all(|(_, _, packet)| packet.dscp == 0));
    assert_ne!(ROCE_DSCP, 0);
    assert_eq!(counters[0].rx_prio_pause, [0; 8]);
    assert!(counters[0].packet_seq_err > 0, "a queue without PFC drops");
}

#[test]
fn a_flap_is_survived() {
    let span = Span { from: VirtualTime(1_000_000), until: VirtualTime(2_000_000) };
    let (counters, end) =
        transfer(&with(Trouble::Down { link: LinkId(1), span }), &mut Seen::default());
    assert_eq!([counters[0].link_down_events_phy, counters[1].link_down_events_phy], [0, 1]);
    assert!(counters[0].packet_seq_err + counters[0].local_ack_timeout_err > 0);
    // After the link is back, the first NAK restarts from the first lost packet.
    assert!(end.0 < 20_000_000, "{end}");
}

#[test]
fn background_traffic_heats_a_link() {
    let mut plan = star(3, RATE);
    plan.background = vec![BackgroundFlow {
        from: NicId(2),
        to: NicId(1),
        rate_bps: RATE / 2,
        payload_bytes: 1400,
        udp_source_port: 7000,
        udp_destination_port: 8000,
        dscp: 0,
        ecn: Ecn::NotEct,
        span: Span { from: VirtualTime(0), until: VirtualTime(10_000_000) },
    }];
    let mut seen = Seen::default();
    let (counters, end) = transfer(&plan, &mut seen);
    // At half the link rate it would take 6.5 ms; DCQCN stays below that rate.
    assert!((6_500_000..10_000_000).contains(&end.0), "{end}");
    assert!(seen.occurrences.iter().any(|(_, o)| matches!(o, Occurrence::Marked { .. })));
    assert!(counters[0].rp_cnp_handled > 0);

    // The background flow alone: half of the link for 10 ms, with the deviation of a Poisson
    // process.
    let mut network = Network::new(&plan, 1).unwrap();
    finish(&mut network, &mut Blind);
    let port = network.port_counters(PortId::first(LinkId(2))).unwrap();
    let expected = 0.5 * 0.01 * RATE as f64 / 8.0 / (1400.0 + 42.0 + 24.0);
    let deviations = (port.frames_sent as f64 - expected) / expected.sqrt();
    assert!(deviations.abs() < 4.0, "{deviations}");
}

#[test]
fn a_plan_that_contradicts_itself_is_refused() {
    let refused = |change: fn(&mut NetworkPlan)| {
        let mut plan = star(2, RATE);
        change(&mut plan);
        Network::new(&plan, 1).err().map(|error| error.to_string())
    };
    assert_eq!(refused(|_| ()), None);
    type Change = fn(&mut NetworkPlan);
    let cases: [(Change, &str); 5] = [
        (|plan| plan.links.truncate(1), "NIC nic1 has 0 links, not one"),
        (|plan| plan.switches.clear(), "link 0 names switch 0, which does not exist"),
        (|plan| plan.links[1].rate_bps = 0, "link 1: a link needs a rate"),
        (
            |plan| {
                let (from, span) = (PortId::first(LinkId(1)), Span::ALWAYS);
                plan.troubles =
                    vec![Trouble::Loss { from, of: LossFilter::default(), share: f64::NAN, span }];
            },
            "trouble 0: a share is from 0 to 1",
        ),
        (
            |plan| plan.troubles = vec![Trouble::Down { link: LinkId(2), span: Span::ALWAYS }],
            "trouble 0 names link 2, which does not exist",
        ),
    ];
    for (change, message) in cases {
        assert_eq!(refused(change).as_deref(), Some(message));
    }
    let error = PlanError::LinksOfNic { name: "a".to_owned(), links: 2 };
    assert_eq!(error.to_string(), "NIC a has 2 links, not one");
}
