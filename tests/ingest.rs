//! Capture files in, events out.

use std::path::PathBuf;

use railscope::ingest::file::CaptureSet;
use railscope::ingest::file::event::SourceEvent;

fn fixture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures").join(name)
}

#[test]
fn a_real_capture_is_read_to_its_end() {
    let mut captures = CaptureSet::open(&[fixture("rdmacm_rping.pcap.gz")]).unwrap();
    let mut frames = 0;
    while let Some(event) = captures.next_event() {
        if let SourceEvent::Frame(frame) = event {
            frames += 1;
            assert_eq!(frame.number, frames);
        }
    }
    assert_eq!(frames, 365);
}
