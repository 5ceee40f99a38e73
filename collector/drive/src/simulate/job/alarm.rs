//! What a job wants to be woken for.

use crate::simulate::network::Network;
use crate::simulate::time::VirtualTime;

/// One thing that a time has come for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Alarm {
    /// A rank begins its first round.
    Begin { rank: usize },
    /// The CPU has enqueued a round.
    Enqueued { rank: usize },
    /// The input of the first so many collectives is computed.
    Ready { rank: usize, collectives: usize },
    /// The GPU has computed its part of a round.
    Computed { rank: usize },
    /// A kernel begins.
    KernelBegins { rank: usize },
    /// A kernel has worked on a message.
    Turn { rank: usize, channel: usize },
    /// A message has come that went inside a host.
    Arrived { edge: usize, bytes: u32 },
}

/// The alarms of one job; their tokens say which job.
#[derive(Debug)]
pub(super) struct Alarms {
    job: u64,
    set: Vec<Option<Alarm>>,
    free: Vec<u32>,
}

/// Where the job is in a token.
const JOB_SHIFT: u32 = 32;

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

    /// The alarm of a token, if it is this job's.
    pub(super) fn take(&mut self, token: u64) -> Option<Alarm> {
        if token >> JOB_SHIFT != self.job {
            return None;
        }
        let place = token as u32;
        let alarm = self.set.get_mut(place as usize)?.take()?;
        self.free.push(place);
        Some(alarm)
    }
}
