//! Classic pcap.

use super::{check, events_of_bytes};
use crate::support::capture_file::{BOTH_ORDERS, Order, PcapFile};

#[test]
fn both_byte_orders_and_both_resolutions() {
    for order in BOTH_ORDERS {
        for (is_nanoseconds, first, second) in
            [(false, "7.000005000", "8.999999000"), (true, "7.000000005", "8.000999999")]
        {
            let file = PcapFile::new(order, is_nanoseconds).record(7, 5, 60, &[1, 2, 3]).record(
                8,
                999_999,
                4,
                &[4, 5, 6, 7],
            );
            check(
                &file.bytes,
                &[
                    "tap 0 f Pcap - Ethernet snap 65535 rate -",
                    &format!("frame 1 at 0 {first} Ethernet 010203/60"),
                    &format!("frame 2 at 0 {second} Ethernet 04050607/4"),
                    "end f: 2 frames, 63 bytes",
                ],
            );
        }
    }
}

#[test]
fn link_types_and_the_frame_check_sequence() {
    // F bit and a length of two 16-bit units: the frame's last four bytes are its FCS.
    let network = 2 << 28 | 1 << 26 | 1;
    let with_fcs = PcapFile::with_header(Order::Little, false, 2, 0, network)
        .record(0, 0, 7, &[1, 2, 3, 9, 9, 9, 9])
        .record(0, 0, 9, &[1, 2, 3, 4, 5, 9])
        .record(0, 0, 2, &[9, 9]);
    check(
        &with_fcs.bytes,
        &[
            "tap 0 f Pcap - Ethernet snap - rate -",
            "frame 1 at 0 0.000000000 Ethernet 010203/3",
            "frame 2 at 0 0.000000000 Ethernet 0102030405/5",
            "frame 3 at 0 0.000000000 Ethernet /0",
            "end f: 3 frames, 87 bytes",
        ],
    );
    let cooked = PcapFile::with_header(Order::Big, false, 2, 96, 276);
    check(
        &cooked.bytes,
        &["tap 0 f Pcap - LinuxCookedV2 snap 96 rate -", "end f: 0 frames, 24 bytes"],
    );
}

#[test]
fn a_wire_length_below_the_captured_one_is_raised() {
    let file = PcapFile::new(Order::Little, false).record(1, 0, 0, &[1, 2]);
    assert_eq!(events_of_bytes(&file.bytes)[1], "frame 1 at 0 1.000000000 Ethernet 0102/2");
}

#[test]
fn the_largest_time_is_kept() {
    let file = PcapFile::new(Order::Big, false).record(u32::MAX, u32::MAX, 0, &[]);
    assert_eq!(events_of_bytes(&file.bytes)[1], "frame 1 at 0 4294971589.967295000 Ethernet /0");
}

#[test]
fn an_impossible_length_ends_the_file() {
    let mut file = PcapFile::new(Order::Little, false).record(1, 0, 3, &[1, 2, 3]);
    file.bytes.extend([[0; 8].as_slice(), &262_145_u32.to_le_bytes(), &[0; 300_000]].concat());
    check(
        &file.bytes,
        &[
            "tap 0 f Pcap - Ethernet snap 65535 rate -",
            "frame 1 at 0 1.000000000 Ethernet 010203/3",
            "capture f: damaged record: a length of 262145 bytes (limit 262144), at byte 43; \
             1 frame before it was read",
            "end f: 1 frames, 43 bytes",
        ],
    );
}

#[test]
fn a_larger_snap_length_is_believed() {
    let frame = vec![7; 300_000];
    let file = PcapFile::with_header(Order::Little, false, 2, 1 << 20, 1).record(1, 0, 1, &frame);
    assert_eq!(events_of_bytes(&file.bytes)[2], "end f: 1 frames, 300040 bytes");
}

#[test]
fn records_across_many_windows() {
    let mut file = PcapFile::new(Order::Little, true);
    let mut expected = vec!["tap 0 f Pcap - Ethernet snap 65535 rate -".to_owned()];
    for number in 1..=6_000_u32 {
        let frame = vec![number as u8; (number % 777) as usize];
        file = file.record(1, number, 1500, &frame);
        let bytes = format!("{:02x}", number as u8).repeat(frame.len());
        expected.push(format!("frame {number} at 0 1.{number:09} Ethernet {bytes}/1500"));
    }
    expected.push(format!("end f: 6000 frames, {} bytes", file.bytes.len()));
    assert!(file.bytes.len() > 2 << 20);
    assert!(events_of_bytes(&file.bytes) == expected);
}
