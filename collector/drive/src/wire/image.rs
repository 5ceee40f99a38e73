//! A C structure as bytes: fields at offsets.

use std::net::SocketAddr;

use super::{Parsed, socket_address};

/// A structure to send; unset bytes are zero.
pub(super) struct Image(Vec<u8>);

impl Image {
    pub(super) fn new(len: usize) -> Self {
        Self(vec![0; len])
    }

    pub(super) fn put(mut self, at: usize, bytes: &[u8]) -> Self {
        let place = self.0.get_mut(at..at.saturating_add(bytes.len()));
        debug_assert!(place.is_some(), "{} bytes at {at}", bytes.len());
        if let Some(place) = place {
            place.copy_from_slice(bytes);
        }
        self
    }

    pub(super) fn u32(self, at: usize, value: u32) -> Self {
        self.put(at, &value.to_le_bytes())
    }

    pub(super) fn i32(self, at: usize, value: i32) -> Self {
        self.put(at, &value.to_le_bytes())
    }

    pub(super) fn f32(self, at: usize, value: f32) -> Self {
        self.put(at, &value.to_le_bytes())
    }

    pub(super) fn u64(self, at: usize, value: u64) -> Self {
        self.put(at, &value.to_le_bytes())
    }

    pub(super) fn address(self, at: usize, address: SocketAddr) -> Self {
        self.put(at, &socket_address::encode(address))
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}

/// A received structure of the right length.
#[derive(Clone, Copy)]
pub(super) struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    /// # Errors
    /// `bytes` is not `len` long; `what` names the structure.
    pub(super) fn new(bytes: &'a [u8], len: usize, what: &str) -> Parsed<Self> {
        if bytes.len() != len {
            return Err(format!("{what} of {} bytes instead of {len}", bytes.len()));
        }
        Ok(Self(bytes))
    }

    /// The `N` bytes at `at`, inside the structure.
    pub(super) fn array<const N: usize>(self, at: usize) -> [u8; N] {
        let found = self.0.get(at..).and_then(|rest| rest.first_chunk());
        debug_assert!(found.is_some(), "{N} bytes at {at}");
        found.copied().unwrap_or([0; N])
    }

    pub(super) fn u32(self, at: usize) -> u32 {
        u32::from_le_bytes(self.array(at))
    }

    pub(super) fn i32(self, at: usize) -> i32 {
        i32::from_le_bytes(self.array(at))
    }

    pub(super) fn f32(self, at: usize) -> f32 {
        f32::from_le_bytes(self.array(at))
    }

    pub(super) fn u64(self, at: usize) -> u64 {
        u64::from_le_bytes(self.array(at))
    }

    /// The address at an offset, if there is one.
    pub(super) fn address(self, at: usize) -> Option<SocketAddr> {
        socket_address::parse(&self.array(at))
    }
}
