//! NCCL's own formats: bytes to values, stateless.

pub mod cts;
pub mod layout;
