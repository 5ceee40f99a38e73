//! A frame of any link type: the first byte selects it, the rest is the frame.

use railscope_core::decode::frame::decode;
use railscope_core::decode::packet::Body;
use railscope_core::model::frame::Frame;
use railscope_core::model::tap::{LinkType, TapId};
use railscope_core::model::time::Timestamp;

const LINK_TYPES: [LinkType; 6] = [
    LinkType::Ethernet,
    LinkType::LinuxCookedV1,
    LinkType::LinuxCookedV2,
    LinkType::RawIp,
    LinkType::Null,
    LinkType::Loopback,
];

/// Panics if an invariant does not hold.
pub fn check(data: &[u8]) {
    let Some((&link, bytes)) = data.split_first() else { return };
    // The high bits give how much of the frame was cut off.
    let wire_len = bytes.len() as u32 + u32::from(link >> 3) * 50;
    let link_type = LINK_TYPES[usize::from(link & 7) % LINK_TYPES.len()];
    let (tap, time) = (TapId(0), Timestamp::EPOCH);
    let frame = Frame { tap, number: 1, time, wire_len, bytes, link_type, direction: None };
    let packet = decode(&frame);

    assert!(packet.wire_len <= wire_len + 66_000, "longer than any IP packet");
    if let Some(stop) = packet.stop {
        assert!(stop.offset as usize + stop.have as usize <= bytes.len());
        assert!(stop.need == 0 || stop.have < stop.need);
    }
    if let Body::Roce(roce) = packet.body {
        assert!(roce.payload.len() <= roce.payload_len as usize);
        let kept = bytes.as_ptr_range();
        for part in [roce.after_ip, roce.whole.unwrap_or_default(), roce.payload] {
            let part_range = part.as_ptr_range();
            let is_within = kept.start <= part_range.start && part_range.end <= kept.end;
            assert!(part.is_empty() || is_within);
        }
        assert!(
            roce.whole.is_none()
                || packet.stop.is_some()
                || roce.payload.len() == roce.payload_len as usize
        );
        let _ = roce.has_valid_icrc();
        if let Some(Ok(mad)) = roce.management() {
            let _ = mad.connection_message();
        }
    }
}
