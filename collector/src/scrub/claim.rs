//! What a decoder claims of bytes, field by field; all other bytes are zero.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::pseudonym::Pseudonyms;
use super::sums::put;

const AF_INET: [u8; 2] = 2_u16.to_le_bytes();
const AF_INET6: [u8; 2] = 10_u16.to_le_bytes();

/// Bytes of `union ncclSocketAddress`.
const SOCKET_ADDRESS: usize = 28;

/// Bytes before and after.
pub(super) struct Claims<'a> {
    pub(super) before: &'a [u8],
    pub(super) out: Vec<u8>,
}

impl<'a> Claims<'a> {
    /// Nothing is claimed.
    pub(super) fn new(before: &'a [u8]) -> Self {
        Self { before, out: vec![0; before.len()] }
    }

    pub(super) fn bytes<const N: usize>(&self, at: usize) -> Option<[u8; N]> {
        self.before.get(at..at.checked_add(N)?)?.try_into().ok()
    }

    pub(super) fn word(&self, at: usize) -> Option<u32> {
        self.bytes(at).map(u32::from_le_bytes)
    }

    pub(super) fn long(&self, at: usize) -> Option<u64> {
        self.bytes(at).map(u64::from_le_bytes)
    }

    /// A number that cannot name anybody, such as a length or a rank.
    pub(super) fn keep(&mut self, at: usize, len: usize) {
        let Some(end) = at.checked_add(len) else { return };
        if let Some((to, from)) = self.out.get_mut(at..end).zip(self.before.get(at..end)) {
            to.copy_from_slice(from);
        }
    }

    /// A number of four bytes that is less than a limit, or -1.
    pub(super) fn count(&mut self, at: usize, limit: u32) {
        if self.word(at).is_some_and(|word| word < limit || word == u32::MAX) {
            self.keep(at, 4);
        }
    }

    /// A random number, unless it may be text.
    pub(super) fn random(&mut self, at: usize, len: usize) {
        let end = at.saturating_add(len);
        let is_text = |bytes: &[u8]| bytes.iter().all(|byte| matches!(byte, b' '..=b'~'));
        if self.before.get(at..end).is_some_and(|bytes| !is_text(bytes)) {
            self.keep(at, len);
        }
    }

    pub(super) fn put<const N: usize>(&mut self, at: usize, bytes: [u8; N]) {
        put(&mut self.out, at, bytes);
    }

    /// `union ncclSocketAddress`: family, port and a pseudonym. `false` if there is none.
    pub(super) fn address(&mut self, at: usize, pseudonyms: &mut Pseudonyms) -> bool {
        let Some(all) = self.bytes::<SOCKET_ADDRESS>(at) else { return false };
        if [all[2], all[3]] == [0, 0] {
            return false;
        }
        let place = match ([all[0], all[1]], all) {
            (AF_INET, [_, _, _, _, a, b, c, d, 0, 0, 0, 0, 0, 0, 0, 0, ..]) => {
                let address = pseudonyms.v4([a, b, c, d]);
                self.put(at + 4, address);
                !Ipv4Addr::from([a, b, c, d]).is_unspecified()
            }
            (AF_INET6, _) => {
                let Some(bytes) = self.bytes::<16>(at + 8) else { return false };
                let address = pseudonyms.gid(bytes);
                self.put(at + 8, address);
                // The number of an interface.
                self.count(at + 24, 1 << 16);
                !IpAddr::from(Ipv6Addr::from(bytes)).is_unspecified()
            }
            _ => false,
        };
        if place {
            self.keep(at, 4);
        }
        place
    }
}
