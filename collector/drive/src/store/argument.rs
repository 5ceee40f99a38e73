//! Keys and values of requests, and how large they may be.

/// A key or value.
pub type Bytes = Vec<u8>;

/// Longest key in bytes, as in PyTorch's libuv back-end.
pub const KEY_LIMIT: usize = 8 << 10;

/// Longest value in bytes, as in PyTorch's libuv back-end.
pub const VALUE_LIMIT: usize = 8 << 20;

/// Most keys per request, as in PyTorch's libuv back-end.
pub const KEY_COUNT_LIMIT: usize = 128 << 10;
