//! NCCL's hashes of unique ids, hosts and processes.

use std::ffi::c_char;

use crate::release::Release;

/// `getHash` (`src/misc/utils.cc` in 2.21, `src/include/utils.h` in 2.27).
#[must_use]
pub fn hash(release: Release, bytes: &[u8]) -> u64 {
    match release {
        Release::V2_21_5 => djb2a(bytes),
        Release::V2_27_7 => two_lanes(bytes),
    }
}

/// `hashUniqueId` (`src/init.cc`): `commId` in the log of releases before 2.26.
#[must_use]
pub fn logged_id(bytes: &[u8]) -> u64 {
    let mut hash = 0xdead_beef_u64;
    for byte in bytes {
        hash ^= hash >> 32;
        hash = hash.wrapping_mul(0x8db3_db47_fa29_94ad);
        hash = hash.wrapping_add(char_value(*byte));
    }
    hash
}

/// Bernstein's hash with exclusive or.
fn djb2a(bytes: &[u8]) -> u64 {
    let mut hash = 5381_u64;
    for byte in bytes {
        hash = hash.wrapping_mul(33) ^ char_value(*byte);
    }
    hash
}

/// Two accumulators, fed eight bytes at a time.
fn two_lanes(bytes: &[u8]) -> u64 {
    let mut first = 1 ^ bytes.len() as u64;
    let mut second = 1_u64;
    for chunk in bytes.chunks(8) {
        let mut word = [0; 8];
        word.iter_mut().zip(chunk).for_each(|(to, from)| *to = *from);
        first = first.wrapping_add(second);
        second ^= first;
        first ^= first >> 31;
        first = first.wrapping_mul(0x9de6_2bbc_8cef_3ce3);
        second ^= second >> 32;
        second = second.wrapping_mul(0x485c_d631_1b59_9e79);
        first = first.wrapping_add(u64::from_le_bytes(word));
    }
    let mut hash = first;
    hash ^= hash >> 31;
    hash = hash.wrapping_mul(0xbac3_bd56_2846_de6b);
    hash = hash.wrapping_add(second);
    hash ^= hash >> 32;
    hash.wrapping_mul(0x995a_187a_14e7_b445)
}

/// The value of a C `char` as a number: signed on x86-64, unsigned on aarch64.
const fn char_value(byte: u8) -> u64 {
    if c_char::MIN == 0 { byte as u64 } else { byte.cast_signed() as i64 as u64 }
}
