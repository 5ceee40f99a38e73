//! NET/Socket's messages (NCCL `src/transport/net_socket.cc`): each begins with its size on the
//! control connection. Without data connections, NCCL's default, the data follows there.
//!
//! ```text
//! byte 0..3                 4..
//!      size, little endian  data
//! ```

/// Bytes of the size before each message.
pub const SIZE_BYTES: usize = 4;

/// No message is larger: one is a slice of a connection's buffer (`NCCL_BUFFSIZE`, 4 MiB by default).
const SIZE_LIMIT: u32 = 1 << 28;

/// Bytes of the message that begins with this size; `None` if it can be none.
#[must_use]
pub const fn message_bytes(size: [u8; SIZE_BYTES]) -> Option<u32> {
    let bytes = u32::from_le_bytes(size);
    if bytes <= SIZE_LIMIT { Some(bytes) } else { None }
}
