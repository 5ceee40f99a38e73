//! A network in virtual time: NICs with reliable connections, links, switches, and what goes wrong.
//!
//! [`plan`] says what exists, [`Network`] is it while it runs. It is deterministic: the same plan,
//! seed and calls give the same packets at the same times.

pub mod counters;
mod event;
pub mod notice;
pub mod packet;
mod picoseconds;
pub mod plan;
pub mod tap;
pub mod trouble;

use crate::drive::simulate::time::VirtualTime;
use event::{Event, EventQueue};
use notice::{CallError, Notice, QueuePairId, QueuePairOptions, Work};
use picoseconds::Picoseconds;
use plan::{NetworkPlan, NicId, PlanError};
use tap::TapSink;

/// A network while it runs.
///
/// Time passes in [`Network::advance`] only, which returns as soon as there is something that the
/// job may want to react to; what the job then asks for happens at that time.
#[derive(Debug)]
pub struct Network {
    now: Picoseconds,
    events: EventQueue,
    nics: Vec<Nic>,
}

#[derive(Debug, Default)]
struct Nic {
    queue_pairs: Vec<QueuePair>,
}

#[derive(Debug, Default)]
struct QueuePair {
    connection: Option<(QueuePairId, QueuePairOptions)>,
    posted: Vec<Work>,
}

/// The first number that a NIC gives to a queue pair.
const FIRST_QPN: u32 = 0x100;

impl Network {
    /// Builds what `plan` says. Nothing happens yet.
    ///
    /// # Errors
    ///
    /// What in the plan contradicts itself.
    pub fn new(plan: &NetworkPlan, seed: u64) -> Result<Self, PlanError> {
        let _ = seed;
        let nics = plan.nics.iter().map(|_| Nic::default()).collect();
        Ok(Self { now: Picoseconds(0), events: EventQueue::default(), nics })
    }

    /// The time.
    pub fn now(&self) -> VirtualTime {
        self.now.virtual_time()
    }

    /// Makes a queue pair; its number is the NIC's next.
    ///
    /// # Errors
    ///
    /// When there is no such NIC.
    pub fn create_queue_pair(&mut self, nic: NicId) -> Result<QueuePairId, CallError> {
        let queue_pairs =
            &mut self.nics.get_mut(nic.0 as usize).ok_or(CallError::NoNic(nic))?.queue_pairs;
        queue_pairs.push(QueuePair::default());
        Ok(QueuePairId { nic, qpn: FIRST_QPN + queue_pairs.len() as u32 - 1 })
    }

    /// Connects two queue pairs, in both directions. PSNs begin at 0.
    ///
    /// # Errors
    ///
    /// When one of them does not exist or is connected, or an option is not RoCE's.
    pub fn connect(
        &mut self,
        one: QueuePairId,
        other: QueuePairId,
        options: QueuePairOptions,
    ) -> Result<(), CallError> {
        for (end, peer) in [(one, other), (other, one)] {
            self.queue_pair(end)?.connection = Some((peer, options));
        }
        Ok(())
    }

    /// Sends `work` after all that was posted at `from` before.
    ///
    /// # Errors
    ///
    /// When `from` cannot send, or the work's head is too long.
    pub fn post(&mut self, from: QueuePairId, work: Work) -> Result<(), CallError> {
        let queue_pair = self.queue_pair(from)?;
        if queue_pair.connection.is_none() {
            return Err(CallError::NotConnected(from));
        }
        queue_pair.posted.push(work);
        Ok(())
    }

    /// [`Notice::Woken`] with `token` at `at`; at once if that is over.
    pub fn wake(&mut self, at: VirtualTime, token: u64) {
        self.events.push(self.now.max(at.into()), Event::Wake { token });
    }

    /// Lets time pass until something concerns the job; `None` when nothing is left to happen.
    pub fn advance(&mut self, taps: &mut dyn TapSink) -> Option<Notice> {
        let _ = taps;
        let (time, event) = self.events.pop()?;
        self.now = time;
        match event {
            Event::Wake { token } => Some(Notice::Woken { token }),
        }
    }

    fn queue_pair(&mut self, id: QueuePairId) -> Result<&mut QueuePair, CallError> {
        let nic = self.nics.get_mut(id.nic.0 as usize).ok_or(CallError::NoNic(id.nic))?;
        let place = id.qpn.checked_sub(FIRST_QPN).ok_or(CallError::NoQueuePair(id))?;
        nic.queue_pairs.get_mut(place as usize).ok_or(CallError::NoQueuePair(id))
    }
}
