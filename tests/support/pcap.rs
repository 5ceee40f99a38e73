//! Frames written to a nanosecond pcap file in memory.

use super::frame::Built;

/// The time of the first frame, in nanoseconds since 1970.
pub const FIRST_NS: u64 = 1_700_000_000_000_000_000;

/// A capture of these frames, one per microsecond.
pub fn capture(frames: &[Built]) -> Vec<u8> {
    let link_type = frames.first().map_or(1, |frame| frame.link_type);
    let mut file = header(link_type, 65_535);
    for (index, frame) in frames.iter().enumerate() {
        assert_eq!(frame.link_type, link_type, "a pcap file has one link type");
        let time_ns = FIRST_NS + index as u64 * 1_000;
        record(&mut file, time_ns, &frame.bytes, frame.bytes.len());
    }
    file
}

/// A file header: little-endian, nanoseconds.
pub fn header(link_type: u32, snap_bytes: u32) -> Vec<u8> {
    let mut file = 0xa1b2_3c4d_u32.to_le_bytes().to_vec();
    file.extend(2_u16.to_le_bytes());
    file.extend(4_u16.to_le_bytes());
    file.extend([0; 8]);
    file.extend(snap_bytes.to_le_bytes());
    file.extend(link_type.to_le_bytes());
    file
}

/// One frame of `wire_bytes`, of which `bytes` were captured.
pub fn record(file: &mut Vec<u8>, time_ns: u64, bytes: &[u8], wire_bytes: usize) {
    let fields =
        [time_ns / 1_000_000_000, time_ns % 1_000_000_000, bytes.len() as u64, wire_bytes as u64];
    for field in fields {
        file.extend((field as u32).to_le_bytes());
    }
    file.extend(bytes);
}
