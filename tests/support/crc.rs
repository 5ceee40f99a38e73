//! CRC-32 (IEEE 802.3), one bit at a time: slow, but short enough to be checked by eye.

pub fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = crc >> 1 ^ if crc & 1 == 1 { 0xedb8_8320 } else { 0 };
        }
    }
    !crc
}

#[test]
fn check_value_of_the_catalogues() {
    assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
}
