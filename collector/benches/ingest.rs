//! Records a second from memory through [`CaptureSet`], and the record header read by hand against
//! pcap-parser's functions: the reason why the hot path is hand-written.
//!
//! 144-byte pcap records (128-byte frames), as the pipeline's own goal is stated.

#![expect(clippy::expect_used, reason = "a bench that cannot be set up has nothing to measure")]

use std::hint::black_box;
use std::path::PathBuf;
use std::sync::LazyLock;

use divan::Bencher;
use divan::counter::ItemsCount;
use pcap_parser::parse_pcap_frame;
use pcap_parser::pcapng::parse_enhancedpacketblock_le;
use railscope::ingest::file::CaptureSet;
use railscope::ingest::file::event::SourceEvent;

const RECORDS: u32 = 1_000_000;
const FRAME: [u8; 128] = [0x5a; 128];

static PCAP: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let header = [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 262_144, 1].map(u32::to_le_bytes);
    let mut bytes = header.concat();
    for record in 0..RECORDS {
        let header = [record / 1000, record % 1000, 128, 1500].map(u32::to_le_bytes);
        bytes.extend(header.concat());
        bytes.extend(FRAME);
    }
    bytes
});

static PCAPNG: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let section = [0x0a0d_0d0a_u32, 28, 0x1a2b_3c4d, 1, u32::MAX, u32::MAX, 28];
    let interface = [1_u32, 20, 1, 262_144, 20];
    let mut bytes =
        [section.map(u32::to_le_bytes).concat(), interface.map(u32::to_le_bytes).concat()].concat();
    for record in 0..RECORDS {
        let header = [6, 160, 0, 0, record, 128, 1500].map(u32::to_le_bytes);
        bytes.extend(header.concat());
        bytes.extend(FRAME);
        bytes.extend(160_u32.to_le_bytes());
    }
    bytes
});

fn main() {
    // Made before the first measurement.
    LazyLock::force(&PCAP);
    LazyLock::force(&PCAPNG);
    divan::main();
}

/// Reads everything as the pipeline does: looks at each frame's length and first byte.
fn drain(mut captures: CaptureSet) -> u64 {
    let mut sum = 0;
    while let Some(event) = captures.next_event() {
        if let SourceEvent::Frame(frame) = event {
            sum +=
                u64::from(frame.wire_len) + frame.bytes.first().map_or(0, |byte| u64::from(*byte));
        }
    }
    sum
}

fn read_from_memory(bencher: Bencher<'_, '_>, bytes: &'static [u8]) {
    bencher
        .counter(ItemsCount::new(RECORDS))
        .bench(|| drain(CaptureSet::from_reader("memory", bytes).expect("it starts well")));
}

#[divan::bench]
fn pcap(bencher: Bencher<'_, '_>) {
    read_from_memory(bencher, &PCAP);
}

#[divan::bench]
fn pcapng(bencher: Bencher<'_, '_>) {
    read_from_memory(bencher, &PCAPNG);
}

/// The same file once and several times, from the page cache: what the merge costs.
#[divan::bench(args = [1, 2, 8])]
fn pcap_files(bencher: Bencher<'_, '_>, files: usize) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("bench.pcap");
    std::fs::write(&path, PCAP.as_slice()).expect("room for the file");
    let paths: Vec<PathBuf> = vec![path; files];
    bencher
        .counter(ItemsCount::new(RECORDS as usize * files))
        .bench(|| drain(CaptureSet::open(&paths).expect("it starts well")));
}

#[divan::bench]
fn pcap_record_by_hand(bencher: Bencher<'_, '_>) {
    bencher.counter(ItemsCount::new(RECORDS)).bench(|| {
        let (mut rest, mut sum) = (black_box(&PCAP[24..]), 0);
        while let [s0, s1, s2, s3, _, _, _, _, c0, c1, c2, c3, ..] = *rest {
            let captured = u32::from_le_bytes([c0, c1, c2, c3]) as usize;
            let Some(frame) = rest.get(16..16 + captured) else { break };
            sum += u64::from(u32::from_le_bytes([s0, s1, s2, s3])) + u64::from(frame[0]);
            rest = &rest[16 + captured..];
        }
        sum
    });
}

#[divan::bench]
fn pcap_record_by_pcap_parser(bencher: Bencher<'_, '_>) {
    bencher.counter(ItemsCount::new(RECORDS)).bench(|| {
        let (mut rest, mut sum) = (black_box(&PCAP[24..]), 0);
        while let Ok((next, record)) = parse_pcap_frame(rest) {
            sum += u64::from(record.ts_sec) + u64::from(record.data[0]);
            rest = next;
        }
        sum
    });
}

#[divan::bench]
fn pcapng_packet_by_pcap_parser(bencher: Bencher<'_, '_>) {
    bencher.counter(ItemsCount::new(RECORDS)).bench(|| {
        let (mut rest, mut sum) = (black_box(&PCAPNG[48..]), 0);
        while let Ok((next, packet)) = parse_enhancedpacketblock_le(rest) {
            sum += u64::from(packet.ts_low) + u64::from(packet.data[0]);
            rest = next;
        }
        sum
    });
}
