//! AllGather over the ring (`bootstrapRingAllGather` of NCCL `src/bootstrap.cc`, in one direction):
//! n - 1 times, every rank forwards what it received last, starting with its own part.

use super::ring::Ring;
use crate::Result;
use crate::clock::Deadline;
use crate::tcp::Lookout;

/// Gathers the same number of bytes of `what` from every rank, in rank order.
///
/// # Errors
/// A neighbour goes away, times out or sends another number of bytes.
pub fn all_gather(
    ring: &Ring,
    own: &[u8],
    what: &str,
    lookout: &Lookout,
    deadline: Deadline,
) -> Result<Vec<Vec<u8>>> {
    let (rank, ranks) = (ring.rank as usize, ring.ranks as usize);
    let mut gathered = vec![Vec::new(); ranks];
    let mut passing = own.to_vec();
    for back in 0..ranks.saturating_sub(1) {
        ring.next.send_frame(&passing, lookout, deadline)?;
        let received = ring.previous.receive_frame(own.len(), lookout, deadline, what)?;
        let sent = std::mem::replace(&mut passing, received);
        put(&mut gathered, (rank + ranks - back) % ranks, sent);
    }
    put(&mut gathered, (rank + 1) % ranks, passing);
    Ok(gathered)
}

fn put(gathered: &mut [Vec<u8>], rank: usize, bytes: Vec<u8>) {
    if let Some(place) = gathered.get_mut(rank) {
        *place = bytes;
    }
}
