//! Where the receiver of a NET/IB connection listens: `struct ncclIbHandle` (NCCL
//! `src/transport/net_ib.cc`): address at 0, magic at 32, then 24 bytes that are zero on the wire.

use std::net::SocketAddr;

use super::Parsed;
use super::greeting::SOCKET_MAGIC;
use super::image::{Fields, Image};
use crate::net::NetHandle;

/// The bytes that the bootstrap carries.
#[must_use]
pub fn encode(listener: SocketAddr) -> NetHandle {
    let image = Image::new(128).address(0, listener).u64(32, SOCKET_MAGIC);
    image.into_bytes().try_into().unwrap_or([0; 128])
}

/// # Errors
/// No address, or another magic.
pub fn parse(handle: &NetHandle) -> Parsed<SocketAddr> {
    let fields = Fields::new(handle, 128, "a NET/IB handle")?;
    let listener = fields.address(0).filter(|_| fields.u64(32) == SOCKET_MAGIC);
    listener.ok_or_else(|| "a handle that is none of NET/IB".to_owned())
}
