//! Who invents agents, sources, interfaces and queue pairs takes a bounded part of the tables.

use serde_json::Value;

use super::{SECOND, analyze, drawn, roce};
use crate::support::sflow::{Counters, Drawn, counter_sample, datagram_of, flow_sample};

/// The address of an invented agent.
fn agent(number: u32) -> [u8; 4] {
    (0x0b00_0000 | number).to_be_bytes()
}

fn beyond(report: &Value) -> u64 {
    report["health"]["sflow.beyond_limit"].as_u64().unwrap_or(0)
}

#[test]
fn one_sender_has_half_of_all_agents_and_silent_ones_make_room() {
    let header = roce(1, 2, 0x11, false);
    let one = |number: u32, time: u64| {
        let sample = flow_sample(&drawn(1, &header, header.len()), false);
        (time, datagram_of(agent(number), 1, 1, &[sample]))
    };
    let mut datagrams: Vec<_> = (0..2000).map(|number| one(number, u64::from(number))).collect();
    let report = analyze(&datagrams);
    assert_eq!(report["sampled"].as_array().unwrap().len(), 512);
    assert_eq!(beyond(&report), 2000 - 512);
    // All come from one address here, so the limit stays; it holds after years, too.
    datagrams.push(one(5000, 400 * SECOND));
    assert_eq!(beyond(&analyze(&datagrams)), 2000 - 512 + 1);
}

#[test]
fn sources_interfaces_and_queue_pairs_are_bounded_over_all_agents() {
    let mut datagrams = Vec::new();
    for number in 0..40_u32 {
        let mut samples = Vec::new();
        for index in 0..1100 {
            let header = roce(1, 2, 100_000 * number + index, false);
            let base = drawn(index, &header, header.len());
            let drawn = Drawn { source: 1 + index, output: 1 + index, ..base };
            samples.push(flow_sample(&drawn, false));
            let counters = Counters { sequence: index, index, ..Counters::default() };
            samples.push(counter_sample(&counters, false));
        }
        for (at, part) in samples.chunks(200).enumerate() {
            let bytes = datagram_of(agent(number), at as u32, 1, part);
            datagrams.push((u64::from(number) * SECOND + at as u64, bytes));
        }
    }
    let report = analyze(&datagrams);
    let switches = report["sampled"].as_array().unwrap();
    let count = |name: &str| -> usize {
        switches.iter().map(|one| one[name].as_array().unwrap().len()).sum()
    };
    assert_eq!((count("sources"), count("interfaces")), (16_384, 16_384));
    assert_eq!(beyond(&report), 2 * (40 * 1100 - 16_384));
    assert!(switches.iter().all(|one| one["sources"].as_array().unwrap().len() <= 1024));
}
