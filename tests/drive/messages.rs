//! Messages of collectives: against NCCL's rules, implemented a second time, and against real NCCL.

use std::collections::BTreeMap;

use railscope_drive::collective::channel_split::{Share, split};
use railscope_drive::collective::ring::{Chunk, Ring, chunks};
use railscope_drive::collective::slicing::Slicing;
use railscope_drive::collective::{DataType, Kind, Operation, Operator};
use railscope_drive::release::Release;
use railscope_drive::truth::Part;
use serde::Deserialize;

use crate::support::recording::Recording;

const KINDS: [Kind; 4] = [Kind::AllReduce, Kind::AllGather, Kind::ReduceScatter, Kind::Broadcast];

fn operation(kind: Kind, data_type: DataType, count: usize) -> Operation {
    Operation { kind, data_type, operator: Operator::Sum, root: 0, count }
}

/// Messages that a rank sends, each with its part, in order.
fn sent(chunks: &[Chunk], operation: &Operation) -> Vec<(Part, usize)> {
    let slicing = Slicing::for_kind(operation.kind);
    let sent = chunks.iter().filter(|chunk| chunk.action.sends());
    let messages = sent.flat_map(|chunk| {
        let part = chunk.action.part_sent(operation.kind);
        slicing.messages(chunk.bytes, operation.unit_bytes()).map(move |bytes| (part, bytes))
    });
    messages.collect()
}

fn received(chunks: &[Chunk], operation: &Operation) -> Vec<(Part, usize)> {
    let slicing = Slicing::for_kind(operation.kind);
    let received = chunks.iter().filter(|chunk| chunk.action.receives());
    let messages = received.flat_map(|chunk| {
        let part = chunk.action.part_received(operation.kind);
        slicing.messages(chunk.bytes, operation.unit_bytes()).map(move |bytes| (part, bytes))
    });
    messages.collect()
}

/// The messages of a connection by `nccl-layouts/message_sizes.py`, ported line by line, in
/// elements. The chunk size of the last loop of an `AllReduce` is rounded up to `last_grain` bytes.
mod by_the_rules {
    pub const SLOT: usize = 524_288;

    fn slices(elements: usize, size: usize, per_chunk: usize, slots: usize) -> Vec<usize> {
        let slice = (elements.div_ceil(16 * per_chunk) * 16).max((SLOT / size) * slots / 32);
        let mut offset = 0;
        let cut = (0..per_chunk).map(|_| {
            let taken = slice.min(elements - offset);
            offset += taken;
            taken * size
        });
        cut.collect()
    }

    pub fn all_reduce(
        elements: usize,
        size: usize,
        n: usize,
        ring_index: usize,
        last_grain: usize,
    ) -> Vec<usize> {
        let chunk = (SLOT * 4 / 512 * 512) / size;
        let mut messages = Vec::new();
        for begin in (0..elements).step_by(n * chunk) {
            let rest = elements - begin;
            let mut now = chunk;
            if rest < n * chunk {
                now = rest.div_ceil(n).next_multiple_of(last_grain / size);
            }
            let mut order = vec![(ring_index + n - 1) % n];
            order.extend((2..n).map(|j| (ring_index + n - j) % n));
            order.push(ring_index);
            order.extend((1..n - 1).map(|j| (ring_index + n - j) % n));
            for c in order {
                let here = rest.saturating_sub(c * now).min(now);
                messages.extend(slices(here, size, 2, 2));
            }
        }
        messages
    }

    pub fn all_gather(elements: usize, size: usize, n: usize) -> Vec<usize> {
        let chunk = (SLOT * 4 / 512 * 512) / size;
        let mut messages = Vec::new();
        for begin in (0..elements).step_by(chunk) {
            for _ in 0..n - 1 {
                messages.extend(slices(chunk.min(elements - begin), size, 2, 2));
            }
        }
        messages
    }

    pub fn broadcast(bytes: usize) -> Vec<usize> {
        (0..bytes).step_by(SLOT).map(|begin| SLOT.min(bytes - begin)).collect()
    }

    /// The channels' shares, with the variable names of `scheduleCollTasksToPlan` (2.27.7).
    pub fn shares_2_27(
        count: usize,
        size: usize,
        traffic_per_byte: usize,
        most: usize,
        channels: usize,
    ) -> Vec<usize> {
        let least = 16 << 10;
        let traffic = (count * size * traffic_per_byte).max(least);
        let traffic_per_channel = (traffic / most).max(least);
        let cell_size = least.div_ceil(traffic_per_byte).div_ceil(16) * 16;
        let elements_per_cell = cell_size / size;
        let cells = (count * size).div_ceil(cell_size);
        let traffic_per_cell = cell_size * traffic_per_byte;
        let mut per_channel = cells.min(traffic_per_channel.div_ceil(traffic_per_cell));
        let low = if channels == 1 {
            cells
        } else {
            cells.min(traffic_per_channel.div_ceil(traffic_per_cell))
        };
        let mut middle = (cells - low) / per_channel;
        let mut high = (cells - low) % per_channel;
        if channels < 1 + middle + usize::from(high != 0) {
            middle = channels - 2;
            per_channel = (cells - low) / (middle + 1);
            high = per_channel + (cells - low) % (middle + 1);
        }
        if high == 0 && middle != 0 {
            high = per_channel;
            middle -= 1;
        }
        let too_much = cells * elements_per_cell - count;
        let mut shares = vec![low * elements_per_cell];
        shares.extend(std::iter::repeat_n(per_channel * elements_per_cell, middle));
        if high != 0 {
            shares.push(high * elements_per_cell);
        }
        *shares.last_mut().unwrap() -= too_much;
        shares
    }

    /// The channels' shares by `addCBDCollToPlan` (2.21.5), in elements.
    pub fn shares_2_21(count: usize, size: usize, channels: usize) -> Vec<usize> {
        let most = (count * size).div_ceil(channels).div_ceil(16) * 16;
        let align = 4096 / size;
        let mut left = count;
        let mut shares = Vec::new();
        for _ in 0..channels {
            let bytes = most.min(left * size);
            let work = (bytes.div_ceil(size).div_ceil(align) * align).min(left);
            if work > 0 {
                shares.push(work);
            }
            left -= work;
        }
        shares
    }
}

/// 4 KiB to 64 MiB by powers of two, and nearby sizes that do not divide evenly.
fn sizes() -> impl Iterator<Item = usize> {
    (12..=26).flat_map(|power| {
        let even = 1_usize << power;
        [even, even + 4, even - 4, even / 3 * 2 + 52].map(|bytes| bytes / 8 * 8)
    })
}

#[test]
fn messages_are_those_of_the_rules() {
    for release in Release::ALL {
        for n in [2, 3, 4, 8] {
            for bytes in sizes() {
                for data_type in [DataType::Float32, DataType::Float64] {
                    for channels in [1, 2, 3, 4, 8] {
                        for kind in KINDS {
                            follows_the_rules(release, kind, data_type, bytes, n, channels);
                        }
                    }
                }
            }
        }
    }
}

fn follows_the_rules(
    release: Release,
    kind: Kind,
    data_type: DataType,
    bytes: usize,
    n: usize,
    channels: usize,
) {
    let ranks = n as u32;
    let count = Operation::count_of(kind, data_type, bytes, ranks);
    let operation = operation(kind, data_type, count);
    let bytes = count * data_type.bytes();
    // AllGather and Broadcast count bytes.
    let (size, traffic, total) = match kind {
        Kind::AllReduce => (data_type.bytes(), 2, bytes),
        Kind::ReduceScatter => (data_type.bytes(), n, n * bytes),
        Kind::AllGather => (1, n, n * bytes),
        Kind::Broadcast => (1, 1, bytes),
    };
    let mut most = channels;
    while most >= 2 && total < most * 512 * 64 {
        most -= 1;
    }
    let shares = match release {
        Release::V2_21_5 => by_the_rules::shares_2_21(bytes / size, size, most),
        Release::V2_27_7 => by_the_rules::shares_2_27(bytes / size, size, traffic, most, channels),
    };
    let last_grain = if release == Release::V2_21_5 { 4096 } else { 16 };
    let got = split(release, &operation, ranks, channels as u32);
    let case = format!("{release} {kind:?} {data_type:?} {bytes} bytes, {n} ranks, {channels}");
    assert_eq!(got.len(), shares.len(), "{case}");
    let mut offset = 0;
    for (share, expected) in got.iter().zip(&shares) {
        assert_eq!((share.offset, share.bytes), (offset, expected * size), "{case}");
        offset += share.bytes;
        for rank in 0..ranks {
            let chunks = chunks(release, &operation, &Ring::ascending(ranks), rank, share);
            let messages: Vec<usize> =
                sent(&chunks, &operation).into_iter().map(|(_, bytes)| bytes).collect();
            let expected = match kind {
                Kind::AllReduce => {
                    by_the_rules::all_reduce(*expected, size, n, rank as usize, last_grain)
                }
                Kind::AllGather | Kind::ReduceScatter => {
                    by_the_rules::all_gather(*expected, size, n)
                }
                Kind::Broadcast if rank == ranks - 1 => Vec::new(),
                Kind::Broadcast => by_the_rules::broadcast(*expected),
            };
            assert_eq!(messages, expected, "{case}, rank {rank}");
        }
    }
    assert_eq!(offset, bytes, "{case}");
}

#[test]
fn counts_of_messages_are_those_of_the_formulae() {
    // NCCL-WIRE 5.3, written out for sizes that divide evenly.
    let mib = 1 << 20;
    for n in [2_usize, 3, 4, 8] {
        for channels in [1, 2, 4] {
            let ranks = n as u32;
            let part = 16 * mib;
            let count = n * channels * part / 4;
            for kind in KINDS {
                let elements = match kind {
                    Kind::AllReduce | Kind::Broadcast => count,
                    Kind::AllGather | Kind::ReduceScatter => count / n,
                };
                let operation = operation(kind, DataType::Float32, elements);
                for share in split(Release::V2_27_7, &operation, ranks, channels as u32) {
                    let ring = Ring::ascending(ranks);
                    let chunks = chunks(Release::V2_27_7, &operation, &ring, 0, &share);
                    let messages = sent(&chunks, &operation);
                    let bytes: usize = messages.iter().map(|(_, bytes)| bytes).sum();
                    let expected = match kind {
                        Kind::AllReduce => (8 * 2 * (n - 1) * 2, 2 * (n - 1) * part),
                        Kind::AllGather | Kind::ReduceScatter => {
                            // Cells make the shares unequal if the number of ranks is no power of
                            // two.
                            let loops = share.bytes.div_ceil(2 * mib);
                            (loops * (n - 1) * 2, (n - 1) * share.bytes)
                        }
                        Kind::Broadcast => (n * part / 524_288, n * part),
                    };
                    assert_eq!((messages.len(), bytes), expected, "{kind:?} {n} {channels}");
                }
            }
        }
    }
}

#[test]
fn what_one_rank_sends_the_next_receives() {
    for release in Release::ALL {
        for kind in KINDS {
            for (order, root) in
                [(vec![0, 1], 1), (vec![0, 2, 1], 2), (vec![0, 3, 1, 2, 4], 3), (vec![2, 1, 0], 0)]
            {
                let ranks = order.len() as u32;
                let ring = Ring::from_order(order).unwrap();
                for count in [1, 100, 70_001, 3_000_000] {
                    let operation = Operation { root, ..operation(kind, DataType::Float32, count) };
                    for share in split(release, &operation, ranks, 3) {
                        for rank in 0..ranks {
                            ends_agree(release, &operation, &ring, rank, &share);
                        }
                    }
                }
            }
        }
    }
    assert!(Ring::from_order(vec![0, 2]).is_none());
    assert!(Ring::from_order(vec![0, 1, 1]).is_none());
}

fn ends_agree(release: Release, operation: &Operation, ring: &Ring, rank: u32, share: &Share) {
    let here = chunks(release, operation, ring, rank, share);
    let there = chunks(release, operation, ring, ring.next(rank), share);
    assert_eq!(sent(&here, operation), received(&there, operation));
    // What this rank sends from its output becomes the same part of the output there.
    let sent = here.iter().filter(|chunk| chunk.action.sends());
    let received = there.iter().filter(|chunk| chunk.action.receives());
    for (sent, received) in sent.zip(received) {
        assert_eq!(sent.bytes, received.bytes);
        if sent.action.copies() && received.action.copies() {
            assert_eq!(sent.output, received.output);
        }
    }
    // Every byte of the share becomes output once in each part of the output.
    let mut covered: Vec<(usize, usize)> = here
        .iter()
        .filter(|chunk| chunk.action.copies() && chunk.bytes > 0)
        .map(|chunk| (chunk.output, chunk.bytes))
        .collect();
    covered.sort_unstable();
    let parts = if operation.kind == Kind::AllGather { ring.ranks() } else { 1 };
    let total: usize = covered.iter().map(|(_, bytes)| bytes).sum();
    let expected =
        if operation.kind == Kind::ReduceScatter { share.bytes } else { share.bytes * parts };
    assert_eq!(total, expected);
    for pair in covered.windows(2) {
        assert!(pair[0].0 + pair[0].1 <= pair[1].0);
    }
}

#[derive(Deserialize)]
struct Truth {
    nccl_version: String,
    communicators: Vec<Communicator>,
    collectives: Vec<Collective>,
}

#[derive(Deserialize)]
struct Communicator {
    ranks: Vec<u32>,
    channels: Vec<Channel>,
}

#[derive(Deserialize)]
struct Channel {
    ring_order_world_ranks: Vec<u32>,
}

#[derive(Deserialize)]
struct Collective {
    comm: usize,
    op: String,
    bytes: usize,
    algo: Option<String>,
    proto: Option<String>,
    edges: Vec<Edge>,
}

#[derive(Deserialize)]
struct Edge {
    channel: usize,
    sender: u32,
    receiver: u32,
    sizes_rle: Vec<(usize, usize)>,
    phase_boundary_message_index: Option<Vec<usize>>,
}

#[test]
fn messages_are_those_of_real_nccl() {
    let mut compared = BTreeMap::new();
    let runs = std::fs::read_dir(format!("{}/../tests/captures", env!("CARGO_MANIFEST_DIR")));
    for run in runs.unwrap() {
        let run = run.unwrap().file_name().into_string().unwrap();
        // Releases that split collectives like those that the driver speaks.
        let Some((name, release)) = run.strip_suffix(".tar.zst").and_then(|name| {
            let (_, version) = name.rsplit_once('-')?;
            match version {
                "2.21.5" => Some((name, Release::V2_21_5)),
                "2.27.5" | "2.28.9" => Some((name, Release::V2_27_7)),
                _ => None,
            }
        }) else {
            continue;
        };
        let recording = Recording::unpack(name);
        let text = std::fs::read_to_string(recording.folder().join("truth.json")).unwrap();
        let truth: Truth = serde_json::from_str(&text).unwrap();
        assert!(name.ends_with(&truth.nccl_version));
        for collective in &truth.collectives {
            if let Some(kind) = agrees_with_real_nccl(release, &truth, collective) {
                *compared.entry((truth.nccl_version.clone(), kind.name())).or_insert(0) += 1;
            }
        }
    }
    let compared: Vec<String> = compared
        .into_iter()
        .map(|((version, kind), collectives)| format!("{version} {kind}: {collectives}"))
        .collect();
    insta::assert_snapshot!(compared.join("\n"), @r"
    2.21.5 AllReduce: 39
    2.27.5 AllGather: 35
    2.27.5 AllReduce: 757
    2.27.5 Broadcast: 9
    2.27.5 ReduceScatter: 15
    2.28.9 AllReduce: 151
    ");
}

/// Compares every connection of a ring collective under Simple; `None` for other collectives.
fn agrees_with_real_nccl(release: Release, truth: &Truth, collective: &Collective) -> Option<Kind> {
    let kind = KINDS.into_iter().find(|kind| kind.name() == collective.op)?;
    if collective.algo.as_deref() != Some("RING") || collective.proto.as_deref() != Some("SIMPLE") {
        return None;
    }
    let communicator = &truth.communicators[collective.comm];
    let place =
        |world: &u32| communicator.ranks.iter().position(|rank| rank == world).unwrap() as u32;
    let ranks = communicator.ranks.len() as u32;
    let bytes = match kind {
        Kind::ReduceScatter => collective.bytes / ranks as usize,
        Kind::AllReduce | Kind::AllGather | Kind::Broadcast => collective.bytes,
    };
    let is_received =
        |rank: &u32| collective.edges.iter().any(|edge| place(&edge.receiver) == *rank);
    let root = (0..ranks).find(|rank| !is_received(rank)).unwrap_or_default();
    let operation = Operation { root, ..operation(kind, DataType::Float32, bytes / 4) };
    let shares = split(release, &operation, ranks, communicator.channels.len() as u32);
    let mut edges = 0;
    for (share, channel) in shares.iter().zip(&communicator.channels) {
        let ring =
            Ring::from_order(channel.ring_order_world_ranks.iter().map(place).collect()).unwrap();
        for rank in 0..ranks {
            let chunks = chunks(release, &operation, &ring, rank, share);
            let messages = sent(&chunks, &operation);
            if messages.is_empty() {
                continue;
            }
            let edge = collective.edges.iter().find(|edge| {
                edge.channel == share.channel as usize
                    && place(&edge.sender) == rank
                    && place(&edge.receiver) == ring.next(rank)
            });
            let edge = edge.unwrap();
            let real: Vec<usize> = edge
                .sizes_rle
                .iter()
                .flat_map(|&(times, bytes)| std::iter::repeat_n(bytes, times))
                .collect();
            let sizes: Vec<usize> = messages.iter().map(|&(_, bytes)| bytes).collect();
            assert_eq!(sizes, real);
            if let (Kind::AllReduce, Some(boundary)) = (kind, &edge.phase_boundary_message_index) {
                let first = messages.iter().position(|&(part, _)| part == Part::AllGather);
                assert_eq!(first, boundary.first().copied());
            }
            edges += 1;
        }
    }
    assert_eq!(edges, collective.edges.len());
    Some(kind)
}
