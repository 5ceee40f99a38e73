//! The receive buffer of a NIC: packets waiting for the host's memory.

use crate::simulate::network::id::PRIORITIES;
use crate::simulate::network::picoseconds::Picoseconds;
use crate::simulate::network::plan::ReceivePlan;

/// Packets waiting for the host's memory.
#[derive(Debug)]
pub(super) struct ReceiveBuffer {
    pub(super) plan: ReceivePlan,
    pub(super) stored_bytes: [u64; PRIORITIES],
    pub(super) total_bytes: u64,
    /// When memory will have accepted all of it.
    pub(super) drained_at: Picoseconds,
}

impl ReceiveBuffer {
    pub(super) const fn new(plan: ReceivePlan) -> Self {
        let drained_at = Picoseconds(0);
        Self { plan, stored_bytes: [0; PRIORITIES], total_bytes: 0, drained_at }
    }

    pub(super) const fn stored_bytes(&self, priority: u8) -> u64 {
        self.stored_bytes[(priority & 7) as usize]
    }
}
