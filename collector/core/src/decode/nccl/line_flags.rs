//! Flags in the data of LL and LL128: each line ends with the number of its step, so that a GPU sees
//! when the line has arrived (NCCL `src/device/prims_ll.h`, `prims_ll128.h`). Simple has none.
//!
//! ```text
//! LL:    4 bytes data | flag, 32 bits | 4 bytes data | the same flag
//! LL128: 120 bytes data | flag, 64 bits
//! ```
//!
//! Steps count from 0 on a connection, and a message takes at least one of its eight
//! (`NCCL_STEPS`), so the flag of message `n` is between `n` and `8 n`. Data is seldom like that.

use crate::model::nccl::Protocol;

/// Buffers of a connection, which a message may use all (`src/include/device.h`).
const BUFFERS: u64 = 8;

/// Bytes of data and flag in an LL line, twice.
const LL_LINE: usize = 16;

/// Bytes of an LL128 line: no protocol needs more to be recognised.
pub const LL128_LINE: usize = 128;

/// Bytes of data before its flag.
const LL128_DATA: usize = 120;

/// The protocol of message `number` (from 1) of its connection, which has `bytes` bytes and begins
/// with `head`; `None` if that is too little to tell.
#[must_use]
pub fn protocol(head: &[u8], bytes: u32, number: u64) -> Option<Protocol> {
    let is_flag = |flag: u64| (number..=number.saturating_mul(BUFFERS)).contains(&flag);
    let of_line = |line: &[u8]| match line {
        &[_, _, _, _, a0, a1, a2, a3, _, _, _, _, b0, b1, b2, b3] => {
            let [one, other] = [[a0, a1, a2, a3], [b0, b1, b2, b3]].map(u32::from_le_bytes);
            (one == other).then_some(one)
        }
        _ => None,
    };
    let mut lines = head.chunks_exact(LL_LINE).map(of_line);
    let flag = lines.next().flatten();
    let is_ll = flag.is_some_and(|flag| is_flag(flag.into())) && lines.all(|other| other == flag);
    if is_ll && bytes.is_multiple_of(LL_LINE as u32) {
        return Some(Protocol::Ll);
    }
    if !bytes.is_multiple_of(LL128_LINE as u32) {
        return Some(Protocol::Simple);
    }
    let flag = head.get(LL128_DATA..LL128_LINE)?.first_chunk()?;
    let is_ll128 = is_flag(u64::from_le_bytes(*flag));
    Some(if is_ll128 { Protocol::Ll128 } else { Protocol::Simple })
}

#[cfg(test)]
mod tests {
    use super::{Protocol, protocol};

    /// Message 13 of a connection, after twelve Simple messages of four steps each (NCCL 2.27.5).
    #[test]
    fn flags_show_the_protocol() {
        let line = [4.0_f32.to_bits(), 49, 4.0_f32.to_bits(), 49];
        let ll: Vec<u8> = line.repeat(8).iter().flat_map(|word| word.to_le_bytes()).collect();
        assert_eq!(protocol(&ll, 4096, 13), Some(Protocol::Ll));
        assert_eq!(protocol(&ll, 4096, 50), Some(Protocol::Simple), "an older step");
        assert_eq!(protocol(&ll, 4096, 6), Some(Protocol::Simple), "a later one");
        assert_eq!(protocol(&ll[..16], 16, 13), Some(Protocol::Ll));
        assert_eq!(protocol(&ll[..60], 4096, 13), Some(Protocol::Ll), "cut by the snap length");
        assert_eq!(protocol(&ll[..60], 4096, 50), None);
        let ones: Vec<u8> = 1.0_f32.to_le_bytes().repeat(32);
        assert_eq!(protocol(&ones, 4096, 13), Some(Protocol::Simple));
        let mut ll128 = ones;
        ll128[120..].copy_from_slice(&13_u64.to_le_bytes());
        assert_eq!(protocol(&ll128, 4096, 13), Some(Protocol::Ll128));
        assert_eq!(protocol(&ll128, 4000, 13), Some(Protocol::Simple));
        assert_eq!(protocol(&[], 0, 1), None);
    }
}
