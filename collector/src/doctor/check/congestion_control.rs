//! Is congestion control (DCQCN) on for the priority that is paused?

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
    if let Err(missing) = &first.ecn {
        let says = format!("Not checked: {missing}; only MLNX_OFED and DOCA-OFED show it there.");
        return vec![
            Outcome::unseen(says)
                .seen(SEEN)
                .fix("mlx5, as root: /sys/kernel/debug/mlx5/ADDRESS/cc_params; bnxt_re: /sys/kernel/debug/bnxt_re"),
        ];
    }
    let mut outcomes = Vec::new();
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
