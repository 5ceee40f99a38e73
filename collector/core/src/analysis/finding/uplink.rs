//! Parallel uplinks of switches, from the names of taps.

use std::collections::BTreeMap;

use crate::analysis::queue_pair::QueuePair;
use crate::analysis::state::State;
use crate::model::tap::TapId;

/// Share of the weight of flows that must pass an uplink for it to be theirs, in hundredths.
const NEARLY_ALL: u64 = 95;

/// Taps of each switch whose interface is named `<switch>:uplink<n>` or the like, with their names;
/// switches with one such tap are left out.
#[must_use]
pub fn uplinks(state: &State) -> Vec<Vec<(TapId, String)>> {
    let mut by_stem: BTreeMap<String, Vec<(TapId, String)>> = BTreeMap::new();
    for (at, tap) in (0..).zip(state.tracker.taps()) {
        let Some(name) = &tap.tap.interface else { continue };
        let stem = name.trim_end_matches(|digit: char| digit.is_ascii_digit());
        if stem.len() < name.len() && stem.contains("uplink") {
            by_stem.entry(stem.to_owned()).or_default().push((TapId(at), name.clone()));
        }
    }
    by_stem.into_values().filter(|taps| taps.len() > 1).collect()
}

/// Whether a flow of data was seen at `tap`.
#[must_use]
pub fn passes(state: &State, flow: &QueuePair, tap: TapId) -> bool {
    let mut views =
        flow.views.iter().filter_map(|at| state.tracker.flows().flows().get(*at as usize));
    flow.is_data() && views.any(|view| view.key.tap == tap)
}

/// The uplinks that nearly all of the flows' `weight` passed, where it could have passed others.
#[must_use]
pub fn shared_by(
    state: &State,
    flows: &[(&QueuePair, u64)],
    weight: impl Fn(&QueuePair) -> u64,
) -> Vec<String> {
    let total: u64 = flows.iter().map(|(flow, _)| weight(flow)).sum();
    let is_shared = |(tap, _): &(TapId, String)| {
        let through = flows.iter().filter(|(flow, _)| passes(state, flow, *tap));
        let through: u64 = through.map(|(flow, _)| weight(flow)).sum();
        total > 0 && through.saturating_mul(100) >= total.saturating_mul(NEARLY_ALL)
    };
    uplinks(state).into_iter().flatten().filter(is_shared).map(|(_, name)| name).collect()
}
