//! State of one direction of a TCP connection.

use bytemuck::{Pod, Zeroable};

use crate::table::Value;

/// Its state.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct StreamState {
    /// Bytes of payload, including retransmitted ones.
    pub bytes: u64,
    /// Not 0 if it carried data since another stream wanted its slot.
    pub is_used: u64,
}

impl Value for StreamState {
    /// Second chance: a stream is evicted at the second attempt, unless it was used in between.
    #[inline(always)]
    fn may_go(&mut self, _: u64) -> bool {
        core::mem::replace(&mut self.is_used, 0) == 0
    }
}
