//! The address of a NET connection's receiver: the first bytes of its entry in the transport set-up
//! (`struct ncclIbHandle` of NCCL `src/transport/net_ib*`; `struct ncclNetSocketHandle` of
//! `src/transport/net_socket.cc` starts the same way).

use std::net::SocketAddr;

use super::greeting::SOCKET_MAGIC;
use super::structure::Structure;

/// The magic that the connecting end must greet with.
pub const MAGIC: usize = 32;

/// The receiver's listening address; `None` if the entry is not a NET receiver's.
#[must_use]
pub fn listener(entry: &[u8]) -> Option<SocketAddr> {
    let structure = Structure(entry);
    let address = structure.socket_address(0)?;
    (structure.u64(MAGIC)? == SOCKET_MAGIC).then_some(address)
}
