//! Datagrams of sFlow, through the pipeline.

use railscope_core::flow::tracker::FlowConfig;
use railscope_core::model::frame::Frame;
use railscope_core::model::tap::{LinkType, Tap, TapFormat, TapId};
use railscope_core::model::time::Timestamp;
use railscope_core::pipeline::{Pipeline, PipelineConfig};
use railscope_core::report::ReportContext;

/// The headers before a datagram of sFlow: Ethernet, IPv4 and UDP without lengths of their own.
const HEADERS: [u8; 42] = [
    2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0, 0x45, 0, 0, 0, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1,
    10, 0, 0, 2, 0xc3, 0x50, 0x18, 0xc7, 0, 0, 0, 0,
];

/// Any datagrams, each behind its length in a byte: they are counted, sampled packets never become packets
/// of the tap, and each range holds its value.
pub fn check(bytes: &[u8]) {
    let flow = FlowConfig { flow_capacity: 100, line_rate_bps: None, keeps_details: false };
    let mut pipeline = Pipeline::new(PipelineConfig { flow, message_capacity: Some(100) });
    pipeline.add_tap(Tap {
        file: "sflow".to_owned(),
        format: TapFormat::Pcap,
        interface: None,
        link_type: LinkType::Ethernet,
        snap_len: None,
        line_rate_bps: None,
    });
    let mut rest = bytes;
    let mut number = 0;
    while let Some((len, after)) = rest.split_first() {
        let (payload, after) = after.split_at((4 * usize::from(*len)).min(after.len()));
        rest = after;
        number += 1;
        let mut frame = HEADERS.to_vec();
        frame.extend(payload);
        for (at, len) in [(16, 28 + payload.len()), (38, 8 + payload.len())] {
            frame[at..at + 2].copy_from_slice(&(len as u16).to_be_bytes());
        }
        pipeline.handle_frame(&Frame {
            tap: TapId(0),
            number,
            time: Timestamp::from_nanos(1_000_000 * number),
            wire_len: frame.len() as u32,
            bytes: &frame,
            link_type: LinkType::Ethernet,
            direction: None,
        });
    }
    let report = pipeline.finish(ReportContext::default());
    assert_eq!((report.capture.frames, report.capture.other_frames), (number, number));
    assert!(report.flows.is_empty() && report.queue_pairs.is_empty());
    for switch in &report.sampled {
        let talkers = switch.pairs.iter().chain(&switch.queue_pairs);
        let totals = talkers.flat_map(|talker| [&talker.frames, &talker.bytes]);
        for total in
            totals.chain([&switch.frames, &switch.roce_frames, &switch.cnps].into_iter().flatten())
        {
            assert!(total.low <= total.value && total.value <= total.high, "{total:?}");
        }
        if let Some(share) = &switch.ce_share {
            assert!(0.0 <= share.low && share.low <= share.value, "{share:?}");
            assert!(share.value <= share.high && share.high <= 1.0, "{share:?}");
        }
        if let Some(rhythm) = &switch.rhythm {
            assert!(rhythm.low_ns <= rhythm.period_ns && rhythm.period_ns <= rhythm.high_ns);
        }
        assert!(switch.unread_samples <= bytes.len() as u64);
    }
}
