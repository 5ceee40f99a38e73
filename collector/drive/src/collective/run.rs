//! Runs the collectives of one rank over a network, all channels in one thread.
//!
//! As in NCCL, a connection's slots continue from collective to collective, buffers are offered as
//! soon as a collective is enqueued, before anything is computed, and messages are sent as buffers
//! are offered.

use std::rc::Rc;
use std::time::{Duration, Instant};

use super::Operation;
use super::buffers::{Buffers, Memory};
use super::channel_split::split;
use super::lane::{Lane, Neighbours, Workplace};
use super::observer::Observer;
use super::ring::{Ring, chunks};
use super::slicing::Slicing;
use crate::clock::{Deadline, now};
use crate::net::{ChannelLinks, Net};
use crate::profiler::{Enqueued, Profiler, Work};
use crate::release::Release;
use crate::{DriveError, Result};

/// Longest wait for the network before this rank checks everything else.
const WAIT: Duration = Duration::from_millis(5);

/// Approximate interval between calls of [`Observer::pulse`].
const PULSE: Duration = Duration::from_millis(50);

/// A collective and its place in the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Task {
    /// Number in the communicator, from 0.
    pub sequence: u64,
    /// Kind, size, data type and operator.
    pub operation: Operation,
    /// How long each buffer offer is held back.
    pub offer_delay: Duration,
    /// How much later the GPU begins with it.
    pub gpu_delay: Duration,
    /// The application's mark for profilers: the training step, 0 for none.
    pub tag: u64,
}

/// One rank with its connections on all channels, across all of its collectives.
#[derive(Debug)]
pub struct Runner {
    release: Release,
    rank: u32,
    ring: Ring,
    patience: Duration,
    lanes: Vec<Lane>,
    enqueued: Option<Task>,
    profiler: Option<Rc<Profiler>>,
    /// What was enqueued, as the plugin knows it.
    reported: Option<Enqueued>,
}

impl Runner {
    /// `links` has one entry per channel, from 0; it is empty for a rank without peers. A
    /// collective fails after `patience` without progress.
    #[must_use]
    pub fn new(
        release: Release,
        rank: u32,
        ring: Ring,
        links: &[ChannelLinks],
        patience: Duration,
    ) -> Self {
        let lanes = links.iter().map(Lane::new).collect();
        Self {
            release,
            rank,
            ring,
            patience,
            lanes,
            enqueued: None,
            profiler: None,
            reported: None,
        }
    }

    /// Reports all that follows to this plugin.
    pub fn profile(&mut self, profiler: Rc<Profiler>) {
        self.profiler = Some(profiler);
    }

    fn ranks(&self) -> u32 {
        u32::try_from(self.ring.ranks()).unwrap_or(u32::MAX)
    }

    /// Starts a collective by offering the free buffers. Nothing is sent before [`Runner::run`].
    ///
    /// # Errors
    /// The previous collective has not been run, or a link is broken.
    pub fn enqueue(&mut self, net: &mut dyn Net, task: Task) -> Result<()> {
        if let Some(before) = self.enqueued {
            let (before, this) = (before.sequence, task.sequence);
            return Err(DriveError::Unusable(format!(
                "collective {this} was enqueued before collective {before} was run"
            )));
        }
        self.enqueued = Some(task);
        let Task { sequence, operation, offer_delay, tag, .. } = task;
        let channels = u32::try_from(self.lanes.len()).unwrap_or(u32::MAX);
        let shares = split(self.release, &operation, self.ranks(), channels);
        let work = self.profiler.as_ref();
        let work = work.map(|one| Work::begin(one, sequence, &operation, shares.len(), tag));
        let neighbours = self.neighbours();
        let mut shares = shares.into_iter();
        for lane in &mut self.lanes {
            let chunks = shares.next().map_or_else(Vec::new, |share| {
                chunks(self.release, &operation, &self.ring, self.rank, &share)
            });
            let slicing = Slicing::for_kind(operation.kind);
            lane.begin(slicing, chunks, offer_delay, work.as_ref(), neighbours);
        }
        self.reported = work.map(Work::enqueued);
        self.offer(net)
    }

    /// Makes offers that are due, between [`Runner::enqueue`] and [`Runner::run`], if offers are
    /// held back.
    ///
    /// # Errors
    /// A link is broken.
    pub fn offer(&mut self, net: &mut dyn Net) -> Result<()> {
        for lane in &mut self.lanes {
            lane.offer(net)?;
        }
        Ok(())
    }

    fn neighbours(&self) -> Neighbours {
        let rank = self.rank;
        Neighbours { rank, previous: self.ring.previous(rank), next: self.ring.next(rank) }
    }

    /// The GPU is busy, and the proxy waits for it.
    fn wait_for_gpu(
        &mut self,
        net: &mut dyn Net,
        delay: Duration,
        observer: &mut dyn Observer,
    ) -> Result<()> {
        let busy = Deadline::after(delay);
        let mut pulsed = now();
        while !busy.left().is_zero() {
            for lane in &mut self.lanes {
                lane.wait_for_gpu(net)?;
            }
            pulse(&mut pulsed, observer)?;
            net.progress(busy.left().min(WAIT))?;
        }
        Ok(())
    }

    /// Runs the enqueued collective until this rank has its result and everything it sent was
    /// acknowledged.
    ///
    /// # Errors
    /// No progress for `patience`, a broken link, messages that do not fit, an error of
    /// [`Observer::pulse`], or buffers of the wrong size.
    pub fn run(
        &mut self,
        net: &mut dyn Net,
        buffers: Buffers<'_>,
        observer: &mut dyn Observer,
    ) -> Result<()> {
        let Some(Task { sequence, operation, gpu_delay, .. }) = self.enqueued.take() else {
            return Err(DriveError::Unusable("no collective was enqueued".into()));
        };
        let (rank, ranks) = (self.rank, self.ranks());
        let mut memory =
            Memory::new(buffers, &operation, rank, ranks).map_err(DriveError::Unusable)?;
        if ranks == 1 {
            memory.copy_all(operation.part_bytes());
            return Ok(());
        }
        self.wait_for_gpu(net, gpu_delay, observer)?;
        let kernel = self.reported.take().map(Enqueued::kernel);
        let neighbours = self.neighbours();
        let memory = &mut memory;
        let mut place = Workplace { operation: &operation, sequence, neighbours, memory, observer };
        let mut quiet = Deadline::after(self.patience);
        let mut pulsed = now();
        loop {
            let mut moved = false;
            for lane in &mut self.lanes {
                moved |= lane.advance(net, &mut place)?;
            }
            let Some(unfinished) = self.lanes.iter().find(|lane| !lane.is_done()) else {
                if let Some(kernel) = kernel {
                    kernel.end();
                }
                return Ok(());
            };
            if moved {
                quiet = Deadline::after(self.patience);
            } else {
                quiet.check(|| unfinished.waits_for(neighbours))?;
            }
            pulse(&mut pulsed, place.observer)?;
            let next_offer = self.lanes.iter().filter_map(Lane::next_offer_in).min();
            let wait = if moved { Duration::ZERO } else { next_offer.unwrap_or(WAIT).min(WAIT) };
            net.progress(wait)?;
        }
    }
}

fn pulse(last: &mut Instant, observer: &mut dyn Observer) -> Result<()> {
    if last.elapsed() >= PULSE {
        observer.pulse()?;
        *last = now();
    }
    Ok(())
}
