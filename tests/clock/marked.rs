//! A packet that a switch marks on its way is the same packet at the next tap.

use railscope_core::decode::frame;
use railscope_core::link::clock::sighting::Sightings;
use railscope_core::model::frame::Frame;
use railscope_core::model::tap::{LinkType, TapId};
use railscope_core::model::time::Timestamp;

use crate::support::frame::{Built, FrameBuilder};
use crate::support::ip::Ipv4;
use crate::support::roce::Roce;

/// Sends two packets past two taps; the second tap sees the byte at `place` changed by `bits`. Returns how
/// many of them are recognised.
fn recognised(packets: &[Built], place: impl Fn(&Built) -> usize, bits: u8) -> usize {
    let mut sightings = Sightings::new(16);
    for (number, sent) in (1_u64..).zip(packets) {
        let mut marked = sent.clone();
        marked.bytes[place(sent)] ^= bits;
        for (tap, built) in [sent, &marked].into_iter().enumerate() {
            let frame = Frame {
                number,
                time: Timestamp::from_nanos(number * 1_000_000 + tap as u64),
                tap: TapId(tap as u32),
                wire_len: built.bytes.len() as u32,
                bytes: &built.bytes,
                link_type: LinkType::from_number(built.link_type),
                direction: None,
            };
            sightings.observe(&frame, &frame::decode(&frame));
        }
    }
    sightings.pairs().values().map(Vec::len).sum()
}

/// Where the marks of the BTH are.
fn bth_marks(built: &Built) -> usize {
    built.places.iter().find(|place| place.layer == "bth").unwrap().offset + 4
}

#[test]
fn a_mark_in_the_bth_of_native_infiniband() {
    let packets = [1, 2].map(|psn| {
        let packet = Roce { psn, ..Roce::new(0x0a, 16) };
        FrameBuilder::infiniband(2, 4, 17).roce(&packet).finish_infiniband()
    });
    assert_eq!(recognised(&packets, bth_marks, 0x80), 2, "FECN");
    assert_eq!(recognised(&packets, |built| bth_marks(built) + 7, 1), 0, "another PSN");
}

#[test]
fn a_mark_in_the_ip_header_of_rocev2() {
    let packets = [1, 2].map(|psn| {
        let packet = Roce { psn, ..Roce::new(0x0a, 16) };
        FrameBuilder::ethernet().ipv4(&Ipv4::default()).udp(49_152, 4791).roce(&packet).finish()
    });
    assert_eq!(recognised(&packets, |built| built.ip_offset + 1, 3), 2, "CE");
}
