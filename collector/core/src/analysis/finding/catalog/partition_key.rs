//! The two ends of a queue pair use different partition keys.

use std::collections::BTreeMap;
use std::net::IpAddr;

use crate::analysis::finding::claim::transport::TransportClaim;
use crate::analysis::finding::facts::Facts;
use crate::analysis::finding::group::by_port;
use crate::analysis::finding::kind::{Kind, Need};
use crate::analysis::finding::observation::FlowObservation;
use crate::analysis::finding::{Finding, Proof, naming};
use crate::analysis::queue_pair::QueuePair;
use crate::analysis::severity::Severity;
use crate::flow::state::Flow;

/// The bit for full membership of the partition.
const FULL_MEMBER: u16 = 0x8000;

/// P_Key mismatch.
pub const KIND: Kind = Kind {
    id: "partition_key_mismatch",
    about: "Packets carry a different partition key (P_Key) than those coming back, or than all \
            others to the same port. The receiving NIC drops them silently, and the queue pair \
            dies of timeouts.",
    threshold: "The low 15 bits differ between the two directions of a queue pair, or from the \
                port's other flows, or both ends are limited members (IBTA volume 1, section \
                10.9.3).",
    remedy: "Compare /sys/class/infiniband/<dev>/ports/1/pkeys/* on both hosts, and the index in \
             use (NCCL_IB_PKEY; the same index must hold the same key). On RoCE the key is 0xffff \
             unless somebody changed it.",
    needs: &[Need::Roce],
    detect,
};

fn detect(facts: &Facts<'_>) -> Vec<Finding> {
    let answered = Answered::new(facts);
    let groups = by_port(facts.flows, |flow| u64::from(mismatch(facts, &answered, flow).is_some()));
    let found = groups.iter().filter_map(|group| {
        let worst = group.worst()?;
        let (own, other) = mismatch(facts, &answered, worst)?;
        let claim = TransportClaim::PartitionKeys { own, other, flows: naming::group(group) };
        let mut finding =
            KIND.finding(Severity::Critical, claim).about(group.subject()).over(group.span());
        finding.flows = group.places();
        let key = FlowObservation::PartitionKey(own);
        Some(finding.because(Proof::flow(worst, key, worst.first_frame(facts.state))))
    });
    found.collect()
}

/// By port: the keys of the first two answered flows to it.
struct Answered(BTreeMap<IpAddr, Vec<(u32, u16)>>);

impl Answered {
    fn new(facts: &Facts<'_>) -> Self {
        let table = facts.table();
        let mut by_port: BTreeMap<IpAddr, Vec<(u32, u16)>> = BTreeMap::new();
        for flow in facts.flows.iter().filter(|flow| flow.has_way_back) {
            let known = by_port.entry(flow.destination).or_default();
            if known.len() < 2
                && let Some(key) = table.get(flow.at as usize).and_then(key)
            {
                known.push((flow.at, key));
            }
        }
        Self(by_port)
    }

    /// The key of the first such flow that is another one.
    fn beside(&self, flow: &QueuePair) -> Option<u16> {
        let known = self.0.get(&flow.destination)?;
        known.iter().find(|(at, _)| *at != flow.at).map(|(_, key)| *key)
    }
}

/// Its key and the key of the other end.
fn mismatch(facts: &Facts<'_>, answered: &Answered, flow: &QueuePair) -> Option<(u16, u16)> {
    let table = facts.table();
    let seen = table.get(flow.at as usize)?;
    let own = key(seen)?;
    let back = seen.reverse.and_then(|reverse| table.get(reverse.flow as usize)).and_then(key);
    // The keys of an answered flow match; the answers carry the key of the other end.
    let other = match back {
        Some(back) => back,
        None if flow.has_requests => answered.beside(flow)?,
        None => return None,
    };
    let differ = (own ^ other) & !FULL_MEMBER != 0;
    let both_limited = own & FULL_MEMBER == 0 && other & FULL_MEMBER == 0;
    (differ || both_limited).then_some((own, other))
}

/// The most common partition key.
fn key(flow: &Flow) -> Option<u16> {
    let tally = flow.headers.partition_keys();
    let most = tally.iter().max_by_key(|(_, packets)| *packets);
    most.map(|(key, _)| key)
}
