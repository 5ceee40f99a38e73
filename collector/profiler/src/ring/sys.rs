//! The ring's words as those that write records see them.

#![expect(unsafe_code, reason = "the C boundary")]

use std::sync::atomic::AtomicU64;

/// The words at an address, none at null. Only for who holds a latch of a lane: the ring is unmapped
/// only after all latches were taken and its address was forgotten.
pub(super) fn slice(address: *mut AtomicU64, length: usize) -> &'static [AtomicU64] {
    if address.is_null() {
        return &[];
    }
    // SAFETY: address and length are those of a live mapping, since they change only while all
    // latches are held, and the caller holds one as long as it uses the words.
    unsafe { std::slice::from_raw_parts(address, length) }
}
