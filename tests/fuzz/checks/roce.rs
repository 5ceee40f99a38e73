//! The bytes after the UDP header of a RoCEv2 packet: BTH, extension headers, payload, ICRC.

use railscope_core::decode::frame::decode;
use railscope_core::decode::packet::Body;
use railscope_core::model::frame::Frame;
use railscope_core::model::tap::{LinkType, TapId};
use railscope_core::model::time::Timestamp;

/// Panics if an invariant does not hold.
pub fn check(data: &[u8]) {
    let Ok(len) = u16::try_from(data.len() + 28) else { return };
    let [l0, l1] = len.to_be_bytes();
    let [u0, u1] = (len - 20).to_be_bytes();
    let mut bytes = vec![0x45, 0, l0, l1, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
    bytes.extend([0xc0, 0, 0x12, 0xb7, u0, u1, 0, 0]);
    bytes.extend(data);
    let frame = |bytes| Frame {
        tap: TapId(0),
        number: 1,
        time: Timestamp::EPOCH,
        wire_len: u32::from(len),
        bytes,
        link_type: LinkType::RawIp,
        direction: None,
    };

    let whole_frame = frame(&bytes);
    let whole = decode(&whole_frame);
    let Body::Roce(roce) = whole.body else {
        assert!(data.len() < 12, "every BTH decodes");
        return;
    };
    assert_eq!(roce.whole, Some(&bytes[..]));
    if whole.stop.is_none() {
        let trailer = usize::from(roce.bth.pad_count) + 4;
        let end = roce.payload_offset as usize + roce.payload.len() + trailer;
        assert_eq!(end, bytes.len(), "headers, payload, padding and ICRC make up the packet");
    }

    // The cut part is missing; nothing else changes.
    let cut_frame = frame(&bytes[..bytes.len() / 2 + 20]);
    if let Body::Roce(cut) = decode(&cut_frame).body {
        assert_eq!((cut.bth, cut.payload_len), (roce.bth, roce.payload_len));
        assert!(roce.payload.starts_with(cut.payload));
    }
}
