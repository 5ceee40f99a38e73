//! Captures with the timestamps of another clock: pcap files with other times and no other change.

/// Bytes of a pcap file's header.
const FILE_HEADER: usize = 24;

/// The frames' times in nanoseconds, in the order of the file. The file is little-endian with
/// nanoseconds.
pub fn times(pcap: &[u8]) -> Vec<u64> {
    let mut pcap = pcap.to_vec();
    let mut times = Vec::new();
    restamp(&mut pcap, |time| {
        times.push(time);
        time
    });
    times
}

/// Replaces each frame's time by `clock` of it.
pub fn restamp(pcap: &mut [u8], mut clock: impl FnMut(u64) -> u64) {
    assert_eq!(pcap[..4], 0xa1b2_3c4d_u32.to_le_bytes(), "little-endian nanoseconds");
    let number = |bytes: &[u8]| u64::from(u32::from_le_bytes(bytes.try_into().unwrap()));
    let mut record = &mut pcap[FILE_HEADER..];
    while !record.is_empty() {
        let time = clock(number(&record[..4]) * 1_000_000_000 + number(&record[4..8]));
        record[..4].copy_from_slice(&((time / 1_000_000_000) as u32).to_le_bytes());
        record[4..8].copy_from_slice(&((time % 1_000_000_000) as u32).to_le_bytes());
        let length = 16 + number(&record[8..12]) as usize;
        record = &mut record[length..];
    }
}

/// Keeps the frames for whose time and bytes `wanted` holds.
pub fn retain(pcap: &mut Vec<u8>, wanted: impl Fn(u64, &[u8]) -> bool) {
    let times = times(pcap);
    let mut kept = pcap[..FILE_HEADER].to_vec();
    let mut records = &pcap[FILE_HEADER..];
    for time in times {
        let length = 16 + u32::from_le_bytes(records[8..12].try_into().unwrap()) as usize;
        let (record, rest) = records.split_at(length);
        if wanted(time, &record[16..]) {
            kept.extend(record);
        }
        records = rest;
    }
    *pcap = kept;
}
