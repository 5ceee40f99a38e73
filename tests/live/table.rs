//! The flow table of the kernel programs.

use std::collections::{HashMap, HashSet};

use proptest::prelude::*;
use railscope_ebpf::flow::{Arrival, Clock, FlowState, NONE, SILENT_NS};
use railscope_ebpf::stream::StreamState;
use railscope_ebpf::table::{Claim, Key, Set, WAYS};

/// The size of the kernel programs' flow table: 2^15 sets.
const BITS: u32 = 15;

fn ipv4(host: u32) -> [u32; 4] {
    [0, 0, 0xffff_u32.to_be(), (0x0a00_0000 | host).to_be()]
}

fn flow(time: u64) -> FlowState {
    let arrival = Arrival {
        wire_len: 1082,
        opcode: 0x07,
        asks_for_ack: false,
        psn: 7,
        aeth: NONE,
        fields: 0,
        dscp: 0,
        ecn: 0,
    };
    FlowState::new(&arrival, Clock { time, tick: 0 })
}

/// Flows per set, if every host talks to every other over `pairs` queue pairs.
fn crowds(hosts: u32, pairs: u32) -> Vec<usize> {
    let mut crowds = vec![0; 1 << BITS];
    for source in 0..hosts {
        for destination in (0..hosts).filter(|destination| *destination != source) {
            for pair in 0..pairs {
                // rxe numbers queue pairs from 17 on, hardware in steps.
                let qpn = 17 + (destination * pairs + pair) * if source % 2 == 0 { 1 } else { 64 };
                let key = Key::new(ipv4(source), ipv4(destination), qpn, 4);
                crowds[key.set(BITS) as usize] += 1;
            }
        }
    }
    crowds
}

/// Sets fill as by chance, although neighbouring addresses and queue pair numbers are all there is.
#[test]
fn neighbours_do_not_crowd() {
    for (hosts, pairs) in [(2, 8_000), (16, 64), (32, 16), (64, 4)] {
        let crowds = crowds(hosts, pairs);
        let flows: usize = crowds.iter().sum();
        let mean = flows as f64 / f64::from(1 << BITS);
        let without = crowds.iter().filter(|crowd| **crowd == 0).count() as f64;
        // Poisson: the share of sets that stay free.
        let expected = (-mean).exp() * f64::from(1 << BITS);
        assert!((without - expected).abs() < 0.03 * expected, "{flows}: {without} of {expected}");
        let refused: usize = crowds.iter().map(|crowd| crowd.saturating_sub(WAYS)).sum();
        assert!(refused * 1_000 <= flows, "{refused} of {flows}");
    }
}

/// A busy flow keeps its place, an idle one is evicted.
#[test]
fn silence_makes_room() {
    let mut set: Set<FlowState> = bytemuck::Zeroable::zeroed();
    let key = |qpn| Key::new(ipv4(1), ipv4(2), qpn, 4);
    for qpn in 0..WAYS as u32 {
        assert_eq!(set.claim(&key(qpn), flow(u64::from(qpn)), u64::from(qpn)), Claim::Kept);
    }
    // A packet on another CPU was slightly earlier than all of them.
    assert_eq!(set.claim(&key(99), flow(0), 0), Claim::Refused);
    let later = SILENT_NS + 1;
    assert_eq!(set.claim(&key(99), flow(later - 1), later - 1), Claim::Refused);
    assert_eq!(set.claim(&key(99), flow(later), later), Claim::Kept);
    assert!(set.find(&key(0)).is_none());
    assert_eq!(set.find(&key(99)).map(|flow| flow.run.last_time), Some(later));
    assert_eq!(set.find(&key(1)).map(|flow| flow.run.last_time), Some(1));
}

proptest! {
    /// Lookups return what was stored, and entries used since the last eviction are kept.
    #[test]
    fn streams_get_a_second_chance(ports in prop::collection::vec(0_u32..12, 1..200)) {
        let mut set: Set<StreamState> = bytemuck::Zeroable::zeroed();
        let mut bytes = HashMap::new();
        let mut used = HashSet::new();
        for (number, port) in (1_u64..).zip(ports) {
            let key = Key::new(ipv4(1), ipv4(2), port, 4);
            if let Some(stream) = set.find(&key) {
                prop_assert_eq!(Some(&stream.bytes), bytes.get(&port));
                stream.is_used = 1;
                used.insert(port);
                continue;
            }
            prop_assert!(!used.contains(&port), "{} was used and is gone", port);
            let claim = set.claim(&key, StreamState { bytes: number, is_used: 1, ..StreamState::default() }, 0);
            // The remaining entries have lost their second chance: the next eviction takes them.
            used.clear();
            if claim == Claim::Refused {
                let again = set.claim(&key, StreamState { bytes: number, is_used: 1, ..StreamState::default() }, 0);
                prop_assert_eq!(again, Claim::Kept);
            }
            bytes.insert(port, number);
            used.insert(port);
            prop_assert_eq!(set.find(&key).map(|stream| stream.bytes), Some(number));
        }
    }
}
