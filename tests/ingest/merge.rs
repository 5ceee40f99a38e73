//! Several files as one stream in time order.

use super::events_of;
use crate::support::capture_file::{Order, PcapFile, PcapNgFile, gzip};
use railscope::ingest::file::CaptureSet;

/// Writes files named `0`, `1`, .. and reads them together; names are shown without the directory.
fn merged(files: &[Vec<u8>]) -> Vec<String> {
    let directory = tempfile::tempdir().unwrap();
    let path = |index: usize| directory.path().join(index.to_string());
    let paths: Vec<_> = (0..files.len()).map(path).collect();
    for (path, bytes) in paths.iter().zip(files) {
        std::fs::write(path, bytes).unwrap();
    }
    let prefix = format!("{}/", directory.path().display());
    events_of(CaptureSet::open(&paths).unwrap())
        .iter()
        .map(|line| line.replace(&prefix, ""))
        .collect()
}

fn pcap(times: &[u32]) -> PcapFile {
    times
        .iter()
        .fold(PcapFile::new(Order::Little, true), |file, time| file.record(*time, 0, 0, &[]))
}

#[test]
fn frames_come_in_time_order_and_ties_in_file_order() {
    let section = PcapNgFile::new(Order::Big)
        .interface(1, 0, &[(9, vec![0])])
        .interface(1, 0, &[(9, vec![3])])
        .enhanced(1, 2_000, 0, &[], &[])
        .enhanced(0, 5, 0, &[], &[]);
    // Time steps back within the third file: its own order is kept.
    let files =
        [pcap(&[2, 3, 3, 9]).bytes, section.bytes, gzip(&pcap(&[1, 3, 2]).bytes), pcap(&[]).bytes];
    let events = merged(&files);
    let frames: Vec<_> = events.iter().filter(|line| line.starts_with("frame")).collect();
    assert_eq!(
        frames,
        [
            "frame 1 at 3 1.000000000 Ethernet /0",
            "frame 1 at 0 2.000000000 Ethernet /0",
            "frame 1 at 2 2.000000000 Ethernet /0",
            "frame 2 at 0 3.000000000 Ethernet /0",
            "frame 3 at 0 3.000000000 Ethernet /0",
            "frame 2 at 3 3.000000000 Ethernet /0",
            "frame 3 at 3 2.000000000 Ethernet /0",
            "frame 2 at 1 5.000000000 Ethernet /0",
            "frame 4 at 0 9.000000000 Ethernet /0",
        ],
    );
    assert_eq!(
        events[..5],
        [
            "tap 0 0 Pcap - Ethernet snap 65535 rate -",
            "tap 1 1 PcapNg - Ethernet snap - rate -",
            "tap 2 1 PcapNg - Ethernet snap - rate -",
            "tap 3 2 Pcap - Ethernet snap 65535 rate -",
            "tap 4 3 Pcap - Ethernet snap 65535 rate -",
        ],
    );
    let ends = events.iter().filter(|line| line.starts_with("end")).count();
    assert_eq!(ends, 4);
}

#[test]
fn a_problem_in_one_file_does_not_stop_the_others() {
    let mut cut = pcap(&[1, 2, 3]).bytes;
    cut.truncate(24 + 16 + 7);
    let events = merged(&[cut, pcap(&[1, 4]).bytes]);
    assert_eq!(
        events,
        [
            "tap 0 0 Pcap - Ethernet snap 65535 rate -",
            "tap 1 1 Pcap - Ethernet snap 65535 rate -",
            "frame 1 at 0 1.000000000 Ethernet /0",
            "frame 1 at 1 1.000000000 Ethernet /0",
            "capture 0: the file ends after 7 of 16 bytes of a record, at byte 40; \
             1 frame before it was read",
            "end 0: 1 frames, 40 bytes",
            "frame 2 at 1 4.000000000 Ethernet /0",
            "end 1: 2 frames, 56 bytes",
        ],
    );
}

#[test]
fn no_files_make_an_empty_set() {
    assert!(merged(&[]).is_empty());
}
