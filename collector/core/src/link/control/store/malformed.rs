//! The error for bytes that are not a conversation with a TCPStore.

/// The bytes do not belong to a TCPStore.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;
