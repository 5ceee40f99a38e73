//! Records of the one kind of capture that the bench repeats: little-endian pcap with nanoseconds.

use anyhow::{Context, Result, ensure};

/// A file header begins with this.
pub(super) const MAGIC: [u8; 4] = [0x4d, 0x3c, 0xb2, 0xa1];

pub(super) const FILE_HEADER_LEN: usize = 24;

/// Version 2.4, no time zone, whole frames, Ethernet.
pub(super) const FILE_HEADER: [u8; FILE_HEADER_LEN] =
    [0x4d, 0x3c, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 1, 0, 0, 0];
pub(super) const RECORD_HEADER_LEN: usize = 16;

/// A captured frame.
#[derive(Clone, Copy)]
pub(super) struct Record<'a> {
    pub(super) time_ns: u64,
    pub(super) wire_len: u32,
    pub(super) frame: &'a [u8],
}

/// The file header and all records.
pub(super) fn parse(capture: &[u8]) -> Result<(&[u8; FILE_HEADER_LEN], Vec<Record<'_>>)> {
    let (file_header, mut left) =
        capture.split_first_chunk::<FILE_HEADER_LEN>().context("no pcap file header")?;
    ensure!(file_header.starts_with(&MAGIC), "not a little-endian pcap with nanoseconds");
    let mut records = Vec::new();
    while let Some((header, rest)) = left.split_first_chunk::<RECORD_HEADER_LEN>() {
        let (words, _) = header.as_chunks::<4>();
        let [seconds, nanos, captured_len, wire_len] =
            [0, 1, 2, 3].map(|index| u32::from_le_bytes(words[index]));
        let (frame, rest) =
            rest.split_at_checked(captured_len as usize).context("the last record is cut")?;
        left = rest;
        let time_ns = u64::from(seconds) * 1_000_000_000 + u64::from(nanos);
        records.push(Record { time_ns, wire_len, frame });
    }
    Ok((file_header, records))
}

/// The bytes before a record's frame.
pub(super) fn record_header(
    time_ns: u64,
    captured_len: usize,
    wire_len: u32,
) -> [u8; RECORD_HEADER_LEN] {
    let (seconds, nanos) = (time_ns / 1_000_000_000, time_ns % 1_000_000_000);
    let mut header = [0; RECORD_HEADER_LEN];
    let words = [seconds as u32, nanos as u32, captured_len as u32, wire_len];
    for (bytes, word) in header.as_chunks_mut::<4>().0.iter_mut().zip(words) {
        *bytes = word.to_le_bytes();
    }
    header
}
