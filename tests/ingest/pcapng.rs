//! pcapng: sections, interfaces, the three packet blocks, and the other blocks.

use super::{check, events_of_bytes};
use crate::support::capture_file::{BOTH_ORDERS, Order, PcapNgFile};

const FRAME: [u8; 5] = [1, 2, 3, 4, 5];

#[test]
fn interfaces_with_clocks_of_their_own() {
    for order in BOTH_ORDERS {
        let file = PcapNgFile::new(order);
        let (speed, offset) = (file.number(100_000_000_000), file.number(1_000));
        let (transmit, receive) = (file.number(10), file.number(20));
        let before = file.number((-3_i64).cast_unsigned());
        let file = file
            .interface(1, 96, &[(2, b"rail0".to_vec()), (8, speed), (9, vec![9])])
            .interface(276, 0, &[(16, transmit), (17, receive), (9, vec![0x80 | 10])])
            .interface(101, 0, &[(14, offset)])
            .interface(1, 0, &[(14, before), (9, vec![0]), (13, vec![32])])
            .enhanced(1, 512 + 7 * 1024, 60, &FRAME, &[])
            .enhanced(0, 1_700_000_000_123_456_789, 5, &FRAME, &[])
            .enhanced(2, 1_000_001, 5, &FRAME, &[])
            .enhanced(3, 4, 9, &[1, 2, 3, 4, 5, 9, 9, 9, 9], &[]);
        let bytes = file.bytes.len();
        check(
            &file.bytes,
            &[
                "tap 0 f PcapNg rail0 Ethernet snap 96 rate 100000000000",
                "tap 1 f PcapNg - LinuxCookedV2 snap - rate 20",
                "tap 2 f PcapNg - RawIp snap - rate -",
                "tap 3 f PcapNg - Ethernet snap - rate -",
                "frame 1 at 1 7.500000000 LinuxCookedV2 0102030405/60",
                "frame 2 at 0 1700000000.123456789 Ethernet 0102030405/5",
                "frame 3 at 2 1001.000001000 RawIp 0102030405/5",
                "frame 4 at 3 1.000000000 Ethernet 0102030405/5",
                &format!("end f: 4 frames, {bytes} bytes"),
            ],
        );
    }
}

#[test]
fn sections_start_anew_in_either_byte_order() {
    for (first, second) in [(Order::Little, Order::Big), (Order::Big, Order::Little)] {
        let file = PcapNgFile::new(first)
            .interface(1, 0, &[])
            .enhanced(0, 1, 5, &FRAME, &[])
            .section(second)
            .enhanced(0, 2, 5, &FRAME, &[])
            .interface(113, 0, &[])
            .enhanced(0, 3, 5, &FRAME, &[]);
        let bytes = file.bytes.len();
        let offset = file.extents[4].start;
        check(
            &file.bytes,
            &[
                "tap 0 f PcapNg - Ethernet snap - rate -",
                "frame 1 at 0 0.000001000 Ethernet 0102030405/5",
                &format!(
                    "capture f: a frame of interface 0, which has no description, at byte {offset}; \
                     such frames are dropped and counted"
                ),
                "tap 1 f PcapNg - LinuxCookedV1 snap - rate -",
                "frame 3 at 1 0.000003000 LinuxCookedV1 0102030405/5",
                &format!("end f: 2 frames, {bytes} bytes, 1 dropped"),
            ],
        );
    }
}

#[test]
fn direction_and_lost_frames() {
    for order in BOTH_ORDERS {
        let file = PcapNgFile::new(order);
        let flags = |bits: u32| (2, order.u32(bits).to_vec());
        let dropped = (4, file.number(4));
        let file = file
            .interface(1, 0, &[])
            .enhanced(0, 1, 5, &FRAME, &[(1, b"odd length".to_vec()), flags(1)])
            .enhanced(0, 2, 5, &FRAME, &[flags(2), dropped])
            .enhanced(0, 3, 5, &FRAME, &[flags(0)])
            .obsolete(0, 2, 4, 5, &FRAME)
            .obsolete(0, 0xffff, 5, 5, &FRAME)
            .statistics(0, 5, 3)
            .statistics(0, 5, 3)
            .statistics(9, 5, 3);
        let bytes = file.bytes.len();
        let offset = file.extents[9].start;
        check(
            &file.bytes,
            &[
                "tap 0 f PcapNg - Ethernet snap - rate -",
                "frame 1 at 0 0.000001000 Ethernet 0102030405/5 Received",
                "frame 2 at 0 0.000002000 Ethernet 0102030405/5 Sent",
                "lost 4 at 0",
                "frame 3 at 0 0.000003000 Ethernet 0102030405/5",
                "frame 4 at 0 0.000004000 Ethernet 0102030405/5",
                "lost 2 at 0",
                "frame 5 at 0 0.000005000 Ethernet 0102030405/5",
                "lost 2 at 0",
                &format!(
                    "capture f: statistics of interface 9, which has no description, at byte \
                     {offset}; such blocks are skipped and counted"
                ),
                &format!("end f: 5 frames, {bytes} bytes, 1 skipped"),
            ],
        );
    }
}

#[test]
fn silence_at_the_end_is_known_from_statistics() {
    for order in BOTH_ORDERS {
        let nanoseconds = [(9, vec![9])];
        let file = PcapNgFile::new(order)
            .interface(1, 0, &nanoseconds)
            .interface(1, 0, &nanoseconds)
            // Nothing was captured yet.
            .observed(0, 1_000, 2_000, 0)
            .enhanced(0, 1_000_000, 5, &FRAME, &[])
            .observed(0, 900_000, 1_500_000, 1)
            .enhanced(0, 3_000_000, 5, &FRAME, &[])
            // As dumpcap writes it: microseconds.
            .observed(0, 900, 9_000, 2)
            // More frames passed than the file has: it was filtered or split.
            .observed(0, 900_000, 10_000_000, 3)
            // The last frame is not within the time.
            .observed(0, 4_000_000, 10_000_000, 2)
            .observed(0, 900_000, 2_000_000, 2)
            .observed(1, 900_000, 10_000_000, 0);
        let bytes = file.bytes.len();
        check(
            &file.bytes,
            &[
                "tap 0 f PcapNg - Ethernet snap - rate -",
                "tap 1 f PcapNg - Ethernet snap - rate -",
                "frame 1 at 0 0.001000000 Ethernet 0102030405/5",
                "observed 0 until 0.001500000",
                "frame 2 at 0 0.003000000 Ethernet 0102030405/5",
                "observed 0 until 0.009000000",
                &format!("end f: 2 frames, {bytes} bytes"),
            ],
        );
    }
}

#[test]
fn simple_packets_take_the_previous_frames_time() {
    for order in BOTH_ORDERS {
        let file = PcapNgFile::new(order)
            .interface(1, 6, &[])
            .simple(5, &FRAME)
            .enhanced(0, 2_000_000, 5, &FRAME, &[])
            .simple(1500, &[1, 2, 3, 4, 5, 6]);
        let bytes = file.bytes.len();
        check(
            &file.bytes,
            &[
                "tap 0 f PcapNg - Ethernet snap 6 rate -",
                "frame 1 at 0 0.000000000 Ethernet 0102030405/5",
                "frame 2 at 0 2.000000000 Ethernet 0102030405/5",
                "frame 3 at 0 2.000000000 Ethernet 010203040506/1500",
                &format!("end f: 3 frames, {bytes} bytes, 2 untimed"),
            ],
        );
    }
}

#[test]
fn host_names() {
    for order in BOTH_ORDERS {
        let file = PcapNgFile::new(order).names(&[
            (&[10, 0, 0, 1], &["rank0", "rank0.rail1"]),
            (&[0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2], &["rank1"]),
        ]);
        assert_eq!(
            events_of_bytes(&file.bytes)[..3],
            ["name 10.0.0.1 rank0", "name 10.0.0.1 rank0.rail1", "name fe80::2 rank1"],
        );
    }
}

#[test]
fn unused_blocks_are_skipped_and_large_ones_fit() {
    let frame = vec![7; 3 << 20];
    let file = PcapNgFile::new(Order::Little)
        .block(0x0bad_cafe, &[1; 999])
        .block(0x0000_0bad, &[0; 8])
        .block(0x0000_000a, &[2; 5_000_000])
        .interface(1, 0, &[])
        .enhanced(0, 1, 3 << 20, &frame, &[]);
    let events = events_of_bytes(&file.bytes);
    assert_eq!(events.len(), 3);
    assert!(events[1].ends_with("/3145728"));
    assert!(events[2].starts_with("end f: 1 frames"));
}

#[test]
fn a_bad_block_is_skipped_when_its_length_is_sane() {
    let overrun = [[0; 12].as_slice(), &100_u32.to_le_bytes(), &[0; 12]].concat();
    let file = PcapNgFile::new(Order::Little)
        // Too short for an interface description, but it still takes a number.
        .block(1, &[0; 4])
        .interface(1, 0, &[])
        .enhanced(0, 1, 5, &FRAME, &[])
        .enhanced(7, 1, 5, &FRAME, &[])
        .block(6, &overrun)
        .block(6, &[])
        .block(4, &[1, 0, 200, 0])
        .enhanced(1, u64::MAX, 5, &FRAME, &[])
        .enhanced(1, 1, 5, &FRAME, &[]);
    let (bytes, at) = (file.bytes.len(), |block: usize| file.extents[block].start);
    let dropped = "such frames are dropped and counted";
    check(
        &file.bytes,
        &[
            &format!(
                "capture f: damaged block of type 0x1, at byte {}; \
                 such blocks are skipped and counted",
                at(1)
            ),
            "tap 0 f PcapNg - Ethernet snap - rate -",
            &format!(
                "capture f: a frame of interface 0, which has no description, at byte {}; {dropped}",
                at(3)
            ),
            &format!("capture f: a frame is longer than its block, at byte {}; {dropped}", at(5)),
            &format!(
                "capture f: a frame's time is before 1970 or after 2554, at byte {}; {dropped}",
                at(8)
            ),
            "frame 6 at 0 0.000001000 Ethernet 0102030405/5",
            &format!("end f: 1 frames, {bytes} bytes, 5 dropped, 2 skipped"),
        ],
    );
}

#[test]
fn an_implausible_length_ends_the_file() {
    let good = || PcapNgFile::new(Order::Big).interface(1, 0, &[]).enhanced(0, 1, 5, &FRAME, &[]);
    for (file, what) in [
        (good().raw_block(6, 8, &[], 8), "damaged block: a length of 8 bytes"),
        (good().raw_block(9, 13, &[0], 13), "damaged block: a length of 13 bytes"),
        (good().raw_block(9, 16 << 20 | 4, &[], 0), "damaged block: a length of 16777220 bytes"),
        (
            good().raw_block(9, 16, &[0; 4], 20),
            "damaged block: a length of 16 bytes at its start and 20 at its end",
        ),
        (
            good().raw_block(0x0a0d_0d0a, 28, &[0; 16], 28),
            "a section has no valid byte-order magic",
        ),
        (good().section_of_version(Order::Little, 2), "format version 2.0 is not supported"),
    ] {
        let at = file.extents[3].start;
        check(
            &file.enhanced(0, 2, 5, &FRAME, &[]).bytes,
            &[
                "tap 0 f PcapNg - Ethernet snap - rate -",
                "frame 1 at 0 0.000001000 Ethernet 0102030405/5",
                &format!("capture f: {what}, at byte {at}; 1 frame before it was read"),
                &format!("end f: 1 frames, {at} bytes"),
            ],
        );
    }
}
