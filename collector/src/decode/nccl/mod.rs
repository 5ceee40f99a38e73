//! NCCL's own formats: bytes to values, stateless.

pub mod layout;
