//! Is the MTU large, and the same on all rails?

use std::collections::BTreeMap;

use super::{Check, by_kind, list, rails};
use crate::doctor::fact::Facts;
use crate::doctor::outcome::Outcome;

/// MTUs.
pub(super) const CHECK: Check =
    Check { name: "mtu", asks: "Is the MTU large enough, and the same on all rails?", judge };

const SEEN: &str = "/sys/class/net/*/mtu";
/// Bytes around the payload of a RoCE v2 packet that count in the interface's MTU: IPv6 40, UDP 8, BTH 12, RETH 16,
/// ImmDt 4, ICRC 4, and what drivers reserve beyond it (`iboe_get_mtu` of Linux subtracts `IB_GRH_BYTES` + `IB_UDP_BYTES` +
/// `IB_BTH_BYTES` + `IB_EXT_XRC_BYTES` + `IB_EXT_ATOMICETH_BYTES` + `IB_ICRC_BYTES`).
const AROUND: u32 = 40 + 8 + 12 + 4 + 28 + 4;

/// Largest path MTU of RoCE over an interface with this MTU, bytes of payload.
fn path_mtu(mtu: u32) -> u32 {
    let fits = |path: &u32| path + AROUND <= mtu;
    [4096, 2048, 1024, 512, 256].into_iter().find(fits).unwrap_or(0)
}

fn judge(facts: &Facts) -> Vec<Outcome> {
    let rails = rails(facts);
    let mut outcomes = Vec::new();
    for by_mtu in
        by_kind(&rails, |interface| interface.mtu).iter().filter(|by_mtu| by_mtu.len() > 1)
    {
        let each = by_mtu.iter().map(|(mtu, names)| format!("{mtu} on {}", list(names)));
        let says = format!(
            "Rails of one kind have different MTUs: {}.",
            each.collect::<Vec<_>>().join("; ")
        );
        outcomes.push(
            Outcome::warning(says)
                .seen(SEEN)
                .fix("one MTU on all rails, hosts and switches: `ip link set DEV mtu 9000`"),
        );
    }
    let mut by_mtu: BTreeMap<u32, Vec<String>> = BTreeMap::new();
    for rail in &rails {
        if let Some(mtu) = rail.interface.mtu {
            by_mtu.entry(mtu).or_default().push(rail.interface.name.clone());
        }
    }
    for (mtu, names) in by_mtu.iter().filter(|(mtu, _)| path_mtu(**mtu) < 4096) {
        let path = path_mtu(*mtu);
        let says = format!(
            "MTU {mtu} on {}: RDMA packets carry {path} bytes instead of 4096, {} times as many packets.",
            list(names),
            4096 / path.max(256)
        );
        let outcome = if path < 1024 { Outcome::warning(says) } else { Outcome::note(says) };
        outcomes.push(outcome.seen(SEEN).fix("jumbo frames on all hosts and switches: `ip link set DEV mtu 9000`; `ping -M do -s 8972 PEER` proves the path"));
    }
    if let (true, Some((mtu, names))) = (outcomes.is_empty(), by_mtu.first_key_value()) {
        let says = format!(
            "MTU {mtu} on {}: path MTU 4096. The switches between must carry it, too.",
            list(names)
        );
        outcomes.push(Outcome::right(says).seen(SEEN));
    }
    outcomes
}
