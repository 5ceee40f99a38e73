//! With any network and any fault: no packet appears from nowhere, disappears or overtakes another,
//! and the same seed gives the same run.

use std::collections::BTreeMap;

use proptest::prelude::*;
use railscope_drive::simulate::network::Network;
use railscope_drive::simulate::network::counters::PortCounters;
use railscope_drive::simulate::network::id::{LinkId, NicId, NodeId, PRIORITIES, PortId};
use railscope_drive::simulate::network::notice::{Notice, QueuePairId, QueuePairOptions};
use railscope_drive::simulate::network::packet::{Body, Ecn};
use railscope_drive::simulate::network::plan::{BackgroundFlow, NetworkPlan, Pfc};
use railscope_drive::simulate::network::tap::{Direction, Occurrence};
use railscope_drive::simulate::network::trouble::{LossFilter, Trouble};
use railscope_drive::simulate::time::{Span, VirtualTime};

use super::testbed::{
    LOSSLESS, MARKING, Seen, finish, leaf_spine, options, pair, tap_everything, write,
};

const RATE: u64 = 100_000_000_000;
const LEAVES: usize = 2;
const SPINES: usize = 2;
const NICS_PER_LEAF: usize = 3;
const NICS: u32 = 6;
const LINKS: u32 = 10;

const PAUSE_FRAME_BYTES: u64 = 60;

/// A sender, a receiver, and the sizes of the messages.
#[derive(Clone, Debug)]
struct Flow {
    from: u32,
    to: u32,
    udp_source_port: u16,
    messages: Vec<u32>,
}

fn flows() -> impl Strategy<Value = Vec<Flow>> {
    let flow = (0..NICS, 1..NICS, 49_152_u16.., prop::collection::vec(0_u32..400_000, 1..6));
    let flow = flow.prop_map(|(from, distance, udp_source_port, messages)| Flow {
        from,
        to: (from + distance) % NICS,
        udp_source_port,
        messages,
    });
    prop::collection::vec(flow, 1..8)
}

fn span() -> impl Strategy<Value = Span> {
    (0_u64..200_000, 1_u64..200_000).prop_map(|(from, length)| Span {
        from: VirtualTime(from),
        until: VirtualTime(from + length),
    })
}

fn port() -> impl Strategy<Value = PortId> {
    (0..LINKS, any::<bool>()).prop_map(|(link, first)| {
        let link = LinkId(link);
        if first { PortId::first(link) } else { PortId::second(link) }
    })
}

fn trouble() -> impl Strategy<Value = Trouble> {
    let nic = || (0..NICS).prop_map(NicId);
    let rate = 1_000_000_000_u64..RATE;
    prop_oneof![
        (port(), 0.0..0.2, span()).prop_map(|(from, share, span)| Trouble::Loss {
            from,
            of: LossFilter::default(),
            share,
            span
        }),
        (port(), 0.0..0.2, 0_u64..100_000, span())
            .prop_map(|(from, share, by_ns, span)| { Trouble::Delay { from, share, by_ns, span } }),
        (0..LINKS, span()).prop_map(|(link, span)| Trouble::Down { link: LinkId(link), span }),
        (port(), span()).prop_map(|(from, span)| Trouble::ClearEct { from, span }),
        (port(), 0_u8..64, span()).prop_map(|(from, dscp, span)| Trouble::RewriteDscp {
            from,
            dscp,
            span
        }),
        (nic(), rate.clone(), span()).prop_map(|(nic, rate_bps, span)| Trouble::SlowReceive {
            nic,
            rate_bps,
            span
        }),
        (nic(), rate, span()).prop_map(|(nic, rate_bps, span)| Trouble::SlowSend {
            nic,
            rate_bps,
            span
        }),
        (nic(), 0_u8..8, span()).prop_map(|(nic, priority, span)| Trouble::PauseStorm {
            nic,
            priority,
            span
        }),
    ]
}

fn plan() -> impl Strategy<Value = NetworkPlan> {
    let troubles = prop::collection::vec(trouble(), 0..4);
    let background = prop::option::of((0..NICS, 0..NICS, span()));
    let room = (0_u64..400_000, 0_u64..100_000, 200_000_u64..2_000_000, any::<bool>());
    (troubles, background, room).prop_map(|(troubles, background, room)| {
        let (xoff_bytes, headroom_bytes, buffer_bytes, has_pfc) = room;
        let mut plan = leaf_spine(LEAVES, SPINES, NICS_PER_LEAF, RATE);
        plan.convergence_ns = 50_000;
        plan.troubles = troubles;
        let background = background.map(|(from, to, span)| BackgroundFlow {
            from: NicId(from),
            to: NicId(to),
            rate_bps: RATE / 3,
            payload_bytes: 1000,
            udp_source_port: 1234,
            udp_destination_port: 5678,
            dscp: 26,
            ecn: Ecn::Ect0,
            span,
        });
        plan.background = background.into_iter().collect();
        for switch in &mut plan.switches {
            switch.buffer_bytes = buffer_bytes;
            let pfc = Pfc { xoff_bytes, xon_bytes: xoff_bytes / 2, headroom_bytes };
            switch.queues[usize::from(LOSSLESS)].pfc = has_pfc.then_some(pfc);
        }
        tap_everything(&mut plan);
        plan
    })
}

/// A finished run: what was captured, and the completions that the job got.
struct Run {
    network: Network,
    seen: Seen,
    notices: Vec<(VirtualTime, Notice)>,
    pairs: Vec<(QueuePairId, QueuePairId)>,
}

fn run(plan: &NetworkPlan, flows: &[Flow], seed: u64) -> Run {
    let mut network = Network::new(plan, seed).unwrap();
    let mut pairs = Vec::new();
    for flow in flows {
        let options = QueuePairOptions {
            udp_source_port: flow.udp_source_port,
            timeout_ns: 300_000,
            mtu: 1024,
            ..options()
        };
        let (from, to) = pair(&mut network, flow.from, flow.to, options);
        for (id, &bytes) in (0_u32..).zip(&flow.messages) {
            network.post(from, write(u64::from(id), bytes, Some(id))).unwrap();
        }
        pairs.push((from, to));
    }
    let mut seen = Seen::default();
    let notices = finish(&mut network, &mut seen);
    Run { network, seen, notices, pairs }
}

/// A peer receives or loses what a port sends; a switch sends or drops what it receives.
fn check_bytes(plan: &NetworkPlan, network: &Network) -> Result<(), TestCaseError> {
    let counters = |port| network.port_counters(port).unwrap();
    let mut switches = vec![(0_u64, 0_u64); plan.switches.len()];
    for (index, link) in (0..).zip(&plan.links) {
        let ends = [PortId::first(LinkId(index)), PortId::second(LinkId(index))];
        for (port, end) in ends.into_iter().zip(&link.ends) {
            let (here, there) = (counters(port), counters(port.peer()));
            prop_assert_eq!(here.bytes_sent, there.bytes_received + there.bytes_lost);
            prop_assert_eq!(here.frames_sent, there.frames_received + there.frames_lost);
            let NodeId::Switch(switch) = end.node else { continue };
            let pauses = |counts: [u64; PRIORITIES]| counts.iter().sum::<u64>() * PAUSE_FRAME_BYTES;
            let PortCounters { bytes_received, bytes_sent, bytes_dropped, .. } = here;
            let (inward, outward) = &mut switches[switch.0 as usize];
            *inward += bytes_received - pauses(here.pauses_received);
            *outward += bytes_sent - pauses(here.pauses_sent) + bytes_dropped;
        }
    }
    for (inward, outward) in switches {
        prop_assert_eq!(inward, outward);
    }
    Ok(())
}

/// Frames arrive at the far end of a link in the order in which they were sent, unless a port is told
/// to delay some.
fn check_order(plan: &NetworkPlan, seen: &Seen) -> Result<(), TestCaseError> {
    for link in (0..LINKS).map(LinkId) {
        for port in [PortId::first(link), PortId::second(link)] {
            let delays =
                |trouble: &Trouble| matches!(trouble, Trouble::Delay { from, .. } if *from == port);
            if plan.troubles.iter().any(delays) {
                continue;
            }
            let out = seen.at(port).filter(|p| p.1 == Direction::Out).map(|p| p.2);
            let mut arrived = seen.at(port.peer()).filter(|p| p.1 == Direction::In).map(|p| p.2);
            let mut next = arrived.next();
            for sent in out {
                if next == Some(sent) {
                    next = arrived.next();
                }
            }
            prop_assert_eq!(next, None, "a frame arrived that was not sent, or out of order");
        }
    }
    Ok(())
}

/// Marks only above Kmin; none on Not-ECT packets; CNPs no closer than their interval.
fn check_congestion(seen: &Seen) -> Result<(), TestCaseError> {
    for (_, occurrence) in &seen.occurrences {
        if let Occurrence::Marked { queue_bytes, .. } = occurrence {
            prop_assert!(*queue_bytes > MARKING.kmin_bytes);
        }
    }
    let mut last: BTreeMap<(NicId, NicId, u32), VirtualTime> = BTreeMap::new();
    for nic in 0..NICS {
        for (time, direction, packet) in seen.at(PortId::first(LinkId(nic))) {
            let (Body::Cnp { destination_qpn }, Direction::Out) = (&packet.body, direction) else {
                continue;
            };
            let key = (packet.source, packet.destination, *destination_qpn);
            if let Some(before) = last.insert(key, time) {
                prop_assert!(time.since(before) >= 50_000);
            }
        }
    }
    Ok(())
}

/// Every message arrives once and in order, and its sender gets a completion; or it fails.
fn check_messages(run: &Run, flows: &[Flow]) -> Result<(), TestCaseError> {
    for (flow, &(from, to)) in flows.iter().zip(&run.pairs) {
        let (mut sent, mut failed, mut received) = (Vec::new(), Vec::new(), Vec::new());
        for (_, notice) in &run.notices {
            match notice {
                Notice::Sent { at, work } if *at == from => sent.push(*work),
                Notice::Failed { at, work } if *at == from => failed.push(*work),
                Notice::Received { at, bytes, immediate, .. } if *at == to => {
                    received.push((immediate.unwrap(), *bytes));
                }
                _ => {}
            }
        }
        let ids = 0..flow.messages.len() as u64;
        prop_assert!(sent.iter().chain(&failed).copied().eq(ids), "{:?} {:?}", sent, failed);
        prop_assert!(received.len() >= sent.len());
        let posted = (0..).zip(flow.messages.iter().copied());
        prop_assert!(received.iter().copied().eq(posted.take(received.len())));
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn nothing_appears_vanishes_or_overtakes(plan in plan(), flows in flows(), seed in 0_u64..4) {
        let run = run(&plan, &flows, seed);
        check_bytes(&plan, &run.network)?;
        check_order(&plan, &run.seen)?;
        check_congestion(&run.seen)?;
        check_messages(&run, &flows)?;
    }

    #[test]
    fn the_same_seed_gives_the_same(plan in plan(), flows in flows(), seed: u64) {
        let (one, other) = (run(&plan, &flows, seed), run(&plan, &flows, seed));
        prop_assert_eq!(one.seen, other.seen);
        prop_assert_eq!(one.notices, other.notices);
    }
}
