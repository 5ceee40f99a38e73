//! Files cut at every length: complete records are delivered, and the offset of the cut is
//! reported.

use super::events_of_bytes;
use crate::support::capture_file::{BOTH_ORDERS, Extent, PcapFile, PcapNgFile};

/// Checks a cut at every length after the first header, which ends at `header_end`.
fn check_cuts(bytes: &[u8], header_end: usize, extents: &[Extent]) {
    let whole = events_of_bytes(bytes);
    for length in 0..bytes.len() {
        let events = events_of_bytes(&bytes[..length]);
        if length < header_end {
            assert_eq!(events.len(), 1, "cut at {length}: {events:?}");
            let word = if length == 0 { "empty" } else { "the file ends after" };
            assert!(
                events[0].starts_with("open capture f: ") && events[0].contains(word),
                "{events:?}"
            );
            continue;
        }
        let is_frame = |line: &&String| line.starts_with("frame");
        let frames = extents.iter().filter(|extent| extent.is_frame && extent.end <= length);
        let expected: Vec<_> = whole.iter().filter(is_frame).take(frames.count()).collect();
        let delivered: Vec<_> = events.iter().filter(is_frame).collect();
        assert_eq!(delivered, expected, "cut at {length}");

        let in_record = extents.iter().find(|extent| extent.start < length && length < extent.end);
        let problem = events.iter().find(|line| line.starts_with("capture f: "));
        match (in_record, problem) {
            (None, None) => {}
            (Some(extent), Some(problem)) => {
                let have = length - extent.start;
                assert!(problem.contains(&format!("the file ends after {have} of ")), "{problem}");
                assert!(problem.contains(&format!("at byte {};", extent.start)), "{problem}");
            }
            other => panic!("cut at {length}: {other:?}"),
        }
    }
}

#[test]
fn pcap_cut_at_every_length() {
    for order in BOTH_ORDERS {
        let file = PcapFile::new(order, false)
            .record(1, 0, 60, &[1; 20])
            .record(1, 0, 60, &[])
            .record(2, 0, 60, &[3; 33]);
        check_cuts(&file.bytes, 24, &file.extents);
    }
}

#[test]
fn pcapng_cut_at_every_length() {
    for order in BOTH_ORDERS {
        let file = PcapNgFile::new(order)
            .interface(1, 0, &[(2, b"rail0".to_vec())])
            .enhanced(0, 1, 5, &[1; 5], &[(2, order.u32(1).to_vec())])
            .names(&[(&[10, 0, 0, 1], &["rank0"])])
            .simple(9, &[2; 9])
            .block(0x0bad, &[0; 12])
            .obsolete(0, 0, 3, 7, &[3; 7])
            .statistics(0, 1, 2)
            .section(order)
            .interface(1, 0, &[])
            .enhanced(0, 1, 5, &[1; 5], &[]);
        check_cuts(&file.bytes, file.extents[0].end, &file.extents[1..]);
    }
}
