//! What two ranks exchange about one connection: `struct ncclConnect` (NCCL
//! `src/include/transport.h`, filled by `src/transport/net.cc`), 128 bytes in 2.21.5, 256 in
//! 2.27.7.
//!
//! A receiver's entry starts with the network plugin's handle of 128 bytes, a sender's with the
//! rank whose proxy sends. In 2.27.7, byte 128 says whether GPUDirect is used: never here.

use super::Parsed;
use super::image::{Fields, Image};
use crate::net::NetHandle;
use crate::release::Release;

/// Size in bytes.
#[must_use]
pub const fn len(release: Release) -> usize {
    match release {
        Release::V2_21_5 => 128,
        Release::V2_27_7 => 256,
    }
}

/// A receiver's entry.
#[must_use]
pub fn of_receiver(handle: &NetHandle, release: Release) -> Vec<u8> {
    Image::new(len(release)).put(0, handle).into_bytes()
}

/// A sender's entry.
#[must_use]
pub fn of_sender(proxy_rank: u32, release: Release) -> Vec<u8> {
    Image::new(len(release)).u32(0, proxy_rank).into_bytes()
}

/// The handle in a receiver's entry.
///
/// # Errors
/// Another length.
pub fn handle(entry: &[u8], release: Release) -> Parsed<NetHandle> {
    Ok(Fields::new(entry, len(release), "a connect entry")?.array(0))
}

/// The rank in a sender's entry.
///
/// # Errors
/// Another length.
pub fn proxy_rank(entry: &[u8], release: Release) -> Parsed<u32> {
    Ok(Fields::new(entry, len(release), "a connect entry")?.u32(0))
}
