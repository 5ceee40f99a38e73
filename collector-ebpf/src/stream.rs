//! What is kept of one direction of a TCP connection.

use bytemuck::{Pod, Zeroable};

use crate::table::Value;

/// Its state.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct StreamState {
    /// Bytes of payload, those sent again included.
    pub bytes: u64,
    /// Not 0: it carried something since another wanted its place.
    pub is_used: u64,
}

impl Value for StreamState {
    /// A second chance: one that is used goes when it is met again, and was not used until then.
    #[inline(always)]
    fn may_go(&mut self, _: u64) -> bool {
        core::mem::replace(&mut self.is_used, 0) == 0
    }
}
