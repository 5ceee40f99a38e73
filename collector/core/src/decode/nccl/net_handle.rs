//! How to reach the receiver of a NET connection: the first bytes of its entry in the transport
//! set-up (`struct ncclIbHandle` of NCCL `src/transport/net_ib*`; `struct ncclNetSocketHandle` of
//! `src/transport/net_socket.cc` begins alike).

use std::net::SocketAddr;

use super::greeting::SOCKET_MAGIC;
use super::structure::Structure;

/// The magic that the connector shall greet with.
pub const MAGIC: usize = 32;

/// Where the receiver listens; `None` where the entry is none of a NET receiver.
#[must_use]
pub fn listener(entry: &[u8]) -> Option<SocketAddr> {
    let structure = Structure(entry);
    let address = structure.socket_address(0)?;
    (structure.u64(MAGIC)? == SOCKET_MAGIC).then_some(address)
}
