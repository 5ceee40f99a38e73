//! The place of ranks, and the order in which rings visit them.

use crate::collective::ring::Ring;
use crate::simulate::scenario::fabric::Fabric;
use crate::simulate::scenario::job::Job;

/// The ranks of a job.
#[derive(Clone, Debug)]
pub struct Seats {
    /// The host of each rank.
    pub hosts: Vec<u32>,
    /// Ranks per host; they have consecutive numbers.
    pub per_host: u32,
    /// Number of channels.
    pub channels: u32,
    rails: u32,
}

impl Seats {
    /// Seats of a job whose numbers were checked.
    #[must_use]
    pub fn new(job: &Job, fabric: &Fabric) -> Self {
        let per_host = job.gpus_per_host;
        let hosts = job.hosts(fabric).into_iter();
        let hosts = hosts.flat_map(|host| std::iter::repeat_n(host, per_host as usize)).collect();
        Self { hosts, per_host, channels: job.channels, rails: fabric.rails }
    }

    /// Number of ranks.
    #[must_use]
    pub fn ranks(&self) -> u32 {
        u32::try_from(self.hosts.len()).unwrap_or(u32::MAX)
    }

    /// Number of the host that `rank` runs on.
    #[must_use]
    pub fn host(&self, rank: u32) -> u32 {
        self.hosts.get(rank as usize).copied().unwrap_or_default()
    }

    /// Channels that NCCL finds before doubling them: two channels share one ring.
    #[must_use]
    pub const fn found_channels(&self) -> u32 {
        self.channels.div_ceil(2)
    }

    /// The rail on which a channel enters and leaves hosts (`NCCL_CROSS_NIC=0`).
    #[must_use]
    pub const fn rail(&self, channel: u32) -> u32 {
        channel % self.found_channels() % self.rails
    }

    /// The ranks of the host of `rank`, in the order a channel visits them.
    #[must_use]
    pub fn on_host(&self, channel: u32, rank: u32) -> Vec<u32> {
        let first = rank - rank % self.per_host;
        let entry = channel % self.found_channels();
        (0..self.per_host).map(|place| first + (entry + place) % self.per_host).collect()
    }

    /// The ring of each channel.
    #[must_use]
    pub fn rings(&self) -> Vec<Ring> {
        let ring = |channel| {
            let firsts = (0..self.ranks()).step_by(self.per_host as usize);
            let order = firsts.flat_map(|first| self.on_host(channel, first)).collect();
            // Each rank is on one host, so this is a ring.
            Ring::from_order(order).unwrap_or_else(|| Ring::ascending(self.ranks()))
        };
        (0..self.channels).map(ring).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rings_enter_and_leave_each_host_once() {
        let job = Job { hosts: vec![3, 1], gpus_per_host: 3, channels: 4, ..Job::default() };
        let seats = Seats::new(&job, &Fabric { rails: 2, ..Fabric::default() });
        assert_eq!(seats.hosts, [3, 3, 3, 1, 1, 1]);
        assert_eq!([0, 1, 2, 3].map(|channel| seats.rail(channel)), [0, 1, 0, 1]);
        let rings = seats.rings();
        assert_eq!(rings[1], Ring::from_order(vec![1, 2, 0, 4, 5, 3]).unwrap());
        assert_eq!(rings[1], rings[3]);
    }
}
