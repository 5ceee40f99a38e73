//! The root's answer: where the next rank on the ring listens. In 2.21.5 an address, in 2.27.7
//! `union ringConnectInfo` of 128 bytes, which starts with it (NCCL `src/bootstrap.cc`).

use std::net::SocketAddr;

use super::image::{Fields, Image};
use super::{Parsed, socket_address};
use crate::release::Release;

/// Size in bytes.
#[must_use]
pub const fn len(release: Release) -> usize {
    match release {
        Release::V2_21_5 => socket_address::BYTES,
        Release::V2_27_7 => 128,
    }
}

/// The bytes that the root sends.
#[must_use]
pub fn encode(next: SocketAddr, release: Release) -> Vec<u8> {
    Image::new(len(release)).address(0, next).into_bytes()
}

/// # Errors
/// No address.
pub fn parse(bytes: &[u8], release: Release) -> Parsed<SocketAddr> {
    let fields = Fields::new(bytes, len(release), "an answer of the root")?;
    fields.address(0).ok_or_else(|| "an answer of the root without an address".to_owned())
}
