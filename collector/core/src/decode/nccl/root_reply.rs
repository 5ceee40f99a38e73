//! The root's reply to a rank: where the next rank listens for it (NCCL `src/bootstrap.cc`). Up to
//! 2.22 an address, since then a union of 128 bytes that begins with one unless the ring runs over
//! a NET plugin (`union ringConnectInfo`).

use std::net::SocketAddr;

use super::structure::{SOCKET_ADDRESS_BYTES, Structure};

/// Size of the reply up to 2.22.
pub const REPLY_28: usize = SOCKET_ADDRESS_BYTES;
/// Size of the reply since 2.23.
pub const REPLY_128: usize = 128;

/// Parses a complete reply; `None` if it has no address.
#[must_use]
pub fn next_ring_listener(bytes: &[u8]) -> Option<SocketAddr> {
    matches!(bytes.len(), REPLY_28 | REPLY_128).then(|| Structure(bytes).socket_address(0))?
}
