//! The first bytes that the connecting end of every NCCL socket sends: a magic and the socket's
//! purpose (NCCL `src/misc/socket.cc`, 2.16 and later). The accepting end sends no answer.

use super::structure::Structure;

/// `NCCL_SOCKET_MAGIC`: the magic of sockets outside any communicator.
pub const SOCKET_MAGIC: u64 = 0x564a_b9f2_fc4b_9d6c;

/// Purpose of a socket (`enum ncclSocketType`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SocketType {
    /// Rank to root, ring, and messages between two ranks; the magic is the communicator's.
    Bootstrap,
    /// A rank to its proxy; the magic is that of the topmost communicator.
    Proxy,
    /// NET/Socket data.
    NetSocket,
    /// NET/IB's exchange of queue pairs.
    NetIb,
    /// RAS threads (2.24 and later).
    Ras,
}

/// Magic and type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Greeting {
    /// Magic of the unique id; for a split child since 2.23, its commHash.
    pub magic: u64,
    /// The socket's purpose.
    pub socket_type: SocketType,
}

impl Greeting {
    /// Bytes of a greeting.
    pub const LEN: usize = 12;

    /// Parses the first bytes of a connection; `None` if they are too few or not a greeting.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let structure = Structure(bytes);
        let magic = structure.u64(0)?;
        let socket_type = match structure.u32(8)? {
            1 => SocketType::Bootstrap,
            2 => SocketType::Proxy,
            3 => SocketType::NetSocket,
            4 => SocketType::NetIb,
            5 => SocketType::Ras,
            _ => return None,
        };
        let is_common =
            matches!(socket_type, SocketType::NetSocket | SocketType::NetIb | SocketType::Ras);
        (is_common == (magic == SOCKET_MAGIC)).then_some(Self { magic, socket_type })
    }
}
