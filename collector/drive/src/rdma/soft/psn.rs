//! Packet sequence numbers: 24 bits on the wire, 64 bits that never wrap internally.

const BITS: u32 = 24;

/// The lower 24 bits.
#[must_use]
pub const fn wire(psn: u64) -> u32 {
    (psn & ((1 << BITS) - 1)) as u32
}

/// How far `psn` is ahead of `from`, from -2^23 to 2^23 - 1.
#[must_use]
pub const fn distance(psn: u32, from: u64) -> i64 {
    let ahead = psn.wrapping_sub(wire(from)) << (32 - BITS);
    (ahead.cast_signed() >> (32 - BITS)) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_wrap_at_24_bits() {
        assert_eq!(wire(0x0100_0002), 2);
        assert_eq!(distance(2, 0x00ff_ffff), 3);
        assert_eq!(distance(0x00ff_ffff, 0x0100_0002), -3);
        assert_eq!(distance(5, 5), 0);
    }
}
