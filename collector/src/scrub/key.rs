//! The secret that pseudonyms come from: 32 bytes, thrown away unless the user keeps it.

use std::fmt;

use sha2::{Digest, Sha256};

/// Bytes of a key.
pub const KEY_BYTES: usize = 32;

/// A key.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Key([u8; KEY_BYTES]);

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(..)")
    }
}

impl Key {
    /// A key of these bytes.
    #[must_use]
    pub const fn new(bytes: [u8; KEY_BYTES]) -> Self {
        Self(bytes)
    }

    /// Its bytes.
    #[must_use]
    pub const fn bytes(&self) -> &[u8; KEY_BYTES] {
        &self.0
    }

    /// Reads 64 hexadecimal digits; `None` if it is something else.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.trim().as_bytes();
        let mut bytes = [0; KEY_BYTES];
        if digits.len() != 2 * KEY_BYTES {
            return None;
        }
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks(2)) {
            *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
        }
        Some(Self(bytes))
    }

    /// 64 hexadecimal digits.
    #[must_use]
    pub fn text(&self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// 32 bytes that depend on key, purpose and data, and say nothing of them.
    #[must_use]
    pub fn derive(&self, purpose: &str, data: &[u8]) -> [u8; 32] {
        let mut sum = Sha256::new();
        for part in [&self.0[..], &[purpose.len() as u8], purpose.as_bytes(), data, &self.0[..]] {
            sum.update(part);
        }
        sum.finalize().into()
    }

    /// The first eight of them as a number.
    #[must_use]
    pub fn number(&self, purpose: &str, data: &[u8]) -> u64 {
        let [a, b, c, d, e, f, g, h, ..] = self.derive(purpose, data);
        u64::from_be_bytes([a, b, c, d, e, f, g, h])
    }
}
