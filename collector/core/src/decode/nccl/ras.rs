//! The first message of a RAS connection (`RAS_MSG_CONNINIT`, NCCL `src/ras/`, 2.24 and later): it
//! names the release.

use std::net::SocketAddr;

use super::structure::Structure;
use crate::model::nccl::Release;

const CONNECTION_INIT: u32 = 1;

/// The connecting process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RasGreeting {
    /// NCCL release of the connecting process.
    pub release: Release,
    /// Its own RAS listener.
    pub listener: SocketAddr,
}

impl RasGreeting {
    /// Bytes of the message, without its length field.
    pub const LEN: usize = 56;

    /// Parses a complete message; `None` if it is another one.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let structure = Structure(bytes);
        if bytes.len() != Self::LEN || structure.u32(0)? != CONNECTION_INIT {
            return None;
        }
        Some(Self {
            release: Release::from_code(structure.u32(8)?)?,
            listener: structure.socket_address(12)?,
        })
    }
}
