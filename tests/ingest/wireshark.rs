//! Wireshark's tools on the same files: real captures, and our own pcapng.

use railscope::ingest::file::CaptureSet;
use railscope::ingest::file::event::SourceEvent;
use railscope_core::model::direction::Direction;

use super::fixture;
use crate::support::capture_file::{BOTH_ORDERS, PcapNgFile};
use crate::support::tool;

#[test]
fn capinfos_counts_the_same_frames_between_the_same_times() {
    for name in ["rdmacm_rping.pcap.gz", "ring4_allreduce_pA.pcap.gz", "rc_pingpong.pcap.gz"] {
        let path = fixture(name);
        let mut captures = CaptureSet::open(&[&path]).unwrap();
        let (mut frames, mut first, mut last) = (0, None, None);
        while let Some(event) = captures.next_event() {
            if let SourceEvent::Frame(frame) = event {
                frames += 1;
                assert_eq!(frame.number, frames);
                first = first.min(Some(frame.time)).or(Some(frame.time));
                last = last.max(Some(frame.time));
            }
        }
        let arguments = ["-T", "-r", "-M", "-B", "-c", "-a", "-e", "-S", path.to_str().unwrap()];
        let Some(said) = tool::output_of("capinfos", "capinfos", &arguments) else { return };
        let said: Vec<_> = said.trim_end().split('\t').skip(1).map(str::to_owned).collect();
        let (first, last) = (first.unwrap(), last.unwrap());
        assert_eq!(said, [frames.to_string(), first.to_string(), last.to_string()], "{name}");
    }
}

#[test]
fn tshark_reads_the_same_pcapng() {
    for order in BOTH_ORDERS {
        let file = PcapNgFile::new(order);
        let before = file.number((-1_000_i64).cast_unsigned());
        let flags = |bits: u32| (2, order.u32(bits).to_vec());
        let file = file
            .interface(1, 0, &[(2, b"rail0".to_vec()), (9, vec![9])])
            .interface(1, 0, &[(2, b"rail1".to_vec()), (9, vec![0x80 | 30]), (14, before)])
            .enhanced(0, 1_700_000_000_123_456_789, 60, &[1; 33], &[flags(1)])
            .enhanced(1, 1_800_000_000 << 30 | 1 << 28, 34, &[2; 34], &[flags(2)])
            .interface(1, 0, &[(2, b"rail2".to_vec())])
            .enhanced(2, 1_700_000_002_000_001, 90, &[3; 50], &[]);
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("three_clocks.pcapng");
        std::fs::write(&path, &file.bytes).unwrap();

        let mut captures = CaptureSet::open(&[&path]).unwrap();
        let (mut names, mut ours) = (Vec::new(), String::new());
        while let Some(event) = captures.next_event() {
            match event {
                SourceEvent::Tap(_, tap) => names.push(tap.interface.unwrap()),
                SourceEvent::Frame(frame) => {
                    let direction = match frame.direction {
                        Some(Direction::Received) => "0x00000001",
                        Some(Direction::Sent) => "0x00000002",
                        None => "",
                    };
                    ours += &format!(
                        "{}\t{}\t{}\t{}\t{}\t{direction}\n",
                        frame.number,
                        frame.time,
                        frame.wire_len,
                        frame.bytes.len(),
                        names[frame.tap.0 as usize],
                    );
                }
                _ => {}
            }
        }
        let mut arguments = vec!["-n", "-r", path.to_str().unwrap(), "-T", "fields"];
        for field in [
            "frame.number",
            "frame.time_epoch",
            "frame.len",
            "frame.cap_len",
            "frame.interface_name",
            "frame.packet_flags_direction",
        ] {
            arguments.extend(["-e", field]);
        }
        let Some(said) = tool::output_of("tshark", "tshark", &arguments) else { return };
        assert_eq!(ours, said, "{order:?}");
    }
}
