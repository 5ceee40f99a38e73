//! Communicators, rings and channels (`src/init.cc`, `src/graph/rings.cc`).

use std::fmt::Write;

use super::{CommFacts, Log, Phase};
use crate::release::Release;
use crate::wire::peer_info::PeerInfo;

impl Log {
    /// `Init START` and `Init COMPLETE`.
    pub fn init(&mut self, comm: &CommFacts, phase: Phase) {
        let phase = match phase {
            Phase::Start => "START",
            Phase::Complete => "COMPLETE",
        };
        let CommFacts { comm, rank, ranks, local_rank, bus_id, logged_id, .. } = comm;
        self.info(format_args!(
            "ncclCommInitRank comm 0x{comm:x} rank {rank} nranks {ranks} cudaDev {local_rank} \
             nvmlDev {local_rank} busId {bus_id:x} commId 0x{logged_id:x} - Init {phase}"
        ));
    }

    /// What the ranks agreed on: one rank per node, the ring of each channel.
    pub fn rings(&mut self, facts: &CommFacts, peers: &[PeerInfo]) {
        self.devices = peers.iter().map(|peer| peer.nvml_device).collect();
        let CommFacts { comm, rank, ranks, channels, .. } = *facts;
        self.info(format_args!(
            "comm 0x{comm:x} rank {rank} nRanks {ranks} nNodes {ranks} localRanks 1 localRank 0 \
             MNNVL 0"
        ));
        if rank == 0 {
            for channel in 0..channels {
                let order = order(ranks, self.release);
                self.info(format_args!("Channel {channel:02}/{channels:02} :{order}"));
            }
        }
        let (before, next) = ((rank + ranks - 1) % ranks, (rank + 1) % ranks);
        for channel in 0..channels {
            self.info(format_args!("Ring {channel:02} : {before} -> {rank} -> {next}"));
        }
        self.info("P2P Chunksize set to 131072");
    }

    /// What collectives may use: rings with the Simple protocol, and the number of channels.
    pub fn channels(&mut self, facts: &CommFacts) {
        let channels = facts.channels;
        self.info("NCCL_PROTO set by environment to Simple");
        self.info("NCCL_ALGO set by environment to Ring");
        self.info("threadThresholds 8/8/64 | 32/8/64 | 512 | 512");
        self.info(format_args!(
            "{channels} coll channels, {channels} collnet channels, 0 nvls channels, {channels} \
             p2p channels, {channels} p2p channels per peer"
        ));
        if self.release == Release::V2_27_7 {
            self.info("CC Off, workFifoBytes 1048576");
        }
    }

    /// The communicator was destroyed.
    pub fn destroyed(&mut self, facts: &CommFacts) {
        let CommFacts { comm, rank, ranks, local_rank, bus_id, .. } = facts;
        self.info(format_args!(
            "comm 0x{comm:x} rank {rank} nranks {ranks} cudaDev {local_rank} busId {bus_id:x} - \
             Destroy COMPLETE"
        ));
    }
}

/// The ranks of a ring, as many as the release fits into a line.
fn order(ranks: u32, release: Release) -> String {
    let (shown, width) = match release {
        Release::V2_21_5 => (ranks.min(20), 3),
        Release::V2_27_7 => (ranks, ranks.saturating_sub(1).to_string().len()),
    };
    let mut order = String::new();
    if release == Release::V2_21_5 {
        order.push(' ');
    }
    for rank in 0..shown {
        let _ = write!(order, " {rank:width$}");
    }
    // A line has 127 characters, of which the channel takes 15.
    if release == Release::V2_27_7 && order.len() > 112 {
        order.truncate(109);
        order.push_str("...");
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rings_look_as_real_ones() {
        assert_eq!(order(4, Release::V2_21_5), "    0   1   2   3");
        assert_eq!(order(4, Release::V2_27_7), " 0 1 2 3");
        assert_eq!(order(11, Release::V2_27_7), "  0  1  2  3  4  5  6  7  8  9 10");
        assert_eq!(order(100, Release::V2_27_7).len(), 112);
    }
}
