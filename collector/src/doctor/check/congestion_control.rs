//! Is congestion control (DCQCN) on for the priority that is paused?

use std::collections::BTreeMap;

use super::{Check, list, rails};
use crate::doctor::fact::Facts;
use crate::doctor::fact::interface::Interface;
use crate::doctor::outcome::Outcome;

/// Congestion control.
pub(super) const CHECK: Check = Check {
    name: "congestion_control",
    asks: "Do NICs react to congestion on the protected priority?",
    judge,
};

const SEEN: &str = "/sys/class/net/*/ecn/{roce_np,roce_rp}/enable";

fn judge(facts: &Facts) -> Vec<Outcome> {
    let rails = rails(facts).into_iter().map(|rail| rail.interface);
    // Software devices have none.
    let interfaces: Vec<&Interface> =
        rails.filter(|interface| interface.function.is_some()).collect();
    let Some(first) = interfaces.first() else { return Vec::new() };
    let mut outcomes = cnps(&interfaces);
    if let Err(missing) = &first.ecn {
        let says = format!("Not checked: {missing}; only MLNX_OFED and DOCA-OFED show it there.");
        outcomes.push(Outcome::unseen(says).seen(SEEN).fix(
            "mlx5: `mlxconfig -d ADDRESS query | grep ROCE_CC`; bnxt_re: /sys/kernel/debug/bnxt_re",
        ));
        return outcomes;
    }
    let mut compared = 0;
    for interface in &interfaces {
        let (Ok(ecn), Ok(dcb)) = (&interface.ecn, &interface.dcb) else { continue };
        let Some(pfc) = dcb.pfc else { continue };
        compared += 1;
        let off: Vec<String> = (0..8)
            .zip(pfc)
            .zip(ecn.notifies.iter().zip(&ecn.reacts))
            .filter(|((_, is_paused), (notifies, reacts))| *is_paused && !(**notifies && **reacts))
            .map(|((priority, _), _)| priority.to_string())
            .collect();
        if !off.is_empty() {
            let says = format!(
                "{} pauses priority {} without congestion control: senders slow down only when they are paused, and pause spreads.",
                interface.name,
                list(&off)
            );
            let each = off.iter().map(|priority| {
                let at = format!("/sys/class/net/{}/ecn", interface.name);
                format!("`echo 1 > {at}/roce_np/enable/{priority}; echo 1 > {at}/roce_rp/enable/{priority}`")
            });
            let fix = format!("{}; ECN on the switches", each.collect::<Vec<_>>().join(", "));
            outcomes.push(Outcome::warning(says).seen(SEEN).fix(fix));
        }
    }
    if compared == 0 {
        let says = "Not checked: which priorities are paused is not known.";
        outcomes.push(Outcome::unseen(says).seen(SEEN));
    } else if outcomes.is_empty() {
        outcomes.push(
            Outcome::right("NICs send CNPs and react to them on the priorities that are paused.")
                .seen(SEEN),
        );
    }
    outcomes
}

/// CNPs must arrive where data is paused: on a priority of their own, the same on all rails.
fn cnps(interfaces: &[&Interface]) -> Vec<Outcome> {
    const SEEN: &str = "/sys/kernel/debug/mlx5/*/cc_params/{np_cnp_dscp,np_cnp_prio}";
    let mut by_mark: BTreeMap<(u64, u64), Vec<String>> = BTreeMap::new();
    for interface in interfaces {
        if let Ok(cnp) = interface.cnp {
            by_mark.entry((cnp.dscp, cnp.priority)).or_default().push(interface.name.clone());
        }
    }
    let marked = |((dscp, priority), names): (&(u64, u64), &Vec<String>)| {
        format!("DSCP {dscp}, priority {priority} on {}", list(names))
    };
    if by_mark.len() > 1 {
        let all: Vec<String> = by_mark.iter().map(marked).collect();
        let says = format!("NICs mark CNPs differently: {}.", all.join("; "));
        return vec![
            Outcome::warning(says)
                .seen(SEEN)
                .fix("one DSCP on all, in a strict-priority queue of the switches"),
        ];
    }
    let is_paused = |interface: &&&Interface| {
        let cnp = interface.cnp.as_ref().ok();
        let dcb = interface.dcb.as_ref().ok();
        cnp.zip(dcb).is_some_and(|(cnp, dcb)| {
            let of_dscp = dcb.dscp.iter().find(|(dscp, _)| u64::from(*dscp) == cnp.dscp);
            let priority = of_dscp.map_or(cnp.priority, |(_, priority)| u64::from(*priority));
            let index = usize::try_from(priority).unwrap_or(usize::MAX);
            dcb.pfc.is_some_and(|pfc| pfc.get(index).copied().unwrap_or(false))
        })
    };
    let paused: Vec<String> =
        interfaces.iter().filter(is_paused).map(|interface| interface.name.clone()).collect();
    if paused.is_empty() {
        return Vec::new();
    }
    let says = format!(
        "{}: CNPs ride a priority that is paused, so senders learn of congestion late.",
        list(&paused)
    );
    vec![
        Outcome::note(says)
            .seen(SEEN)
            .fix("CNPs on a priority of their own (DSCP 48, priority 6), served first"),
    ]
}
