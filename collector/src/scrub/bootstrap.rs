//! Streams of NCCL's bootstrap, of RAS and of proxies: a greeting, then frames. Of a frame that is known by its
//! length and content, the fields that readers need are kept.

use super::claim::Claims;
use super::peers::{PeerSums, host_hash};
use super::pseudonym::Pseudonyms;
use railscope_core::decode::nccl::check_in::CheckIn;
use railscope_core::decode::nccl::greeting::{Greeting, SOCKET_MAGIC, SocketType};
use railscope_core::decode::nccl::layout::{LAYOUTS, Layout};
use railscope_core::decode::nccl::peer_info::{
    BUS_ID, CUDA_DEVICE, PeerInfo, PeerInfoLayout, RANK,
};
use railscope_core::decode::nccl::ras::RasGreeting;
use railscope_core::decode::nccl::root_reply::{REPLY_28, REPLY_128};
use railscope_core::decode::nccl::topology::{CHANNEL_COUNT, Topology, TopologyLayout};
use railscope_core::model::nccl::RANK_LIMIT;

/// Bytes of a frame's length.
pub(super) const FRAME_LENGTH: usize = 4;

/// Longer than any frame.
const FRAME_LIMIT: usize = 64 << 10;

/// Bytes of an entry of a transport's set-up up to 2.22; later ones have twice as many.
const ENTRY: usize = 128;
/// Where the magic of an entry is.
const ENTRY_MAGIC: usize = 32;

/// More devices than a host has, more processes than a kernel numbers, more PCI addresses than there are.
const DEVICES: u32 = 1 << 10;
const PROCESSES: u32 = 1 << 22;
const BUS_IDS: u64 = 1 << 36;

/// Writes a stream anew.
pub(super) fn rewrite(before: &[u8], sums: &PeerSums, pseudonyms: &mut Pseudonyms) -> Vec<u8> {
    let mut claims = Claims::new(before);
    let mut at = 0;
    let greeting = Greeting::decode(before);
    let rank_limit = sums.rank_limit(greeting.as_ref());
    if let Some(greeting) = greeting {
        at = greet(&mut claims, &greeting, pseudonyms);
        if greeting.socket_type == SocketType::Proxy {
            // A request: its kind, and sizes behind a handle.
            claims.count(at, DEVICES);
            [at + 12, at + 16].into_iter().for_each(|size| claims.count(size, 1 << 20));
            return claims.out;
        }
    }
    while let Some(length) = claims.word(at).map(|length| length as usize) {
        if length > FRAME_LIMIT {
            break;
        }
        claims.keep(at, FRAME_LENGTH);
        let start = at + FRAME_LENGTH;
        let Some(frame) = before.get(start..start + length) else { break };
        let mut own = Claims::new(frame);
        rewrite_frame(&mut own, (sums, rank_limit), pseudonyms);
        if let Some(place) = claims.out.get_mut(start..start + length) {
            place.copy_from_slice(&own.out);
        }
        at = start + length;
    }
    claims.out
}

/// Keeps a greeting; returns where it ends.
pub(super) fn greet(
    claims: &mut Claims<'_>,
    greeting: &Greeting,
    pseudonyms: &Pseudonyms,
) -> usize {
    claims.put(0, pseudonyms.id(greeting.magic).to_le_bytes());
    claims.keep(8, 4);
    Greeting::LEN
}

fn rewrite_frame(
    claims: &mut Claims<'_>,
    (sums, rank_limit): (&PeerSums, u32),
    pseudonyms: &mut Pseudonyms,
) {
    let (frame, len) = (claims.before, claims.before.len());
    let fitting =
        |fits: fn(&Layout, &[u8]) -> bool| LAYOUTS.iter().find(|layout| fits(layout, frame));
    if let Some(layout) = fitting(|layout, frame| CheckIn::decode(frame, layout.check_in).is_some())
    {
        let check_in = layout.check_in;
        claims.keep(0, 8);
        check_in.root.into_iter().for_each(|at| claims.keep(at, 8));
        claims.address(check_in.root_listener, pseudonyms);
        claims.address(check_in.ring_listener, pseudonyms);
        return;
    }
    let is_gather = LAYOUTS.iter().any(|layout| layout.addresses.gathers.contains(&len));
    if (is_gather || matches!(len, REPLY_28 | REPLY_128)) && claims.address(0, pseudonyms) {
        rewrite_ras(claims, pseudonyms);
        rewrite_entries(claims, pseudonyms);
        return;
    }
    if RasGreeting::decode(frame).is_some() {
        claims.keep(0, 4);
        claims.keep(8, 4);
        claims.address(12, pseudonyms);
        return;
    }
    if let Some(layout) = fitting(|layout, frame| {
        Topology::decode(frame, layout.topology).is_some() && frame.len() > ENTRY
    }) {
        return rewrite_topology(claims, layout.topology, rank_limit);
    }
    if let Some(layout) = fitting(|layout, frame| is_info(frame, layout.peer_info)) {
        return rewrite_info(claims, layout.peer_info, sums, pseudonyms);
    }
    match len {
        // A rank and a tag, or what a split asks for.
        4 => claims.random(0, 4),
        8 if claims.word(0).is_some_and(|rank| rank < RANK_LIMIT) => claims.keep(0, 8),
        _ if len % ENTRY == 0 => rewrite_entries(claims, pseudonyms),
        _ => {}
    }
}

/// Where receivers of a transport's set-up listen.
fn rewrite_entries(claims: &mut Claims<'_>, pseudonyms: &mut Pseudonyms) {
    for at in (0..claims.before.len()).step_by(ENTRY) {
        if claims.long(at + ENTRY_MAGIC) == Some(SOCKET_MAGIC) && claims.address(at, pseudonyms) {
            claims.keep(at + ENTRY_MAGIC, 8);
        }
    }
}

/// RAS's data of a rank, behind its addresses.
fn rewrite_ras(claims: &mut Claims<'_>, pseudonyms: &mut Pseudonyms) {
    let len = claims.before.len();
    let mut fitting = LAYOUTS.iter().filter(|layout| layout.addresses.gathers == [len]);
    let Some(ras) = fitting.find_map(|layout| layout.addresses.ras) else { return };
    claims.address(ras.at, pseudonyms);
    claims.count(ras.at + 28, PROCESSES);
    claims.count(ras.at + 32, DEVICES);
    claims.count(ras.at + 36, DEVICES);
    if ras.has_hashes {
        let [host, process] = [40, 48].map(|at| ras.at + at);
        if let Some(hash) = claims.long(host) {
            claims.put(host, host_hash(hash, pseudonyms).to_le_bytes());
        }
        claims.random(process, 8);
    }
}

/// Where a rank is in rings and trees. NCCL sends what was on its stack beside it: behind the last channel, and
/// numbers that are no ranks.
fn rewrite_topology(claims: &mut Claims<'_>, layout: &TopologyLayout, rank_limit: u32) {
    let Some(topology) = Topology::decode(claims.before, layout) else { return };
    for graph in [layout.ring, layout.tree] {
        claims.count(graph + CHANNEL_COUNT, DEVICES);
    }
    layout.cross_nic.into_iter().for_each(|at| claims.count(at, DEVICES));
    let channels = topology.ring_channels.max(topology.tree_channels) as usize;
    // Seven arrays of ranks.
    for (array, channel) in (0..7).flat_map(|array| (0..channels).map(move |it| (array, it))) {
        claims.count(layout.ranks + 4 * (array * layout.channels + channel), rank_limit);
    }
}

/// Whether a frame is what a rank says of its process.
pub(super) fn is_info(frame: &[u8], layout: &PeerInfoLayout) -> bool {
    PeerInfo::decode(frame, layout).is_some_and(|info| {
        info.rank < RANK_LIMIT && info.cuda_device < DEVICES && info.bus_id < BUS_IDS
    })
}

fn rewrite_info(
    claims: &mut Claims<'_>,
    layout: &PeerInfoLayout,
    sums: &PeerSums,
    pseudonyms: &Pseudonyms,
) {
    claims.keep(RANK, 4);
    claims.keep(CUDA_DEVICE, 4);
    layout.nvml_device.into_iter().for_each(|at| claims.count(at, DEVICES));
    claims.keep(BUS_ID, 8);
    layout.version.into_iter().for_each(|at| claims.keep(at, 4));
    if let Some(info) = PeerInfo::decode(claims.before, layout) {
        for (at, sum) in sums.changed(&info, pseudonyms) {
            claims.put(at, sum.to_le_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use railscope_core::decode::nccl::topology::TOPOLOGY_2288;

    #[test]
    fn of_the_topology_nothing_of_the_stack_stays() {
        let layout = &TOPOLOGY_2288;
        // Halves of an address everywhere: 0x7f12_0000_0003.
        let mut frame: Vec<u8> = [3_u32, 0x7f12]
            .iter()
            .flat_map(|it| it.to_le_bytes())
            .cycle()
            .take(layout.len)
            .collect();
        for graph in [layout.ring, layout.tree] {
            frame[graph + CHANNEL_COUNT..graph + CHANNEL_COUNT + 4]
                .copy_from_slice(&2_u32.to_le_bytes());
        }
        let kept = |limit: u32| {
            let mut claims = Claims::new(&frame);
            rewrite_topology(&mut claims, layout, limit);
            let ranks = claims.out[layout.ranks..].chunks(4).filter(|word| **word != [0; 4]);
            ranks.map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect::<Vec<_>>()
        };
        // The first of two channels, or the second, in each of seven arrays.
        assert_eq!(kept(4), [3; 7]);
        assert!(kept(3).is_empty());
        assert_eq!(kept(PeerSums::default().rank_limit(None)), [3; 7]);
    }
}
