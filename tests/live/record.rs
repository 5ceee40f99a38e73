//! Frames written to a capture and read back are unchanged; tshark reads the same.

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use railscope::export::pcapng::PcapNgWriter;
use railscope::ingest::file::CaptureSet;
use railscope::ingest::file::event::SourceEvent;
use railscope_core::model::direction::Direction;
use railscope_core::model::frame::Frame;
use railscope_core::model::tap::{LinkType, Tap, TapFormat, TapId};
use railscope_core::model::time::Timestamp;

use crate::support::tool;

/// The fields of a frame to compare.
type Seen = (u32, u64, u32, Vec<u8>, Option<Direction>);

fn tap(name: &str, link_type: LinkType) -> Tap {
    Tap {
        file: name.to_owned(),
        format: TapFormat::AfPacket,
        interface: Some(name.to_owned()),
        link_type,
        snap_len: None,
        line_rate_bps: None,
    }
}

fn frames() -> Vec<Seen> {
    let frame = |at: u64| {
        let bytes: Vec<u8> = (0..20 + at as u8 % 7).map(|byte| byte ^ at as u8).collect();
        let direction = [None, Some(Direction::Received), Some(Direction::Sent)][at as usize % 3];
        (at as u32 % 2, 1_700_000_000_123_456_789 + at * 1_001, 1500, bytes, direction)
    };
    (0..50).map(frame).collect()
}

fn write(path: &Path) {
    let mut writer = PcapNgWriter::new(BufWriter::new(File::create(path).unwrap())).unwrap();
    writer.tap(&tap("eth0", LinkType::Ethernet)).unwrap();
    writer.tap(&tap("tun0", LinkType::RawIp)).unwrap();
    for (at, (tap, ns, wire_len, bytes, direction)) in frames().iter().enumerate() {
        let link_type = if *tap == 0 { LinkType::Ethernet } else { LinkType::RawIp };
        let (tap, time) = (TapId(*tap), Timestamp::from_nanos(*ns));
        let (number, wire_len, direction) = (at as u64 + 1, *wire_len, *direction);
        let frame = Frame { tap, number, time, wire_len, bytes, link_type, direction };
        writer.frame(&frame).unwrap();
    }
    writer.lost(TapId(1), 3).unwrap();
    writer.lost(TapId(1), 4).unwrap();
    writer.flush().unwrap();
}

#[test]
fn what_was_written_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path: PathBuf = folder.path().join("seen.pcapng");
    write(&path);
    let mut captures = CaptureSet::open(&[&path]).unwrap();
    let (mut taps, mut seen, mut lost) = (Vec::new(), Vec::new(), 0);
    while let Some(event) = captures.next_event() {
        match event {
            SourceEvent::Tap(_, tap) => taps.push((tap.interface.unwrap(), tap.link_type)),
            SourceEvent::Lost { tap: TapId(1), frames } => lost += frames,
            SourceEvent::FileEnd(_) => {}
            SourceEvent::Frame(frame) => {
                let Frame { tap, time, wire_len, bytes, direction, .. } = frame;
                seen.push((tap.0, time.as_nanos(), wire_len, bytes.to_vec(), direction));
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(seen, frames());
    assert_eq!(lost, 7);
    let expected = [("eth0".to_owned(), LinkType::Ethernet), ("tun0".to_owned(), LinkType::RawIp)];
    assert_eq!(taps, expected);
}

#[test]
fn capinfos_agrees() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seen.pcapng");
    write(&path);
    let file = path.to_str().unwrap();
    let Some(said) = tool::output_of("capinfos_agrees", "capinfos", &["-c", "-I", "-M", file])
    else {
        return;
    };
    assert!(said.contains("Number of packets:   50"), "{said}");
    assert!(said.contains("Name = eth0") && said.contains("Name = tun0"), "{said}");
    assert!(said.contains("Time precision = nanoseconds (9)"), "{said}");
}
