//! gzip and zstd, recognised by content: whole, in several members, and cut.

use std::io::{Read, Write};

use super::{events_of, events_of_bytes, line};
use crate::support::capture_file::{Order, PcapFile, gzip, zstd};
use railscope::ingest::file::CaptureSet;

fn plain() -> PcapFile {
    (0..40).fold(PcapFile::new(Order::Little, true), |file, number: u8| {
        // Not a run of equal bytes, so that the compressed file is long enough to cut.
        let frame: Vec<u8> =
            (0..60_u8).map(|byte| byte.wrapping_mul(number) ^ (byte << 3)).collect();
        file.record(1, u32::from(number), 60, &frame)
    })
}

#[test]
fn several_members_and_frames_are_one_stream() {
    let file = plain();
    let expected = events_of_bytes(&file.bytes);
    let (a, b) = file.bytes.split_at(333);
    let (b, c) = b.split_at(500);
    let skippable = [[0x5a, 0x2a, 0x4d, 0x18].as_slice(), &3_u32.to_le_bytes(), &[9; 3]].concat();
    for bytes in [
        gzip(&file.bytes),
        [gzip(a), gzip(b), gzip(&[]), gzip(c)].concat(),
        zstd(&file.bytes),
        [skippable.clone(), zstd(a), skippable, zstd(b), zstd(c)].concat(),
    ] {
        assert_eq!(events_of_bytes(&bytes), expected);
    }
}

/// Everything that a decoder yields, byte by byte, until it fails: all that a cut stream contains.
fn decodable(mut decoder: impl Read) -> Vec<u8> {
    let (mut bytes, mut byte) = (Vec::new(), [0]);
    while let Ok(1) = decoder.read(&mut byte) {
        bytes.push(byte[0]);
    }
    bytes
}

fn check_cuts(compressed: &[u8], name: &str, decoded: impl Fn(&[u8]) -> Vec<u8>) {
    for length in 1..compressed.len() {
        let events = events_of_bytes(&compressed[..length]);
        let is_frame = |line: &&String| line.starts_with("frame");
        let decoded = decoded(&compressed[..length]);
        let expected = events_of_bytes(&decoded);
        assert_eq!(
            events.iter().filter(is_frame).collect::<Vec<_>>(),
            expected.iter().filter(is_frame).collect::<Vec<_>>(),
            "cut at {length}"
        );
        let problem = events.iter().find(|line| !line.starts_with("frame") && line.contains(": "));
        let problem = problem.unwrap_or_else(|| panic!("cut at {length}: no problem reported"));
        if decoded.len() >= 24 {
            assert!(
                problem.contains(&format!("the {name} stream is truncated, at byte ")),
                "{problem}"
            );
            assert!(problem.contains("of the uncompressed stream"), "{problem}");
        } else {
            assert!(problem.starts_with("open capture f: "), "{problem}");
        }
    }
}

#[test]
fn gzip_cut_at_every_length() {
    check_cuts(&gzip(&plain().bytes), "gzip", |bytes| {
        decodable(flate2::bufread::MultiGzDecoder::new(bytes))
    });
}

#[test]
fn zstd_cut_at_every_length() {
    check_cuts(&zstd(&plain().bytes), "zstd", |bytes| {
        zstd::stream::read::Decoder::with_buffer(bytes).map_or(Vec::new(), decodable)
    });
}

#[test]
fn a_damaged_stream_is_reported_with_its_offset() {
    let file = plain();
    let mut bytes = [gzip(&file.bytes), b"this is no gzip member".to_vec()].concat();
    let events = events_of_bytes(&bytes);
    assert_eq!(events.iter().filter(|line| line.starts_with("frame")).count(), 40);
    assert!(events[41].contains("the gzip stream is damaged ("), "{events:?}");

    bytes[200] ^= 0x55;
    let events = events_of_bytes(&bytes);
    assert!(events.iter().any(|line| line.contains("the gzip stream is ")), "{events:?}");
}

#[test]
fn progress_counts_the_bytes_on_disk() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("named_without_suffix");
    let bytes = gzip(&plain().bytes);
    std::fs::write(&path, &bytes).unwrap();
    let mut captures = CaptureSet::open(&[&path, &path]).unwrap();
    while captures.next_event().is_some() {}
    let progress = captures.progress();
    assert_eq!(progress.bytes_read, 2 * bytes.len() as u64);
    assert_eq!(progress.bytes_total, Some(2 * bytes.len() as u64));

    let piped = CaptureSet::from_reader("f", std::io::Cursor::new(bytes)).unwrap();
    assert_eq!(piped.progress().bytes_total, None);
    assert_eq!(events_of(piped).len(), 42);
}

#[test]
fn what_comes_through_a_pipe_is_not_held_back() {
    let file = plain().bytes;
    let (reader, writer) = std::io::pipe().unwrap();
    let mut writer = flate2::write::GzEncoder::new(writer, flate2::Compression::default());
    // The first two of forty frames.
    writer.write_all(&file[..24 + 2 * (16 + 60)]).unwrap();
    writer.flush().unwrap();
    let mut captures = CaptureSet::from_reader("f", reader).unwrap();
    let frames = std::iter::from_fn(|| captures.next_event().map(|event| line(&event)));
    assert_eq!(frames.filter(|line| line.starts_with("frame")).take(2).count(), 2);
    writer.write_all(&file[24 + 2 * (16 + 60)..]).unwrap();
    writer.finish().unwrap();
    let lines = events_of(captures);
    assert_eq!(lines.iter().filter(|line| line.starts_with("frame")).count(), 38);
}
