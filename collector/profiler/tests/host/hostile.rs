//! Files and rings that are cut, damaged or made up: the decoder gives what is there, and no more.

use proptest::prelude::*;
use railscope_core::decode::profiler::{Item, NotProfiler, Stream, read_ring};

use super::descriptor::Descriptor;
use super::sys::Nccl;

fn read(bytes: &[u8], piece: usize) -> Result<Vec<Item>, NotProfiler> {
    let mut items = Vec::new();
    let mut stream = Stream::default();
    for piece in bytes.chunks(piece) {
        stream.feed(piece, &mut |item| items.push(item))?;
    }
    stream.end(&mut |item| items.push(item))?;
    Ok(items)
}

/// The file and the ring of a short job.
fn job() -> (Vec<u8>, Vec<u8>) {
    let nccl = Nccl::load(7, &[("RAILSCOPE_PROFILER_RING_KIB", "64")]);
    let ctx = nccl.init(0xabc, 0);
    for sequence in 0..20 {
        let coll = nccl.start(ctx, Descriptor::all_reduce(7, 0, 0, sequence));
        nccl.stop(coll);
        let op = nccl.start(ctx, Descriptor::operation(7, coll, 1, sequence % 2 == 0));
        for number in 0..4 {
            let part = nccl.start(ctx, Descriptor::transfer(7, op, number));
            nccl.state(part, 20, 0);
            nccl.state(part, 9, 100);
            nccl.stop(part);
        }
        nccl.stop(op);
    }
    let ring = nccl.ring();
    nccl.finalize(ctx);
    let files = std::fs::read_dir(nccl.folder.path().join("files")).unwrap();
    let file = std::fs::read(files.last().unwrap().unwrap().path()).unwrap();
    nccl.end();
    (file, ring)
}

#[test]
fn cut_files_give_what_was_written() {
    let (file, ring) = job();
    let whole = read(&file, file.len()).unwrap();
    assert_eq!(whole.iter().filter(|item| matches!(item, Item::Record(_))).count(), 20 * 7);
    for piece in [1, 3, 8, 100] {
        assert_eq!(read(&file, piece).unwrap(), whole);
    }
    for length in 0..file.len() {
        let Ok(part) = read(&file[..length], 64) else {
            assert!(length < 128);
            continue;
        };
        let same = part.iter().zip(&whole).take_while(|(one, other)| one == other).count();
        assert!(part[same..].iter().all(|item| matches!(item, Item::Damaged(_))), "{length}");
    }
    let mut count = 0;
    read_ring(&ring, &mut |item| count += u64::from(matches!(item, Item::Record(_)))).unwrap();
    assert_eq!(count, 20 * 7);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_bytes_behind_a_header_are_read_or_skipped(
        words in prop::collection::vec(prop_oneof![any::<u64>(), 0_u64..8, Just(1 | 3 << 32)], 0..400),
        piece in 1_usize..100,
    ) {
        let mut bytes = Vec::from(*b"RAILPROF\x01\0\0\0\0\x02\0\0");
        words.iter().for_each(|word| bytes.extend_from_slice(&word.to_le_bytes()));
        let whole = read(&bytes, bytes.len());
        prop_assert_eq!(&whole, &read(&bytes, piece));
        let records = whole.map_or(0, |items| {
            items.iter().filter(|item| matches!(item, Item::Record(_))).count()
        });
        prop_assert!(records * 3 <= words.len());
        let mut items = 0;
        let _ = read_ring(&bytes, &mut |_| items += 1);
        prop_assert!(items <= 70_000);
    }

    #[test]
    fn bytes_of_a_ring_that_change_break_nothing(
        at in 0_usize..40_000,
        value in any::<u64>(),
    ) {
        let mut ring = vec![0; 120_000];
        ring[..16].copy_from_slice(b"RAILPROF\x01\0\0\0\0\x02\0\0");
        // Two lanes of 4,096 words, behind a table of 16 entries.
        ring[40..48].copy_from_slice(&(2_u64 | 4096 << 32).to_le_bytes());
        ring[48..56].copy_from_slice(&(16_u64 | 16 << 32).to_le_bytes());
        for control in [512, 576] {
            ring[control..control + 8].copy_from_slice(&9000_u64.to_le_bytes());
            ring[control + 8..control + 16].copy_from_slice(&9000_u64.to_le_bytes());
        }
        ring[at..at + 8].copy_from_slice(&value.to_le_bytes());
        let mut items = 0;
        let _ = read_ring(&ring, &mut |_| items += 1);
        prop_assert!(items <= 20_000);
    }
}
