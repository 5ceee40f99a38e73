//! Many queue pairs between two hosts: which flows belong together, and the effect of a CNP.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::see;
use crate::support::frame::FrameBuilder;
use crate::support::ip::Ipv4;
use crate::support::random::Random;
use crate::support::roce::Roce;

const SEND_ONLY: u8 = 0x04;
const ACK: u8 = 0x11;
const CNP: u8 = 0x81;

/// How the queue pairs are numbered and timed.
#[derive(Clone, Debug)]
struct Fabric {
    pairs: u32,
    /// Different UDP source ports; both directions of a pair may share one.
    ports: u16,
    has_port_per_direction: bool,
    /// All PSNs start at 0, as with NCCL, or each at a different value.
    is_in_lockstep: bool,
    rounds: u32,
    seed: u64,
}

impl Fabric {
    /// The QPNs of pair `index` at both hosts: the same set of numbers in another order.
    fn qpns(&self, index: u32) -> [u32; 2] {
        [0x100 + index, 0x100 + (index + 3) % self.pairs]
    }

    fn first_psn(&self, index: u32) -> u32 {
        if self.is_in_lockstep { 0 } else { index.wrapping_mul(0x3_1415) & 0xff_ffff }
    }

    /// One message per round and pair, and its ACK.
    fn frames(&self) -> Vec<(u64, Vec<u8>)> {
        let mut random = Random::new(self.seed);
        let mut frames = Vec::new();
        for round in 0..self.rounds {
            for index in 0..self.pairs {
                let [requester, responder] = self.qpns(index);
                let psn = (self.first_psn(index) + round) & 0xff_ffff;
                let port = 49_152 + (index as u16 % self.ports);
                let back_port = port + if self.has_port_per_direction { self.ports } else { 0 };
                let time = u64::from(round) * 200_000 + random.below(150_000);
                let ask = Roce {
                    dest_qpn: responder,
                    psn,
                    ack_request: true,
                    ..Roce::new(SEND_ONLY, 16)
                };
                let reply = Roce { dest_qpn: requester, psn, msn: round, ..Roce::new(ACK, 0) };
                let id = (round * self.pairs + index) as u16;
                frames.push((time, frame(true, port, id, &ask)));
                let back = time + 5_000 + random.below(40_000);
                frames.push((back, frame(false, back_port, id, &reply)));
            }
        }
        frames.sort_by_key(|(time, _)| *time);
        frames
    }
}

fn frame(is_forward: bool, port: u16, identification: u16, packet: &Roce) -> Vec<u8> {
    let ip = Ipv4 { identification, ..Ipv4::default() };
    let back = Ipv4 { source: ip.destination, destination: ip.source, ..ip.clone() };
    let frame = FrameBuilder::ethernet().ipv4(if is_forward { &ip } else { &back });
    frame.udp(port, 4791).roce(packet).finish().bytes
}

/// The number of flows with a reverse flow; every one of them is right.
fn paired_flows(fabric: &Fabric) -> usize {
    let seen = see(&fabric.frames());
    let hosts = [Ipv4::default().source, Ipv4::default().destination];
    let [requester_host, _] = hosts.map(|[a, b, c, d]| format!("{a}.{b}.{c}.{d}"));
    let pairs = (0..fabric.pairs).map(|index| fabric.qpns(index));
    let responder_of: BTreeMap<u32, u32> = pairs.map(|[one, other]| (one, other)).collect();
    let flows = &seen.report.flows;
    assert_eq!(flows.len(), 2 * fabric.pairs as usize);
    let mut paired = 0;
    for flow in flows.iter().filter(|flow| flow.src == requester_host) {
        let Some(reverse) = &flow.reverse else { continue };
        paired += 2;
        let responder = responder_of[&reverse.dest_qpn];
        assert_eq!(responder, flow.dest_qpn, "{} {fabric:?}", reverse.evidence);
    }
    paired
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_pair_is_right_or_not_made(
        pairs in 1..64_u32,
        ports in 1..80_u16,
        has_port_per_direction: bool,
        is_in_lockstep: bool,
        seed: u64,
    ) {
        let rounds = 20;
        let fabric = Fabric { pairs, ports, has_port_per_direction, is_in_lockstep, rounds, seed };
        let paired = paired_flows(&fabric);
        let has_own_ports = u32::from(ports) >= pairs && !has_port_per_direction;
        if has_own_ports || !is_in_lockstep {
            prop_assert_eq!(paired, 2 * pairs as usize, "every pair is matched");
        }
    }

    #[test]
    fn a_number_used_again_from_zero_is_another_epoch(
        first_psn in 5_000..0xf0_0000_u32,
        packets in 1..50_u32,
        further in 1..50_u32,
    ) {
        let mut frames = Vec::new();
        let psns = (first_psn..first_psn + packets).chain(0..further);
        for (number, psn) in (0_u64..).zip(psns) {
            let ask = Roce { dest_qpn: 7, psn, ack_request: true, ..Roce::new(SEND_ONLY, 16) };
            let reply = Roce { dest_qpn: 8, psn, ..Roce::new(ACK, 0) };
            frames.push((number * 10_000, frame(true, 50_000, number as u16, &ask)));
            frames.push((number * 10_000 + 5_000, frame(false, 50_000, number as u16, &reply)));
        }
        let seen = see(&frames);
        let to_responder = seen.report.flows.iter().filter(|flow| flow.dest_qpn == 7);
        let epochs: Vec<_> = to_responder.map(|flow| (flow.epoch, flow.frames)).collect();
        prop_assert_eq!(epochs, [(0, u64::from(packets)), (1, u64::from(further))]);
        for flow in &seen.report.flows {
            prop_assert_eq!(flow.psn.gap_packets, Some(0));
            prop_assert_eq!(flow.psn.retransmitted_packets, Some(0));
            prop_assert!(flow.reverse.is_some());
        }
    }
}

/// A sender with gaps of `before` and `after` nanoseconds between packets around one CNP.
fn reaction(before_ns: u64, after_ns: u64) -> (u64, u64, u64) {
    let mut frames = Vec::new();
    let mut time = 0;
    let mut psn = 0;
    while time < 10_000_000 {
        psn += 1;
        let ask = Roce { dest_qpn: 7, psn, ack_request: true, ..Roce::new(SEND_ONLY, 1024) };
        frames.push((time, frame(true, 50_000, psn as u16, &ask)));
        let reply = Roce { dest_qpn: 8, psn, ..Roce::new(ACK, 0) };
        frames.push((time + 400, frame(false, 50_000, psn as u16, &reply)));
        time += if time < 5_000_000 { before_ns } else { after_ns };
    }
    let cnp = Roce { dest_qpn: 8, psn: 0, ..Roce::new(CNP, 0) };
    frames.push((5_000_000, frame(false, 50_000, 0, &cnp)));
    frames.sort_by_key(|(time, _)| *time);
    let seen = see(&frames);
    let reaction = seen.flow_to(7).cnp_reaction.clone().unwrap();
    assert_eq!(reaction.samples, 1);
    (reaction.slowed, reaction.mean_before_bps, reaction.mean_after_bps)
}

#[test]
fn a_sender_that_slows_down_at_a_cnp_is_seen_to() {
    let (slowed, before, after) = reaction(1_000, 2_000);
    assert_eq!(slowed, 1);
    let ratio = before as f64 / after as f64;
    assert!((1.9..2.1).contains(&ratio), "{before} to {after}");
    let (slowed, before, after) = reaction(2_000, 1_000);
    assert_eq!(slowed, 0);
    assert!(after > before);
}
