//! Several communicators, threads, masks and libraries.

use std::sync::atomic::Ordering::Relaxed;

use railscope_core::decode::profiler::Record;

use super::descriptor::Descriptor;
use super::sys::{Nccl, mask};

/// One collective with a send of several transfers.
fn play(nccl: &Nccl, ctx: usize, sequence: u64, transfers: i32) {
    let version = nccl.version;
    let coll = nccl.start(ctx, Descriptor::all_reduce(version, 0, 0, sequence));
    nccl.stop(coll);
    let op = nccl.start(ctx, Descriptor::operation(version, coll, 1, true));
    for number in 0..transfers {
        let part = nccl.start(ctx, Descriptor::transfer(version, op, number));
        nccl.state(part, 8, 0);
        nccl.state(part, 20, 0);
        nccl.state(part, 9, 100);
        nccl.stop(part);
    }
    nccl.stop(op);
}

#[test]
fn sixty_four_communicators_keep_their_records_apart() {
    let nccl = Nccl::load(6, &[]);
    let all: Vec<usize> = (0..64).map(|hash| nccl.init(hash, 3)).collect();
    for (ctx, rounds) in all.iter().zip(1..) {
        for sequence in 0..rounds {
            play(&nccl, *ctx, sequence, 1);
        }
    }
    for ctx in all {
        nccl.finalize(ctx);
    }
    let recorded = nccl.end();
    for comm in recorded.communicators.iter().filter(|comm| comm.is_over) {
        let of = recorded.records.iter().filter(|record| match record {
            Record::Collective(one) => one.comm == comm.number,
            _ => false,
        });
        assert_eq!(Some(of.count() as u64), comm.hash.map(|hash| hash + 1));
    }
    assert_eq!(recorded.communicators.iter().filter(|comm| comm.is_over).count(), 64);
    assert_eq!(recorded.lost(), [0; 8]);
}

#[test]
fn sixteen_threads_lose_nothing_that_is_not_counted() {
    let nccl = Nccl::load(6, &[]);
    let all: Vec<usize> = (0..16).map(|hash| nccl.init(hash, 0)).collect();
    std::thread::scope(|scope| {
        for ctx in &all {
            scope.spawn(|| {
                for sequence in 0..200 {
                    play(&nccl, *ctx, sequence, 20);
                }
            });
        }
    });
    for ctx in all {
        nccl.finalize(ctx);
    }
    let recorded = nccl.end();
    let made = 16 * 200 * (1 + 2 + 20);
    let (written, lost) = recorded.counts.unwrap();
    assert_eq!(written + lost[0], made);
    assert_eq!(lost[1..], [0; 7]);
    let read = recorded.records.len() as u64;
    assert!(read == written || recorded.overwritten > 0, "{read} of {written}");
}

#[test]
fn a_full_ring_counts_what_it_overwrites() {
    let nccl = Nccl::load(6, &[("RAILSCOPE_PROFILER_RING_KIB", "64")]);
    let ctx = nccl.init(1, 0);
    for sequence in 0..5000 {
        play(&nccl, ctx, sequence, 8);
    }
    nccl.finalize(ctx);
    let recorded = nccl.end();
    let words: u64 = recorded.records.iter().map(words).sum();
    let made = 5000 * (8 + 5 + 3 + 8 * 3);
    // A gap is counted in words, with those that end a page early.
    let padding = made / 500 * 8;
    assert_eq!(recorded.counts.unwrap().0, 5000 * (1 + 2 + 8));
    assert!(words + recorded.overwritten >= made && words + recorded.overwritten <= made + padding);
}

fn words(record: &Record) -> u64 {
    match record {
        Record::Collective(_) => 8,
        Record::OperationStart(_) => 5,
        _ => 3,
    }
}

#[test]
fn masks_that_change_at_any_time_break_nothing() {
    let nccl = Nccl::load(6, &[]);
    let ctx = nccl.init(1, 0);
    for turn in 0..2000_u64 {
        // Each event may be missing: NCCL calls only for those of the mask.
        let has = |bit: u64| turn.wrapping_mul(0x9e37_79b9) >> (8 + bit) & 1 == 1;
        let coll = if has(0) { nccl.start(ctx, Descriptor::all_reduce(6, 0, 0, turn)) } else { 0 };
        let op =
            if has(1) { nccl.start(ctx, Descriptor::operation(6, coll, 1, has(5))) } else { 0 };
        let part = if has(2) { nccl.start(ctx, Descriptor::transfer(6, op, 1)) } else { 0 };
        if has(3) {
            nccl.state(part, 20, 0);
            nccl.state(part, 11, 0);
        }
        nccl.mask.store(if has(4) { 0 } else { 30 }, Relaxed);
        if has(6) {
            nccl.stop(part);
        }
        nccl.stop(op);
        nccl.stop(coll);
    }
    nccl.finalize(ctx);
    nccl.end();
}

#[test]
fn the_library_is_unloaded_and_loaded_again() {
    let mut nccl = Nccl::load(7, &[]);
    for turn in 0..5 {
        let ctx = nccl.init(turn, 0);
        let other = nccl.init(turn + 100, 0);
        play(&nccl, ctx, 0, 3);
        nccl.finalize(ctx);
        play(&nccl, other, 0, 3);
        nccl.finalize(other);
        assert!(!nccl.ring_path().exists());
        nccl.reload();
    }
    // Handles of the one before name nothing.
    let ctx = nccl.init(7, 0);
    assert_eq!(mask(&nccl), 30);
    nccl.finalize(ctx);
    let recorded = nccl.end();
    assert_eq!(recorded.headers.len(), 6);
    assert_eq!(recorded.communicators.iter().filter(|comm| comm.is_over).count(), 11);
}

#[test]
fn an_aborted_communicator_leaves_no_slots_behind() {
    let nccl = Nccl::load(6, &[]);
    let keeper = nccl.init(99, 0);
    for turn in 0..4 {
        let ctx = nccl.init(turn, 0);
        for _ in 0..8000 {
            let op = nccl.start(ctx, Descriptor::operation(6, 0, 1, true));
            assert_ne!(op, 0);
            nccl.start(ctx, Descriptor::transfer(6, op, 0));
        }
        nccl.finalize(ctx);
    }
    // A pool that is full refuses, and counts.
    let refused =
        (0..9000).filter(|_| nccl.start(keeper, Descriptor::operation(6, 0, 1, true)) == 0);
    assert_eq!(refused.count(), 9000 - 8192);
    nccl.finalize(keeper);
    assert_eq!(nccl.end().lost()[2], 9000 - 8192);
}

#[test]
fn the_file_begins_anew_at_its_limit() {
    let nccl = Nccl::load(6, &[("RAILSCOPE_PROFILER_LIMIT_MIB", "1")]);
    let ctx = nccl.init(0xabc, 0);
    for _ in 0..8 {
        for sequence in 0..1000 {
            play(&nccl, ctx, sequence, 8);
        }
        std::thread::sleep(std::time::Duration::from_millis(120));
    }
    nccl.finalize(ctx);
    let recorded = nccl.end();
    assert_eq!(recorded.headers.len(), 2, "a file and the one before it");
    assert!(recorded.bytes < 3 << 20, "{}", recorded.bytes);
    assert!(recorded.communicators.iter().filter(|comm| comm.hash == Some(0xabc)).count() >= 2);
}
