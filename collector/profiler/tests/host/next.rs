//! A second plugin behind this one: the library itself, in another place.

use std::ops::RangeInclusive;

use super::descriptor::Descriptor;
use super::sys::{Nccl, built, mask};

#[test]
fn calls_go_on_to_a_second_plugin() {
    for version in 1..=7 {
        let copy = tempfile::tempdir().unwrap();
        let path = copy.path().join("libsecond.so");
        std::fs::copy(built(), &path).unwrap();
        let nccl = Nccl::load(version, &[("RAILSCOPE_PROFILER_NEXT", path.to_str().unwrap())]);
        let ctx = nccl.init(0xabc, 1);
        assert_eq!(mask(&nccl), 30);
        let group = nccl.start(ctx, Descriptor::new(version, 1, 0, 0));
        let coll = Descriptor::all_reduce(version, 0, 1, 17);
        let coll = if version >= 5 { coll.in_group(group) } else { coll };
        let coll = nccl.start(ctx, coll);
        nccl.stop(coll);
        let op = nccl.start(ctx, Descriptor::operation(version, coll, 2, true));
        let part = nccl.start(ctx, Descriptor::transfer(version, op, 0));
        nccl.state(part, 9, 5);
        nccl.stop(op);
        nccl.stop(part);
        nccl.finalize(ctx);
        let recorded = nccl.end();
        // Both wrote a file into the same folder, and both know all.
        assert_eq!(recorded.headers.len(), 2);
        assert_eq!(recorded.records.len(), 2 * 4, "version {version}: {recorded:?}");
        assert_eq!(recorded.lost(), [0; 8]);
    }
}

#[test]
fn a_second_plugin_of_an_older_version_gets_what_it_knows() {
    for (version, newest) in [(6, 5), (7, 5), (7, 6)] {
        let copy = tempfile::tempdir().unwrap();
        let path = copy.path().join("libsecond.so");
        std::fs::write(&path, without_symbols(newest + 1..=7)).unwrap();
        let nccl = Nccl::load(version, &[("RAILSCOPE_PROFILER_NEXT", path.to_str().unwrap())]);
        let ctx = nccl.init(0xabc, 1);
        let coll = nccl.start(ctx, Descriptor::all_reduce(version, 0, 1, 17));
        nccl.stop(coll);
        nccl.finalize(ctx);
        let recorded = nccl.end();
        let mut versions: Vec<u8> =
            recorded.communicators.iter().map(|communicator| communicator.version).collect();
        versions.sort_unstable();
        versions.dedup();
        assert_eq!(versions, [newest, version], "{recorded:?}");
        assert_eq!(recorded.records.len(), 2);
    }
}

#[test]
fn receives_that_start_again_use_up_nothing() {
    let copy = tempfile::tempdir().unwrap();
    let path = copy.path().join("libsecond.so");
    std::fs::copy(built(), &path).unwrap();
    let nccl = Nccl::load(7, &[("RAILSCOPE_PROFILER_NEXT", path.to_str().unwrap())]);
    let ctx = nccl.init(0xabc, 1);
    let coll = nccl.start(ctx, Descriptor::all_reduce(7, 0, 1, 17));
    let op = nccl.start(ctx, Descriptor::operation(7, coll, 2, false));
    let first = nccl.start(ctx, Descriptor::transfer(7, op, 0));
    for _ in 0..40_000 {
        assert_eq!(nccl.start_quickly(ctx, &mut Descriptor::transfer(7, op, 0)), first);
    }
    nccl.state(first, 10, 5);
    nccl.stop(first);
    nccl.stop(op);
    nccl.stop(coll);
    nccl.finalize(ctx);
    let recorded = nccl.end();
    assert_eq!(recorded.records.len(), 2 * 4, "{recorded:?}");
    assert_eq!(recorded.lost(), [0; 8]);
}

#[test]
fn a_second_plugin_with_other_structures_gets_nothing() {
    for (version, newest) in [(7, 4), (4, 3), (3, 2)] {
        let copy = tempfile::tempdir().unwrap();
        let path = copy.path().join("libsecond.so");
        std::fs::write(&path, without_symbols(newest + 1..=7)).unwrap();
        let nccl = Nccl::load(version, &[("RAILSCOPE_PROFILER_NEXT", path.to_str().unwrap())]);
        let ctx = nccl.init(0xabc, 1);
        nccl.finalize(ctx);
        assert_eq!(nccl.end().headers.len(), 1, "version {version}");
    }
}

/// The library without the symbols of some versions: local ones, which the loader does not find.
fn without_symbols(versions: RangeInclusive<u8>) -> Vec<u8> {
    let mut library = std::fs::read(built()).unwrap();
    let number =
        |bytes: &[u8]| bytes.iter().rev().fold(0, |sum, &byte| sum << 8 | usize::from(byte));
    // Elf64_Sym: name (4), info (1), other (1), section (2), value (8), size (8). Global data of 48 bytes;
    // the dynamic symbols lie before all others.
    let symbols = (0..library.len() - 24).step_by(8);
    let symbols =
        symbols.filter(|&at| library[at + 4] == 0x11 && number(&library[at + 16..at + 24]) == 48);
    let symbols: Vec<(usize, usize)> =
        symbols.map(|at| (at, number(&library[at..at + 4]))).take(7).collect();
    let place_of = |version: u8| {
        let name = format!("\0ncclProfiler_v{version}\0");
        library.windows(name.len()).position(|bytes| bytes == name.as_bytes()).unwrap()
    };
    let places: Vec<usize> = (1..=7).map(place_of).collect();
    let names = places.iter().min().unwrap() - symbols.iter().map(|(_, name)| *name).min().unwrap();
    for version in versions {
        let name = places[usize::from(version) - 1] - names;
        let (at, _) = symbols.iter().find(|(_, other)| *other == name).unwrap();
        library[at + 4] = 0x01;
    }
    library
}

#[test]
fn a_second_plugin_that_is_not_there_changes_nothing() {
    for next in ["/nonexistent.so", "libc.so.6"] {
        let nccl = Nccl::load(6, &[("RAILSCOPE_PROFILER_NEXT", next)]);
        let ctx = nccl.init(1, 0);
        let coll = nccl.start(ctx, Descriptor::all_reduce(6, 0, 0, 0));
        nccl.stop(coll);
        nccl.finalize(ctx);
        assert_eq!(nccl.end().records.len(), 1);
    }
}
