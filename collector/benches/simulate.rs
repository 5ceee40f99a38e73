//! How fast the simulated fabric is, and how much memory it takes: 1,024 NICs write to each other
//! over leaves and spines, once at rest and once through uplinks that are too narrow.

#![expect(clippy::expect_used, reason = "a bench that cannot be set up has nothing to measure")]

use std::fs;

use railscope_drive::simulate::network::Network;
use railscope_drive::simulate::network::notice::QueuePairOptions;
use railscope_drive::simulate::network::tap::Blind;
use testbed::{leaf_spine, options, pair, write};

#[path = "../../tests/drive/simulate/testbed.rs"]
#[expect(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    reason = "the tests of the simulator have the same networks"
)]
mod testbed;

const LEAVES: usize = 32;
const NICS_PER_LEAF: usize = 32;
const RATE: u64 = 400_000_000_000;

/// Messages of each NIC, and their bytes.
const MESSAGES: u64 = 2;
const MESSAGE_BYTES: u32 = 4_000_000;

fn main() {
    println!(
        "{:<28} {:>12} {:>14} {:>12}",
        "1,024 NICs, 8 MB each", "hops", "hops/core-s", "peak memory"
    );
    for (name, spines) in [("as many uplinks as NICs", 32), ("one uplink for four NICs", 8)] {
        measure(name, spines);
    }
}

fn measure(name: &str, spines: usize) {
    let plan = leaf_spine(LEAVES, spines, NICS_PER_LEAF, RATE);
    let mut network = Network::new(&plan, 1).expect("the plan is sound");
    let nics = (LEAVES * NICS_PER_LEAF) as u32;
    for nic in 0..nics {
        let udp_source_port = 49_152 + (nic * 7919 % 16_384) as u16;
        let options = QueuePairOptions { udp_source_port, ..options() };
        // All traffic leaves its leaf: four links.
        let to = (nic + NICS_PER_LEAF as u32) % nics;
        let (from, _) = pair(&mut network, nic, to, options);
        for id in 0..MESSAGES {
            network.post(from, write(id, MESSAGE_BYTES, Some(0))).expect("it is connected");
        }
    }
    let before = processor_seconds();
    while network.advance(&mut Blind).is_some() {}
    let hops = network.hops();
    let per_second = hops as f64 / (processor_seconds() - before);
    println!("{name:<28} {hops:>12} {per_second:>14.0} {:>12}", peak_memory());
}

/// What this process, which has one thread, has had of a core: what others do does not count.
fn processor_seconds() -> f64 {
    let schedule = fs::read_to_string("/proc/self/schedstat").expect("this is Linux");
    let nanoseconds = schedule.split(' ').next().and_then(|field| field.parse::<f64>().ok());
    nanoseconds.expect("its first number is the time on a core") / 1e9
}

/// The most memory that this process has had.
fn peak_memory() -> String {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    peak.map_or_else(|| "unknown".to_owned(), |peak| peak.trim().to_owned())
}
