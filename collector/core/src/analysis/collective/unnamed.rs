//! Connections whose set-up was not captured: whether they carry sends and receives.
//!
//! Those share slots of `NCCL_P2P_NET_CHUNKSIZE` and begin each send with the same one; connections
//! of collectives have a buffer of eight slots each and go on where they stopped
//! (NCCL `src/transport/net.cc`).

use super::lane::Lane;
use super::slicing::LL_CAPACITY;

/// `NCCL_P2P_NET_CHUNKSIZE`, by default.
const SLOT: u64 = 131_072;

/// Slots of a connection's own buffer: none is used again before all others.
const OWN_SLOTS: usize = 8;

/// Whether the messages of `lane` are parts of sends.
#[must_use]
pub fn is_point_to_point(lane: &Lane) -> bool {
    let offers = || lane.messages.iter().filter_map(|message| message.capacity);
    let addresses: Vec<u64> = lane.messages.iter().filter_map(|message| message.address).collect();
    let Some(first) = addresses.first() else { return false };
    let is_small = offers().all(|offer| offer <= SLOT);
    let is_in_slots = addresses.iter().all(|address| address.abs_diff(*first).is_multiple_of(SLOT));
    let returns =
        addresses.windows(OWN_SLOTS).any(|near| near.iter().skip(1).any(|at| *at == near[0]))
            || addresses.len() < OWN_SLOTS && has_twice(&addresses);
    // A part that is smaller than a chunk is offered less; collectives offer the same each time.
    let is_a_part = offers().any(|offer| ![LL_CAPACITY, SLOT].contains(&offer));
    is_small && is_in_slots && (returns || is_a_part)
}

fn has_twice(addresses: &[u64]) -> bool {
    let mut sorted = addresses.to_vec();
    sorted.sort_unstable();
    sorted.windows(2).any(|pair| pair[0] == pair[1])
}
