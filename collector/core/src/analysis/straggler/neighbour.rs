//! What one collective proves little of, its neighbours confirm: ranks that are slow throughout are slow
//! in the collectives before and after, too.

use std::collections::BTreeMap;

use super::Straggler;

/// Judged collectives considered before and after one.
const NEIGHBOURS: usize = 4;

/// The rank must stand out in at least three of these, and in three quarters of them.
const AGREEING: (usize, usize) = (3, 4);

/// The collectives that were judged, by what makes them alike and in order of time: their places, and the
/// rank that stood out.
pub type Judged<K> = BTreeMap<K, Vec<(usize, Option<Straggler>)>>;

/// By place, of `count` collectives: those of `judged` that stood out in the neighbouring collectives as
/// well.
#[must_use]
pub fn confirmed<K: Ord>(judged: &Judged<K>, count: usize) -> Vec<Option<Straggler>> {
    let mut found = vec![None; count];
    for judged in judged.values() {
        for (place, (at, straggler)) in judged.iter().enumerate() {
            let Some(straggler) = straggler else { continue };
            let end = (place + NEIGHBOURS + 1).min(judged.len());
            let around = judged.get(place.saturating_sub(NEIGHBOURS)..end).unwrap_or_default();
            let named = around.iter().filter_map(|(_, other)| other.as_ref());
            let same = named.filter(|other| other.rank == straggler.rank).count();
            let (agreeing, of) = AGREEING;
            if same >= agreeing && same * of >= around.len() * agreeing {
                found[*at] = Some(straggler.clone());
            }
        }
    }
    found
}
