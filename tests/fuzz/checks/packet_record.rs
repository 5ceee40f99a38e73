//! A record of the kernel programs at interfaces, as a frame. The first byte gives its kind.

use railscope::ingest::ebpf::read_record;
use railscope::ingest::live::LiveEvent;
use railscope_core::flow::tracker::FlowConfig;
use railscope_core::model::tap::{LinkType, Tap, TapFormat};
use railscope_core::pipeline::{Pipeline, PipelineConfig};
use railscope_core::report::ReportContext;

use super::aligned;

/// Bytes of a packet's record with each room for its beginning, the last two after a run, and of a segment's
/// with each room for its payload.
const LENGTHS: [usize; 9] = [
    24 + 64,
    24 + 128,
    24 + 256,
    24 + 64 + 128,
    24 + 64 + 256,
    288,
    288 + 512,
    288 + 2048,
    288 + 16_384,
];

/// Bytes of headers, of payload and of a VLAN tag in a frame.
const MOST: usize = 256 + 16_384 + 4;

/// Address of the interface.
const OWN: [u8; 6] = [2, 0, 0, 0, 0, 1];

/// Panics if an invariant does not hold.
pub fn check(data: &[u8]) {
    let Some((kind, bytes)) = data.split_first() else { return };
    let known = LENGTHS.get(usize::from(*kind));
    let len = known.copied().unwrap_or(bytes.len());
    aligned(bytes, len, check_record);
}

/// The interface.
fn tap() -> Tap {
    Tap {
        file: "eth0".to_owned(),
        format: TapFormat::Ebpf,
        interface: Some("eth0".to_owned()),
        link_type: LinkType::Ethernet,
        snap_len: None,
        line_rate_bps: None,
    }
}

fn check_record(record: &[u8]) {
    let mut frames = Vec::new();
    let flow = FlowConfig { flow_capacity: 1, line_rate_bps: None, keeps_details: false };
    let mut pipeline = Pipeline::new(PipelineConfig { flow, message_capacity: Some(1) });
    pipeline.add_tap(tap());
    let is_read = read_record(record, Some(OWN), &mut |event| match event {
        LiveEvent::Frame(frame) => {
            frames.push((frame.bytes.to_vec(), frame.number, frame.direction));
            pipeline.handle_frame(&frame);
        }
        LiveEvent::Run(run, frame) => {
            assert!(run.frames > 0 || run.lost > 0);
            assert_eq!(frame.number, 1 + u64::from(run.frames), "all frames are counted");
            frames.push((frame.bytes.to_vec(), frame.number, frame.direction));
            pipeline.handle_run(&run, &frame);
        }
        other => panic!("{other:?}"),
    });
    assert_eq!(frames.len(), usize::from(is_read), "a record is a frame");
    for (bytes, ..) in &frames {
        assert!(bytes.len() <= MOST);
    }
    read_record(record, None, &mut |event| {
        if let LiveEvent::Frame(frame) | LiveEvent::Run(_, frame) = event {
            let same = frames.first().is_some_and(|(bytes, ..)| bytes == frame.bytes);
            assert!(same && frame.direction.is_none(), "at a mirror port nothing has a direction");
        }
    });
    _ = pipeline.finish(ReportContext::default());
}
