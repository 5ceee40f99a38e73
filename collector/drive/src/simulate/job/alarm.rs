//! The timers of a job.

use crate::simulate::network::Network;
use crate::simulate::time::VirtualTime;

/// Why a job is woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Alarm {
    /// A rank begins its first round.
    Begin {
        rank: usize,
    },
    /// A rank stops to take part.
    Halt {
        halt: usize,
    },
    /// The CPU has enqueued a round.
    Enqueued {
        rank: usize,
    },
    /// The input of this many collectives is computed.
    Ready {
        rank: usize,
        collectives: usize,
    },
    /// The GPU has computed its part of a round.
    Computed {
        rank: usize,
    },
    KernelBegins {
        rank: usize,
    },
    /// A kernel has processed a message.
    Turn {
        rank: usize,
        channel: usize,
    },
    /// A message inside a host has arrived.
    Arrived {
        edge: usize,
        bytes: u32,
    },
}

/// The timers of one job; their tokens identify the job.
#[derive(Debug)]
pub(super) struct Alarms {
    job: u64,
    set: Vec<Option<Alarm>>,
    free: Vec<u32>,
}

/// Position of the job in a token.
const JOB_SHIFT: u32 = 32;

/// The number of the job that a token belongs to.
pub(in crate::simulate) const fn job_of(token: u64) -> u64 {
    token >> JOB_SHIFT
}

impl Alarms {
    pub(super) fn new(job: u32) -> Self {
        Self { job: u64::from(job), set: Vec::new(), free: Vec::new() }
    }

    pub(super) fn set(&mut self, network: &mut Network, at: VirtualTime, alarm: Alarm) {
        let place = self.free.pop().unwrap_or_else(|| {
            self.set.push(None);
            (self.set.len() - 1) as u32
        });
        if let Some(slot) = self.set.get_mut(place as usize) {
            *slot = Some(alarm);
        }
        network.wake(at, self.job << JOB_SHIFT | u64::from(place));
    }

    /// The alarm of a token, if it belongs to this job.
    pub(super) fn take(&mut self, token: u64) -> Option<Alarm> {
        if job_of(token) != self.job {
            return None;
        }
        let place = token as u32;
        let alarm = self.set.get_mut(place as usize)?.take()?;
        self.free.push(place);
        Some(alarm)
    }
}
