//! Do boards of one kind run one firmware?

use std::collections::BTreeMap;

use super::{Check, list};
use crate::doctor::fact::Facts;
use crate::doctor::outcome::Outcome;

/// Versions of firmware.
pub(super) const CHECK: Check =
    Check { name: "firmware", asks: "Do NICs of one kind run one firmware?", judge };

const SEEN: &str = "/sys/class/infiniband/*/{fw_ver,board_id}";

fn judge(facts: &Facts) -> Vec<Outcome> {
    let mut by_board: BTreeMap<&str, BTreeMap<&str, Vec<String>>> = BTreeMap::new();
    for device in facts.devices() {
        if let (Some(board), Some(firmware)) = (&device.board, &device.firmware) {
            by_board
                .entry(board)
                .or_default()
                .entry(firmware)
                .or_default()
                .push(device.name.clone());
        }
    }
    let differing = by_board.iter().filter(|(_, versions)| versions.len() > 1);
    let outcomes: Vec<Outcome> = differing
        .map(|(board, versions)| {
            let versions =
                versions.iter().map(|(version, devices)| format!("{version} on {}", list(devices)));
            let says = format!(
                "Boards {board} run different firmware: {}.",
                versions.collect::<Vec<_>>().join("; ")
            );
            Outcome::warning(says)
                .seen(SEEN)
                .fix("one version on all: `mlxfwmanager --query`, `mstflint -d ADDRESS query`")
        })
        .collect();
    if !outcomes.is_empty() {
        return outcomes;
    }
    let kinds = by_board.iter().map(|(board, versions)| {
        let versions: Vec<&str> = versions.keys().copied().collect();
        format!("{board}: {}", versions.join(", "))
    });
    let kinds: Vec<String> = kinds.collect();
    if kinds.is_empty() {
        Vec::new()
    } else {
        vec![Outcome::right(format!("{}.", kinds.join("; "))).seen(SEEN)]
    }
}
