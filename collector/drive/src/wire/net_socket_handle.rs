//! Where the receiver of a NET/Socket connection listens: `struct ncclNetSocketHandle` (NCCL
//! `src/transport/net_socket.cc`): address at 0, magic at 32, number of data sockets at 40, of
//! threads at 44, then what is zero on the wire.

use std::net::SocketAddr;

use super::Parsed;
use super::greeting::SOCKET_MAGIC;
use super::image::{Fields, Image};
use crate::net::NetHandle;

/// A receiver's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NetSocketHandle {
    /// Address for the control socket and all data sockets.
    pub listener: SocketAddr,
    /// Number of data sockets: `NCCL_NSOCKS_PERTHREAD` times threads.
    pub sockets: u32,
    /// `NCCL_SOCKET_NTHREADS`
    pub threads: u32,
}

impl NetSocketHandle {
    /// The bytes that the bootstrap carries.
    #[must_use]
    pub fn encode(&self) -> NetHandle {
        let image = Image::new(128).address(0, self.listener).u64(32, SOCKET_MAGIC);
        let image = image.u32(40, self.sockets).u32(44, self.threads);
        image.into_bytes().try_into().unwrap_or([0; 128])
    }

    /// # Errors
    /// No address, another magic, or more than NCCL's 64 sockets.
    pub fn parse(handle: &NetHandle) -> Parsed<Self> {
        let fields = Fields::new(handle, 128, "a NET/Socket handle")?;
        let listener = fields.address(0).filter(|_| fields.u64(32) == SOCKET_MAGIC);
        let listener = listener.ok_or_else(|| "a handle that is none of NET/Socket".to_owned())?;
        let (sockets, threads) = (fields.u32(40), fields.u32(44));
        if sockets > 64 || threads > 16 {
            return Err(format!("a handle with {sockets} sockets and {threads} threads"));
        }
        Ok(Self { listener, sockets, threads })
    }
}
