//! What is in an `ncclUniqueId` (`struct ncclBootstrapHandle`, NCCL `src/include/bootstrap.h`): 128
//! bytes, of which the tail is zero.
//!
//! ```text
//! up to 2.15     byte 0..27          28..127
//!                     root's address  0
//! 2.16 and later byte 0..7            8..35           36..39        40..127
//!                     magic           root's address  ranks (2.29)  0
//! ```

use std::net::SocketAddr;

use super::structure::{SOCKET_ADDRESS_BYTES, Structure};
use crate::model::nccl::UniqueId;

const MAGIC_ADDRESS: usize = 8;
const RANKS: usize = 36;
const USED: usize = 40;

/// The content of a unique id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdContent {
    /// The magic that the bootstrap's connections greet with; `None` up to NCCL 2.15, which has
    /// none.
    pub magic: Option<u64>,
    /// Where the root listens.
    pub root: SocketAddr,
    /// Ranks of the communicator that will grow (2.29 and later); `None` for an ordinary id.
    pub growing_ranks: Option<u32>,
}

/// Parses a unique id; `None` for anything else: a family other than IPv4 and IPv6, no port, no
/// address, or a tail that is not zero.
#[must_use]
pub fn parse(id: &UniqueId) -> Option<IdContent> {
    let structure = Structure(&id.0);
    let is_zero_from = |at: usize| id.0.iter().skip(at).all(|byte| *byte == 0);
    if let Some(root) = structure.socket_address(MAGIC_ADDRESS)
        && is_zero_from(USED)
        && let Some(ranks) = structure.count(RANKS)
    {
        let growing_ranks = (ranks > 0).then_some(ranks);
        return Some(IdContent { magic: structure.u64(0), root, growing_ranks });
    }
    let root = structure.socket_address(0)?;
    is_zero_from(SOCKET_ADDRESS_BYTES).then_some(IdContent {
        magic: None,
        root,
        growing_ranks: None,
    })
}

/// The id of a root that listens at `root` and whose connections greet with `magic`, as NCCL 2.16
/// and later create it if no communicator grows.
#[must_use]
pub fn from_magic(magic: u64, root: SocketAddr) -> UniqueId {
    let mut id = [0; 128];
    let mut put = |at: usize, bytes: &[u8]| {
        for (place, byte) in id.iter_mut().skip(at).zip(bytes) {
            *place = *byte;
        }
    };
    put(0, &magic.to_le_bytes());
    put(10, &root.port().to_be_bytes());
    match root {
        SocketAddr::V4(root) => {
            put(8, &[2, 0]);
            put(12, &root.ip().octets());
        }
        SocketAddr::V6(root) => {
            put(8, &[10, 0]);
            put(12, &root.flowinfo().to_be_bytes());
            put(16, &root.ip().octets());
            put(32, &root.scope_id().to_le_bytes());
        }
    }
    UniqueId(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_its_magic_and_address() {
        for root in ["192.0.2.1:47825", "[2001:db8::7]:9"] {
            let content =
                IdContent { magic: Some(9), root: root.parse().unwrap(), growing_ranks: None };
            assert_eq!(parse(&from_magic(9, content.root)), Some(content));
        }
    }

    #[test]
    fn an_id_without_magic_is_that_of_an_old_release() {
        let new = from_magic(0, "192.0.2.1:47825".parse().unwrap());
        let mut old = [0; 128];
        old[..28].copy_from_slice(&new.0[8..36]);
        let root = "192.0.2.1:47825".parse().unwrap();
        let content = IdContent { magic: None, root, growing_ranks: None };
        assert_eq!(parse(&UniqueId(old)), Some(content));
    }

    #[test]
    fn other_bytes_are_no_id() {
        let mut id = from_magic(9, "192.0.2.1:47825".parse().unwrap());
        id.0[36] = 4;
        assert_eq!(parse(&id).unwrap().growing_ranks, Some(4));
        id.0[127] = 1;
        assert_eq!(parse(&id), None);
        assert_eq!(parse(&UniqueId([0; 128])), None);
        assert_eq!(parse(&UniqueId([2; 128])), None);
    }
}
