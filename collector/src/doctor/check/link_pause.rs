//! Is link-level pause off where priorities are paused?

use super::{Check, list, rails};
use crate::doctor::fact::Facts;
use crate::doctor::fact::interface::Interface;
use crate::doctor::outcome::Outcome;

/// Link-level pause (802.3x).
pub(super) const CHECK: Check = Check {
    name: "link_pause",
    asks: "Is link-level pause off where priorities are paused?",
    judge,
};

fn judge(facts: &Facts) -> Vec<Outcome> {
    let rails = rails(facts).into_iter().map(|rail| rail.interface);
    let is_paused = |interface: &&Interface| {
        interface.pause.as_ref().is_ok_and(|pause| pause.receives || pause.sends)
    };
    let paused: Vec<&Interface> = rails.filter(is_paused).collect();
    let has_pfc = |interface: &&&Interface| {
        let pfc = interface.dcb.as_ref().ok().and_then(|dcb| dcb.pfc);
        pfc.is_some_and(|pfc| pfc.contains(&true))
    };
    let seen = "ethtool (as `ethtool -a`)";
    let names =
        |all: Vec<&&Interface>| list(&all.iter().map(|one| one.name.clone()).collect::<Vec<_>>());
    let both: Vec<&&Interface> = paused.iter().filter(has_pfc).collect();
    if !both.is_empty() {
        let says = format!(
            "Link-level pause and priority flow control are both on at {}: a NIC uses one of them, and the switch may use the other.",
            names(both)
        );
        return vec![Outcome::warning(says).seen(seen).fix("`ethtool -A DEV rx off tx off`")];
    }
    if paused.is_empty() {
        return Vec::new();
    }
    let says = format!(
        "Link-level pause is on at {}: it stops the whole port, CNPs and control traffic with it.",
        names(paused.iter().collect())
    );
    vec![Outcome::note(says).seen(seen).fix("set priority flow control up first (`mlnx_qos -i DEV --pfc ...`), then `ethtool -A DEV rx off tx off`: without both a full buffer drops")]
}
