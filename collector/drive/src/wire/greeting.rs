//! The first bytes that the connecting side sends on every connection: 12 bytes, magic at 0, type
//! at 8 (NCCL `src/misc/socket.cc`), in two pieces of 8 and 4 bytes.

use super::image::Fields;

/// Size in bytes.
pub const BYTES: usize = 12;

/// The magic of connections outside any communicator: `NCCL_SOCKET_MAGIC`.
pub const SOCKET_MAGIC: u64 = 0x564a_b9f2_fc4b_9d6c;

/// What a connection is for: `enum ncclSocketType`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum SocketType {
    /// Between ranks, and between ranks and root.
    Bootstrap = 1,
    /// Data of NET/Socket.
    NetSocket = 3,
    /// The exchange of queue pairs of NET/IB.
    NetIb = 4,
}

/// The bytes that are sent, in two pieces.
#[must_use]
pub fn encode(magic: u64, kind: SocketType) -> ([u8; 8], [u8; 4]) {
    (magic.to_le_bytes(), (kind as u32).to_le_bytes())
}

/// Magic and type.
#[must_use]
pub fn parse(bytes: &[u8; BYTES]) -> (u64, u32) {
    Fields::new(bytes, BYTES, "").map_or((0, 0), |fields| (fields.u64(0), fields.u32(8)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_real_greeting() {
        let bytes = *b"\x6c\x9d\x4b\xfc\xf2\xb9\x4a\x56\x04\x00\x00\x00";
        assert_eq!(parse(&bytes), (SOCKET_MAGIC, SocketType::NetIb as u32));
        let (magic, kind) = encode(SOCKET_MAGIC, SocketType::NetIb);
        assert_eq!([magic.as_slice(), &kind].concat(), bytes);
    }
}
