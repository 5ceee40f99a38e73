//! The head of a request to a proxy (NCCL `src/proxy.cc`), read only to recognise a proxy's socket.

use super::structure::Structure;

/// The last kind of request: `ncclProxyMsgDeregister`.
const LAST_KIND: u32 = 12;

/// More than any request or response needs, in bytes.
const SIZE_LIMIT: u32 = 1 << 20;

/// Bytes of the head.
pub const REQUEST_HEAD: usize = 20;

/// Whether these bytes can start a request: its kind, 8 bytes of a handle, and the sizes of request
/// and response.
#[must_use]
pub fn is_request(bytes: &[u8; REQUEST_HEAD]) -> bool {
    let structure = Structure(bytes);
    let is_size = |at| structure.u32(at).is_some_and(|size| size <= SIZE_LIMIT);
    let is_kind = structure.u32(0).is_some_and(|kind| (1..=LAST_KIND).contains(&kind));
    is_kind && is_size(12) && is_size(16)
}
