//! Congestion signals by the port that packets go to.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::net::IpAddr;

use super::queue_pair::QueuePair;

/// Signals about the queue pairs that send to a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortSignals {
    /// The port.
    pub address: IpAddr,
    /// CE-marked packets; `None` if no tap could see any.
    pub ce_packets: Option<u64>,
    /// The packets that these are among.
    pub among_packets: u64,
    /// Queue pairs with CE-marked packets.
    pub marked_queue_pairs: u64,
    /// CNPs.
    pub cnps: u64,
}

/// The ports with any signal, that with most CE marks first.
#[must_use]
pub fn signals(queue_pairs: &[QueuePair]) -> Vec<PortSignals> {
    let mut ports: BTreeMap<IpAddr, PortSignals> = BTreeMap::new();
    for one in queue_pairs {
        let address = one.destination;
        let known = ports.entry(address).or_insert(PortSignals {
            address,
            ce_packets: None,
            among_packets: 0,
            marked_queue_pairs: 0,
            cnps: 0,
        });
        if let Some((ce, among)) = one.visible_marks() {
            known.ce_packets = Some(known.ce_packets.unwrap_or(0) + ce);
            known.among_packets += among;
            known.marked_queue_pairs += u64::from(ce > 0);
        }
        known.cnps += one.cnps;
    }
    let has_any = |one: &PortSignals| one.ce_packets.unwrap_or(0) + one.cnps > 0;
    let mut ports: Vec<PortSignals> = ports.into_values().filter(has_any).collect();
    ports.sort_by_key(|one| Reverse((one.ce_packets, one.cnps)));
    ports
}
