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
    /// Ids of communicators.
    ids: Vec<u64>,
    /// Ranks of the communicators that greet with a magic: of the largest.
    ranks: BTreeMap<u64, u32>,
}

impl PeerSums {
    /// These ids, and what the streams say of hosts.
    pub(super) fn learn<'a>(streams: impl Iterator<Item = &'a [u8]>, ids: &[u64]) -> Self {
        let ids = ids.to_vec();
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

    /// The new sums of a rank, and where they are in what it says. Without the id that is in them, they only show
    /// which ranks share a host.
    pub(super) fn changed(&self, info: &PeerInfo, pseudonyms: &Pseudonyms) -> [(usize, u64); 2] {
        let (host, process) = match self.id_in(info) {
            Some(id) => {
                let other = pseudonyms.id(id);
                let host = host_hash(info.host_hash.wrapping_sub(id), pseudonyms);
                (host.wrapping_add(other), info.pid_hash.wrapping_sub(id).wrapping_add(other))
            }
            None => (pseudonyms.hash(info.host_hash), pseudonyms.hash(info.pid_hash)),
        };
        [(HOST_HASH, host), (PID_HASH, process)]
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

/// What stands for NCCL's hash of a host: it is made of its name, or of `NCCL_HOSTID` alone, and can be inverted.
pub(super) fn host_hash(hash: u64, pseudonyms: &Pseudonyms) -> u64 {
    if hash == 0 { 0 } else { pseudonyms.hash(hash) }
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
        let sums = PeerSums::learn(std::iter::empty(), &[9, 1 << 50]);
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
        let host = host_hash(77, &pseudonyms);
        assert_ne!(host, 77);
        assert_eq!(
            sums.changed(&info(1 << 50), &pseudonyms),
            [(HOST_HASH, host + (1 << 40)), (PID_HASH, pid.wrapping_add(1 << 40))]
        );
        // Of another communicator: nobody can subtract what is known of the process.
        let other = info(1 << 51);
        let [(_, host), (_, process)] = sums.changed(&other, &pseudonyms);
        assert!(host != other.host_hash && process != other.pid_hash);
        assert_eq!(sums.changed(&other, &pseudonyms), [(HOST_HASH, host), (PID_HASH, process)]);
    }
}
