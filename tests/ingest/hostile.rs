//! Any bytes: no panic, it terminates, and every frame's bytes are within the file.

use std::io::Cursor;

use proptest::prelude::*;
use railscope::ingest::file::CaptureSet;
use railscope::ingest::file::event::SourceEvent;

use crate::support::capture_file::{Order, PcapFile, PcapNgFile, gzip, zstd};

/// Reads everything, and counts it in both ways.
fn read_to_end(bytes: Vec<u8>) {
    let length = bytes.len();
    let Ok(mut captures) = CaptureSet::from_reader("f", Cursor::new(bytes)) else { return };
    let (mut frames, mut ends, mut taps) = (0, 0, 0);
    while let Some(event) = captures.next_event() {
        match event {
            SourceEvent::Frame(frame) => {
                frames += 1;
                assert!(frame.tap.0 < taps);
                assert!(frame.bytes.len() as u64 <= u64::from(frame.wire_len));
            }
            SourceEvent::Tap(..) => taps += 1,
            SourceEvent::FileEnd(summary) => {
                ends += 1;
                assert_eq!(summary.frames, frames);
            }
            SourceEvent::HostName(_)
            | SourceEvent::Lost { .. }
            | SourceEvent::ObservedUntil { .. }
            | SourceEvent::Problem(_) => {}
        }
    }
    assert_eq!(ends, 1);
    assert!(captures.progress().bytes_read <= length as u64);
    assert!(captures.next_event().is_none());
}

fn sound_files() -> Vec<Vec<u8>> {
    let pcap = |order, is_nanoseconds| {
        PcapFile::new(order, is_nanoseconds).record(1, 2, 60, &[1; 50]).record(2, 3, 9, &[2; 9])
    };
    let pcapng = |order: Order| {
        let file = PcapNgFile::new(order);
        let (offset, drops) = (file.number(7), file.number(3));
        file.interface(1, 0, &[(2, b"rail0".to_vec()), (9, vec![0x9e]), (14, offset)])
            .enhanced(0, 1 << 33, 60, &[1; 50], &[(2, order.u32(2).to_vec()), (4, drops)])
            .names(&[(&[10, 0, 0, 1], &["rank0"]), (&[9; 16], &["rank1"])])
            .simple(9, &[2; 9])
            .obsolete(0, 1, 3, 7, &[3; 7])
            .statistics(0, 1, 2)
            .section(order)
            .interface(1, 0, &[])
            .enhanced(0, 1, 5, &[1; 5], &[])
    };
    let mut files = vec![pcap(Order::Little, true).bytes, pcap(Order::Big, false).bytes];
    files.extend([pcapng(Order::Little).bytes, pcapng(Order::Big).bytes]);
    files.extend([gzip(&files[2]), zstd(&files[3])]);
    files
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        read_to_end(bytes);
    }

    #[test]
    fn any_bytes_after_a_sound_start(
        file in 0..4_usize,
        bytes in prop::collection::vec(any::<u8>(), 0..300),
    ) {
        let start = &sound_files()[file][..if file < 2 { 24 } else { 52 }];
        read_to_end([start, &bytes].concat());
    }

    #[test]
    fn sound_files_with_some_bytes_changed(
        file in 0..6_usize,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let mut bytes = sound_files()[file].clone();
        for (place, value) in changes {
            let place = place.index(bytes.len());
            bytes[place] = value;
        }
        read_to_end(bytes);
    }
}
