//! The process behind a `pidHash` (`getPidHash`, NCCL `src/misc/utils.cc`): the hash of the decimal
//! PID followed by the name of its PID namespace, plus commHash modulo 2^64.
//!
//! Releases before 2.24 do not send the PID itself. Their hash, DJB2a, can be inverted character by
//! character, so the PID can be recovered if the namespace is known.

use super::hash::{DJB2A_FACTOR, DJB2A_START};

/// `/proc/self/ns/pid` outside containers: Linux's `PROC_PID_INIT_INO`.
const INITIAL_NAMESPACE: &[u8] = b"pid:[4026531836]";

/// Inverse of [`DJB2A_FACTOR`] modulo 2^64.
const INVERSE_FACTOR: u64 = 0x0f83_e0f8_3e0f_83e1;

/// Digits of Linux's largest PID, 4,194,304.
const DIGITS: usize = 7;

/// The PID behind a `pidHash` of NCCL 2.25 and before, for a process in the initial PID namespace;
/// `None` for any other process, and if two PIDs have that hash.
#[must_use]
pub fn find_pid(pid_hash: u64, comm_hash: u64) -> Option<u32> {
    let hash = pid_hash.wrapping_sub(comm_hash);
    let before_namespace =
        INITIAL_NAMESPACE.iter().rev().fold(hash, |hash, byte| before(hash, *byte));
    let mut found = Found::default();
    search(before_namespace, 1, 0, DIGITS, &mut found);
    found.pid.filter(|_| !found.is_ambiguous)
}

#[derive(Default)]
struct Found {
    pid: Option<u32>,
    is_ambiguous: bool,
}

/// The hash before `byte` was added to it.
const fn before(hash: u64, byte: u8) -> u64 {
    (hash ^ byte as u64).wrapping_mul(INVERSE_FACTOR)
}

/// Searches for up to `digits` digits in front of `tail`, a number below `weight`. Seven digits
/// never wrap 64 bits, so a hash that is not a multiple of the factor ends a branch.
fn search(hash: u64, weight: u32, tail: u32, digits: usize, found: &mut Found) {
    let Some(digits) = digits.checked_sub(1) else { return };
    for digit in 0..10_u8 {
        let byte = b'0'.wrapping_add(digit);
        if !(hash ^ u64::from(byte)).is_multiple_of(DJB2A_FACTOR) {
            continue;
        }
        let number = tail.wrapping_add(weight.wrapping_mul(u32::from(digit)));
        let rest = before(hash, byte);
        if rest == DJB2A_START && digit != 0 {
            found.is_ambiguous |= found.pid.is_some();
            found.pid = Some(number);
        }
        search(rest, weight.wrapping_mul(10), number, digits, found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::nccl::hash::{CharSign, HashFunction};

    fn hash(pid: u32, namespace: &str) -> u64 {
        HashFunction::Djb2a(CharSign::Signed).hash(format!("{pid}{namespace}").as_bytes())
    }

    #[test]
    fn every_pid_is_found() {
        for pid in (1..=4_194_304).step_by(7).chain([1, 9, 10, 4_194_304]) {
            let comm_hash = u64::from(pid) << 43;
            let pid_hash = hash(pid, "pid:[4026531836]").wrapping_add(comm_hash);
            assert_eq!(find_pid(pid_hash, comm_hash), Some(pid));
        }
    }

    #[test]
    fn a_pid_in_a_container_is_not_found() {
        for pid in 1..10_000 {
            assert_eq!(find_pid(hash(pid, "pid:[4026532201]"), 0), None);
        }
    }
}
