//! Paths: shortest, spread by UDP source port, and around dead links.

use std::collections::BTreeSet;

use railscope_drive::simulate::network::Network;
use railscope_drive::simulate::network::id::{LinkId, NicId, PortId};
use railscope_drive::simulate::network::notice::{Notice, QueuePairOptions};
use railscope_drive::simulate::network::packet::{FlowKey, ROCE_PORT};
use railscope_drive::simulate::network::tap::{Blind, Occurrence};
use railscope_drive::simulate::network::trouble::Trouble;
use railscope_drive::simulate::time::{Span, VirtualTime};

use super::testbed::{Seen, finish, leaf_spine, options, pair, write};

const RATE: u64 = 100_000_000_000;

fn flow(source: u32, destination: u32, udp_source_port: u16) -> FlowKey {
    FlowKey {
        source: NicId(source),
        destination: NicId(destination),
        udp_source_port,
        udp_destination_port: ROCE_PORT,
    }
}

#[test]
fn source_ports_spread_over_all_uplinks() {
    let network = Network::new(&leaf_spine(4, 4, 4, RATE), 5).unwrap();
    let mut uplinks = [0_u32; 4];
    for port in 49_152..50_152 {
        let path = network.path(flow(0, 15, port));
        assert_eq!(path.len(), 4, "NIC, leaf, spine, leaf");
        // The links of the 16 NICs come first, then the first leaf's four uplinks.
        uplinks[path[1].link().0 as usize - 16] += 1;
        assert_eq!(path, network.path(flow(0, 15, port)));
        assert_eq!(path[3], PortId::second(LinkId(15)));
    }
    // 1000 flows over four links: the standard deviation is 13.7.
    assert!(uplinks.iter().all(|&flows| flows.abs_diff(250) < 60), "{uplinks:?}");
    assert_eq!(network.path(flow(0, 1, 50_000)).len(), 2, "same leaf");
}

#[test]
fn switches_choose_differently() {
    // Another leaf spreads the flows again that the first leaf sends to one spine.
    let network = Network::new(&leaf_spine(3, 4, 1, RATE), 5).unwrap();
    let ports = (49_152..51_152).filter(|&p| network.path(flow(0, 2, p))[1].link() == LinkId(3));
    let again: BTreeSet<_> = ports.map(|p| network.path(flow(1, 2, p))[1].link()).collect();
    assert_eq!(again.len(), 4);
}

#[test]
fn traffic_goes_around_a_link_that_is_down() {
    // Two spines. The leaf whose link died knows at once; the other leaf learns it when routes have
    // converged.
    for (from, to, at_once) in [(0, 1, true), (1, 0, false)] {
        let mut plan = leaf_spine(2, 2, 1, RATE);
        plan.convergence_ns = 3_000_000;
        let down = LinkId(2);
        let span = Span { from: VirtualTime(1_000_000), until: VirtualTime(50_000_000) };
        plan.troubles = vec![Trouble::Down { link: down, span }];
        let probe = Network::new(&plan, 5).unwrap();
        let first_spine = [LinkId(2), LinkId(4)];
        let port = (49_152..u16::MAX)
            .find(|&port| first_spine.contains(&probe.path(flow(from, to, port))[1].link()))
            .unwrap();
        let mut network = Network::new(&plan, 5).unwrap();
        let options =
            QueuePairOptions { udp_source_port: port, timeout_ns: 1_000_000, ..options() };
        let (sender, receiver) = pair(&mut network, from, to, options);
        for token in 0..100 {
            network.wake(VirtualTime(token * 100_000), token);
        }
        let mut seen = Seen::default();
        let mut arrivals = Vec::new();
        while let Some(notice) = network.advance(&mut seen) {
            match notice {
                Notice::Woken { token } => {
                    network.post(sender, write(token, 4096, Some(1))).unwrap();
                }
                Notice::Received { at, .. } if at == receiver => arrivals.push(network.now().0),
                Notice::Failed { .. } => panic!("{notice:?}"),
                _ => {}
            }
        }
        assert_eq!(arrivals.len(), 100);
        let gap = arrivals.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap();
        if at_once {
            // ACKs use the dead link until the other leaf knows, but requests get through.
            assert!(gap < 300_000, "{gap}");
        } else {
            assert!((2_900_000..5_000_000).contains(&gap), "{gap}");
        }
        let converged: Vec<_> = seen
            .occurrences
            .iter()
            .filter(|(_, occurrence)| *occurrence == Occurrence::Converged)
            .map(|(time, _)| time.0)
            .collect();
        assert_eq!(converged, [4_000_000, 53_000_000]);
    }
}

#[test]
fn what_cannot_be_reached_fails() {
    let mut plan = leaf_spine(2, 1, 1, RATE);
    plan.troubles = vec![Trouble::Down { link: LinkId(2), span: Span::ALWAYS }];
    let mut network = Network::new(&plan, 5).unwrap();
    let (from, _) = pair(&mut network, 0, 1, options());
    network.post(from, write(1, 4096, None)).unwrap();
    let notices = finish(&mut network, &mut Blind);
    assert_eq!(notices.last().unwrap().1, Notice::Failed { at: from, work: 1 });
    assert_eq!(network.path(flow(0, 1, 50_000)).len(), 1);
    let leaf = network.port_counters(PortId::second(LinkId(0))).unwrap();
    assert_eq!(leaf.frames_dropped, leaf.frames_received);
}
