//! NCCL's hash functions of byte strings (`getHash`, NCCL `src/misc/utils.cc` up to 2.25,
//! `src/include/utils.h` from 2.26; `hashUniqueId`, `src/init.cc`).

use crate::model::nccl::Release;

/// Whether `char` is signed on the hashing host: bytes from 128 on hash differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CharSign {
    /// x86-64.
    Signed,
    /// aarch64.
    Unsigned,
}

/// How a release hashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HashFunction {
    /// Up to 2.25: Bernstein's hash with exclusive or (DJB2a).
    Djb2a(CharSign),
    /// 2.26 and later: two accumulators of 64 bits.
    TwoLane,
}

impl HashFunction {
    /// The function of `release` on a host with this kind of `char`.
    #[must_use]
    pub fn for_release(release: Release, char_sign: CharSign) -> Self {
        if release < Release::new(2, 26, 0) { Self::Djb2a(char_sign) } else { Self::TwoLane }
    }

    /// Hash of `bytes`, as NCCL computes it.
    #[must_use]
    pub fn hash(self, bytes: &[u8]) -> u64 {
        match self {
            Self::Djb2a(char_sign) => djb2a(bytes, char_sign),
            Self::TwoLane => two_lane([bytes]),
        }
    }
}

/// First value of DJB2a.
pub(super) const DJB2A_START: u64 = 5381;
/// DJB2a multiplies by it before each byte.
pub(super) const DJB2A_FACTOR: u64 = 33;

fn djb2a(bytes: &[u8], char_sign: CharSign) -> u64 {
    bytes
        .iter()
        .fold(DJB2A_START, |hash, byte| hash.wrapping_mul(DJB2A_FACTOR) ^ widen(*byte, char_sign))
}

/// The hash logged as `commId` by NCCL 2.16 to 2.25, and used nowhere else.
pub(super) fn log_hash(bytes: &[u8], char_sign: CharSign) -> u64 {
    bytes.iter().fold(0xdead_beef, |hash: u64, byte| {
        let mixed = (hash ^ hash >> 32).wrapping_mul(0x8db3_db47_fa29_94ad);
        mixed.wrapping_add(widen(*byte, char_sign))
    })
}

fn widen(byte: u8, char_sign: CharSign) -> u64 {
    match char_sign {
        CharSign::Signed => i64::from(byte.cast_signed()).cast_unsigned(),
        CharSign::Unsigned => u64::from(byte),
    }
}

/// The hash of 2.26 and later over several consecutive inputs.
pub(super) fn two_lane<const N: usize>(inputs: [&[u8]; N]) -> u64 {
    let [mut a, mut b] = [1_u64, 1_u64];
    for input in inputs {
        a ^= input.len() as u64;
        for chunk in input.chunks(8) {
            a = a.wrapping_add(b);
            b ^= a;
            a = (a ^ a >> 31).wrapping_mul(0x9de6_2bbc_8cef_3ce3);
            b = (b ^ b >> 32).wrapping_mul(0x485c_d631_1b59_9e79);
            a = a.wrapping_add(little_endian(chunk));
        }
    }
    let mixed = (a ^ a >> 31).wrapping_mul(0xbac3_bd56_2846_de6b).wrapping_add(b);
    (mixed ^ mixed >> 32).wrapping_mul(0x995a_187a_14e7_b445)
}

/// At most eight bytes as a number.
fn little_endian(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}
