//! The forward model against recorded jobs: the message sizes of one connection as logged by NCCL's
//! proxy, with the release that sent them.

use railscope_core::analysis::collective::plan::{messages, ring_chunks, stream_chunks};
use railscope_core::analysis::collective::slicing::{
    LL_CAPACITY, LL128_CAPACITY, SIMPLE_RING_CAPACITY, Slicing,
};
use railscope_core::model::nccl::{CollectiveKind, Protocol};

use CollectiveKind::{AllGather, AllReduce, ReduceScatter};
use Protocol::{Ll, Ll128, Simple};

/// Runs of equal sizes: count, bytes.
type Runs = &'static [(usize, u64)];

fn spell(runs: &[(usize, u64)], times: usize) -> Vec<u64> {
    let once = runs.iter().flat_map(|&(count, bytes)| std::iter::repeat_n(bytes, count));
    let once: Vec<u64> = once.collect();
    once.repeat(times)
}

type Recorded = (&'static str, CollectiveKind, Protocol, u64, u64, u64, (Runs, usize));

/// Release, kind, protocol, ranks, channels, buffer size (for AllGather and ReduceScatter: one
/// rank's), messages of one connection.
#[rustfmt::skip]
const RECORDED: &[Recorded] = &[
    ("2.18.6", AllReduce, Simple, 4, 2, 1_048_576, (&[(12, 65_536)], 1)),
    ("2.18.6", AllReduce, Simple, 4, 2, 262_144, (&[(1, 32_768), (1, 0)], 6)),
    ("2.18.6", AllReduce, Ll, 4, 2, 32_768, (&[(6, 8192)], 1)),
    ("2.21.5", AllReduce, Simple, 4, 2, 524_288, (&[(12, 32_768)], 1)),
    ("2.27.5", AllReduce, Simple, 2, 2, 1_048_576, (&[(4, 131_072)], 1)),
    ("2.27.5", AllReduce, Simple, 2, 2, 131_072, (&[(1, 32_768), (1, 0)], 2)),
    ("2.27.5", AllReduce, Ll, 2, 2, 32_768, (&[(2, 16_384)], 1)),
    ("2.27.5", AllReduce, Simple, 8, 2, 524_288, (&[(1, 32_768), (1, 0)], 14)),
    ("2.27.5", AllReduce, Ll, 8, 1, 16_384, (&[(14, 4096)], 1)),
    ("2.27.5", AllReduce, Ll, 4, 4, 524_288, (&[(6, 65_536)], 1)),
    ("2.27.5", AllGather, Simple, 4, 2, 262_144, (&[(6, 65_536)], 1)),
    ("2.27.5", AllGather, Simple, 4, 2, 65_536, (&[(1, 32_768), (1, 0)], 3)),
    ("2.27.5", ReduceScatter, Simple, 4, 2, 196_608, (&[(6, 49_152)], 1)),
    ("2.28.9", AllReduce, Simple, 4, 2, 4_194_304, (&[(12, 262_144)], 1)),
    ("2.28.9", AllReduce, Ll, 4, 1, 16_384, (&[(6, 8192)], 1)),
    ("2.30.7", AllReduce, Simple, 4, 2, 262_144, (&[(1, 32_768), (1, 0)], 6)),
];

#[test]
fn rings_send_what_was_recorded() {
    for &(release, kind, protocol, nranks, channels, bytes, (runs, times)) in RECORDED {
        let capacity = if protocol == Ll { LL_CAPACITY } else { SIMPLE_RING_CAPACITY };
        let slicing = Slicing::ring(protocol, capacity);
        for position in 0..nranks {
            let chunks = ring_chunks(kind, bytes / channels, nranks, position, &slicing);
            let sent = messages(&chunks, &slicing, 4);
            assert_eq!(sent, spell(runs, times), "{release} {kind:?} {bytes} {position}");
        }
    }
}

#[test]
fn trees_and_chains_send_what_was_recorded() {
    let slicing = Slicing::stream(Simple, 524_288);
    for (share, runs) in [
        (524_288, &[(1, 524_288)]),
        (262_144, &[(1, 262_144)]),
        (32_768, &[(1, 32_768)]),
        (1_048_576, &[(2, 524_288)]),
        (327_680, &[(1, 327_680)]),
    ] {
        let sent = messages(&stream_chunks(share, &slicing), &slicing, 1);
        assert_eq!(sent, spell(runs, 1), "{share}");
    }
}

#[test]
fn loops_before_the_last_are_full() {
    let slicing = Slicing::ring(Simple, SIMPLE_RING_CAPACITY);
    let sent = |kind, share, element| {
        messages(&ring_chunks(kind, share, 4, 1, &slicing), &slicing, element)
    };
    assert_eq!(sent(AllReduce, 16 << 20, 4), spell(&[(24, 1 << 20)], 1));
    assert_eq!(sent(AllReduce, 10 << 20, 4), spell(&[(12, 1 << 20), (12, 262_144)], 1));
    assert_eq!(sent(AllGather, 5 << 20, 1), spell(&[(12, 1 << 20), (6, 524_288)], 1));
    // Slices are rounded to 16 elements: bytes in an AllGather, floats in a ReduceScatter.
    assert_eq!(sent(ReduceScatter, 100_000, 4), spell(&[(1, 50_048), (1, 49_952)], 3));
    assert_eq!(sent(AllGather, 100_000, 1), spell(&[(1, 50_000), (1, 50_000)], 3));
}

#[test]
fn the_last_chunk_is_shorter_and_comes_once_or_twice() {
    let slicing = Slicing::ring(Ll, LL_CAPACITY);
    // 100 bytes over 4 ranks are chunks of 32, 32, 32 and 4.
    let sent =
        |position| messages(&ring_chunks(AllReduce, 100, 4, position, &slicing), &slicing, 4);
    assert_eq!(sent(0), [16, 64, 64, 64, 16, 64]);
    assert_eq!(sent(1), [64, 16, 64, 64, 64, 16]);
    assert_eq!(sent(3), [64, 64, 64, 16, 64, 64]);
}

#[test]
fn ll128_pads_to_lines() {
    let slicing = Slicing::ring(Ll128, LL128_CAPACITY);
    assert_eq!(slicing.full, 576_000);
    assert_eq!((slicing.wire(1), slicing.wire(1920), slicing.wire(1921)), (2048, 2048, 4096));
    assert_eq!(slicing.wire(slicing.full), LL128_CAPACITY);
}
