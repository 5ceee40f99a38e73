//! Hashes of host and process that ranks exchange. NCCL adds commHash to them, and readers find commHash
//! by that sum: so where commHash becomes another, the sums become others by the same difference.

use std::collections::BTreeSet;

use super::pseudonym::Pseudonyms;
use super::sums::put;
use railscope_core::decode::nccl::greeting::Greeting;
use railscope_core::decode::nccl::layout::LAYOUTS;
use railscope_core::decode::nccl::peer_info::{HOST_HASH, PID_HASH, PeerInfo};
use railscope_core::decode::nccl::pid_hash::find_pid;
use railscope_core::decode::nccl::ring_data::RingData;

/// More ranks than any communicator has; an address in the same place is a larger number.
const RANK_LIMIT: u32 = 1 << 16;

/// Bytes of a frame's length.
pub(super) const FRAME_LENGTH: usize = 4;

/// Which commHash is in the sums: the sums prove it.
#[derive(Debug, Default)]
pub(super) struct PeerSums {
    /// Hashes of hosts without commHash, as RAS has them (2.26 and later).
    hosts: BTreeSet<u64>,
    /// Ids that become others.
    ids: Vec<u64>,
}

impl PeerSums {
    /// Of these ids, those that become others, and what the streams say of hosts.
    pub(super) fn learn<'a>(
        streams: impl Iterator<Item = &'a [u8]>,
        ids: &[u64],
        pseudonyms: &Pseudonyms,
    ) -> Self {
        let ids = ids.iter().copied().filter(|id| pseudonyms.id(*id) != *id).collect();
        Self { hosts: streams.flat_map(hosts).collect(), ids }
    }

    /// Puts the new sums into a stream; returns where they are.
    pub(super) fn replace(&self, bytes: &mut [u8], pseudonyms: &Pseudonyms) -> Vec<usize> {
        let mut changed = Vec::new();
        for (at, info) in infos(bytes) {
            let Some(id) = self.id_in(&info) else { continue };
            let more = pseudonyms.id(id).wrapping_sub(id);
            changed.push((at + HOST_HASH, info.host_hash.wrapping_add(more)));
            changed.push((at + PID_HASH, info.pid_hash.wrapping_add(more)));
        }
        for (at, sum) in &changed {
            put(bytes, *at, sum.to_le_bytes());
        }
        changed.into_iter().map(|(at, _)| at).collect()
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
pub(super) fn frames(bytes: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
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

/// What ranks say of their processes.
fn infos(bytes: &[u8]) -> impl Iterator<Item = (usize, PeerInfo)> {
    frames(bytes).filter_map(|(at, frame)| {
        let layouts = LAYOUTS.iter().map(|layout| layout.peer_info);
        let mut fitting = layouts.filter(|layout| layout.len == frame.len());
        let info = fitting.find_map(|layout| PeerInfo::decode(frame, layout))?;
        (info.rank < RANK_LIMIT).then_some((at, info))
    })
}

/// Hashes of hosts in what ranks say of RAS.
fn hosts(bytes: &[u8]) -> impl Iterator<Item = u64> {
    frames(bytes).filter_map(|(_, frame)| {
        let layouts = LAYOUTS.iter().map(|layout| layout.addresses);
        let mut fitting = layouts.filter(|layout| layout.gathers == [frame.len()]);
        fitting.find_map(|layout| RingData::decode(frame, layout)?.ras?.host_hash)
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::scrub::key::Key;
    use railscope_core::decode::nccl::hash::{CharSign, HashFunction};

    /// The frame of a rank in the layout of 2.16 to 2.19, whose process is known by its PID alone.
    fn frame(id: u64) -> Vec<u8> {
        let pid = HashFunction::Djb2a(CharSign::Signed).hash(b"4711pid:[4026531836]");
        let mut info = [0; 64];
        put(&mut info, HOST_HASH, 77_u64.wrapping_add(id).to_le_bytes());
        put(&mut info, PID_HASH, pid.wrapping_add(id).to_le_bytes());
        [&64_u32.to_le_bytes()[..], &info].concat()
    }

    #[test]
    fn sums_follow_the_id_that_is_in_them() {
        let mut pseudonyms = Pseudonyms::new(Key::new([5; 32]));
        pseudonyms.set_ids(BTreeMap::from([(1 << 50, 1 << 40), (9, 8)]));
        let before = frame(1 << 50);
        let sums = PeerSums::learn([&before[..]].into_iter(), &[9, 1 << 50], &pseudonyms);
        let mut after = before.clone();
        assert_eq!(sums.replace(&mut after, &pseudonyms).len(), 2);
        assert_eq!(after, frame(1 << 40));
        // Something of another communicator, or cut, stays.
        let mut other = frame(1 << 51);
        assert!(sums.replace(&mut other, &pseudonyms).is_empty());
        let mut cut = before.get(..40).unwrap_or_default().to_vec();
        assert!(sums.replace(&mut cut, &pseudonyms).is_empty());
    }
}
