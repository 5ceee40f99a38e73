//! Hashes of host and process that ranks exchange. NCCL adds commHash to them, and readers find commHash
//! by that sum: so where commHash becomes another, the sums become others by the same difference.

use std::collections::{BTreeMap, BTreeSet};

use super::bootstrap::FRAME_LENGTH;
use super::pseudonym::Pseudonyms;
use railscope_core::decode::nccl::check_in::CheckIn;
use railscope_core::decode::nccl::greeting::Greeting;
use railscope_core::decode::nccl::layout::LAYOUTS;
use railscope_core::decode::nccl::peer_info::{HOST_HASH, PID_HASH, PeerInfo};
use railscope_core::decode::nccl::pid_hash::find_pid;
use railscope_core::decode::nccl::ring_data::RingData;

/// Halves of addresses of programs and of their stacks, 0x55..:.. and 0x7f..:.., are larger.
const NO_ADDRESS: u32 = 0x5000;

/// Which commHash is in the sums: the sums prove it.
#[derive(Debug, Default)]
pub(super) struct PeerSums {
    /// Hashes of hosts without commHash, as RAS has them (2.26 and later).
    hosts: BTreeSet<u64>,
    /// Ids that become others.
    ids: Vec<u64>,
    /// Ranks of the communicators that greet with a magic: of the largest.
    ranks: BTreeMap<u64, u32>,
}

impl PeerSums {
    /// Of these ids, those that become others, and what the streams say of hosts.
    pub(super) fn learn<'a>(
        streams: impl Iterator<Item = &'a [u8]>,
        ids: &[u64],
        pseudonyms: &Pseudonyms,
    ) -> Self {
        let ids = ids.iter().copied().filter(|id| pseudonyms.id(*id) != *id).collect();
        let (mut hosts, mut ranks) = (BTreeSet::new(), BTreeMap::new());
        for stream in streams {
            hosts.extend(hosts_of(stream));
            let magic = Greeting::decode(stream).map_or(0, |greeting| greeting.magic);
            for nranks in ranks_of(stream) {
                let most = ranks.entry(magic).or_insert(nranks);
                *most = nranks.max(*most);
            }
        }
        Self { hosts, ids, ranks }
    }

    /// What all ranks of a communicator are smaller than.
    pub(super) fn rank_limit(&self, greeting: Option<&Greeting>) -> u32 {
        let known = greeting.and_then(|greeting| self.ranks.get(&greeting.magic));
        known.copied().unwrap_or(NO_ADDRESS)
    }

    /// The new sums of a rank, and where they are in what it says.
    pub(super) fn changed(&self, info: &PeerInfo, pseudonyms: &Pseudonyms) -> Vec<(usize, u64)> {
        let Some(id) = self.id_in(info) else { return Vec::new() };
        let more = pseudonyms.id(id).wrapping_sub(id);
        let sums = [(HOST_HASH, info.host_hash), (PID_HASH, info.pid_hash)];
        sums.map(|(at, sum)| (at, sum.wrapping_add(more))).to_vec()
    }

    /// The id that is in a rank's sums, if they prove it.
    fn id_in(&self, info: &PeerInfo) -> Option<u64> {
        let is_in = |id: &u64| {
            self.hosts.contains(&info.host_hash.wrapping_sub(*id))
                || find_pid(info.pid_hash, *id).is_some()
        };
        self.ids.iter().copied().find(is_in)
    }
}

/// Frames of NCCL's bootstrap, behind a greeting: start and length.
fn frames(bytes: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let mut at = Greeting::decode(bytes).map_or(0, |_| Greeting::LEN);
    std::iter::from_fn(move || {
        let length = bytes.get(at..at.checked_add(FRAME_LENGTH)?)?.try_into().ok()?;
        let start = at + FRAME_LENGTH;
        let end = start.checked_add(u32::from_le_bytes(length) as usize)?;
        let frame = bytes.get(start..end)?;
        at = end;
        Some((start, frame))
    })
}

/// Hashes of hosts in what ranks say of RAS.
fn hosts_of(bytes: &[u8]) -> impl Iterator<Item = u64> {
    frames(bytes).filter_map(|(_, frame)| {
        let layouts = LAYOUTS.iter().map(|layout| layout.addresses);
        let mut fitting = layouts.filter(|layout| layout.gathers == [frame.len()]);
        fitting.find_map(|layout| RingData::decode(frame, layout)?.ras?.host_hash)
    })
}

/// How many ranks those that check in say there are.
fn ranks_of(bytes: &[u8]) -> impl Iterator<Item = u32> {
    frames(bytes).filter_map(|(_, frame)| {
        let mut layouts = LAYOUTS.iter().map(|layout| layout.check_in);
        layouts.find_map(|layout| CheckIn::decode(frame, layout)).map(|it| it.nranks)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scrub::key::Key;
    use railscope_core::decode::nccl::hash::{CharSign, HashFunction};

    #[test]
    fn sums_follow_the_id_that_is_in_them() {
        let mut pseudonyms = Pseudonyms::new(Key::new([5; 32]));
        pseudonyms.set_ids(BTreeMap::from([(1 << 50, 1 << 40), (9, 8)]));
        let sums = PeerSums::learn(std::iter::empty(), &[9, 1 << 50], &pseudonyms);
        // A process that is known by its PID alone.
        let pid = HashFunction::Djb2a(CharSign::Signed).hash(b"4711pid:[4026531836]");
        let info = |id: u64| PeerInfo {
            rank: 1,
            cuda_device: 0,
            nvml_device: None,
            host_hash: 77_u64.wrapping_add(id),
            pid_hash: pid.wrapping_add(id),
            bus_id: 0,
            release: None,
        };
        let after = info(1 << 40);
        assert_eq!(
            sums.changed(&info(1 << 50), &pseudonyms),
            [(HOST_HASH, after.host_hash), (PID_HASH, after.pid_hash)]
        );
        // Of another communicator.
        assert!(sums.changed(&info(1 << 51), &pseudonyms).is_empty());
    }
}
