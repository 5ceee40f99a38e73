//! The sequence of a rank's actions: its CPU enqueues rounds, its GPU computes and runs kernels.

use super::alarm::Alarm;
use super::halt::Act;
use super::rank::{Call, Lane};
use super::{TrainingJob, schedule, truth};
use crate::simulate::network::Network;
use crate::simulate::network::notice::CallError;
use crate::simulate::scenario::job::Cpu;
use crate::simulate::time::VirtualTime;

/// Time the CPU takes to enqueue a round, ns.
const ENQUEUE_NS: u64 = 60_000;

/// Time between the previous work and the start of a kernel, ns.
const KERNEL_START_NS: u64 = 5_000;

impl TrainingJob {
    /// The CPU starts to enqueue the next round, if it may.
    pub(super) fn try_enqueue(&mut self, rank: usize, network: &mut Network) {
        if self.halts.stops(rank, Act::Call, network.now()) {
            return;
        }
        let Some(at) = self.ranks.get_mut(rank) else { return };
        let next = at.enqueued;
        let Some(round) = self.schedule.rounds.get(next) else { return };
        let before = next.checked_sub(1).and_then(|before| self.schedule.rounds.get(before));
        let waits = self.plan.cpu == Cpu::Synchronous || before.is_some_and(|round| round.is_pause);
        let gone = if waits { at.ended } else { at.begun };
        if at.is_enqueuing || gone < next {
            return;
        }
        at.is_enqueuing = true;
        let late = self.slowness.enqueue_ns(rank as u32, round.iteration);
        let time = network.now().after(ENQUEUE_NS + late);
        self.alarms.set(network, time, Alarm::Enqueued { rank });
    }

    /// The CPU has enqueued a round: buffers may be offered for its collectives.
    pub(super) fn enqueued(&mut self, rank: usize, network: &mut Network) -> Result<(), CallError> {
        if self.halts.stops(rank, Act::Call, network.now()) {
            return Ok(());
        }
        let Some(at) = self.ranks.get_mut(rank) else { return Ok(()) };
        let Some(round) = self.schedule.rounds.get(at.enqueued) else { return Ok(()) };
        at.is_enqueuing = false;
        at.enqueued += 1;
        let collectives = round.collectives.clone();
        for collective in collectives {
            let Some(operation) = self.schedule.collectives.get(collective) else { continue };
            let odd = self.halts.other_operation(rank, operation, network.now());
            if let (Some(odd), Some(at)) = (odd, self.ranks.get_mut(rank)) {
                at.odd.insert(collective, odd);
            }
            let operation = odd.as_ref().unwrap_or(operation);
            let received = schedule::received(self.plan.nccl, operation, &self.rings, rank as u32);
            for (channel, received) in received.into_iter().enumerate() {
                let ring = self.rings.get(channel);
                let previous = ring.map_or(0, |ring| ring.previous(rank as u32)) as usize;
                if let Some(edge) = self.edges.get_mut(previous * self.rings.len() + channel) {
                    edge.expect(received);
                }
            }
            let enqueued = network.now();
            let call = Call { enqueued, kernel_began: None, kernel_ended: None, flying: 0 };
            if let Some(at) = self.ranks.get_mut(rank) {
                at.calls.insert(collective, call);
                at.called.push((collective, enqueued));
            }
        }
        for channel in 0..self.rings.len() {
            self.offer(self.incoming(rank, channel), network)?;
        }
        self.try_compute(rank, network);
        self.try_enqueue(rank, network);
        Ok(())
    }

    /// The GPU starts the next round, if it is enqueued and the previous one has finished.
    pub(super) fn try_compute(&mut self, rank: usize, network: &mut Network) {
        let Some(at) = self.ranks.get_mut(rank) else { return };
        if at.begun > at.ended || at.begun == at.enqueued {
            return;
        }
        let Some(round) = self.schedule.rounds.get(at.begun) else { return };
        at.begun += 1;
        let now = network.now();
        at.computing_since = Some(now);
        let jitter = if round.is_pause { 0 } else { self.plan.jitter.0 };
        let varied_ns = self.plan.jitter_shape.draw(jitter, &mut at.random);
        let late = self.slowness.compute_ns(rank as u32, round.iteration);
        let time = round.compute_ns.saturating_add_signed(varied_ns) + late;
        if self.plan.overlap && !round.is_pause {
            let count = round.collectives.len() as u64;
            for (done, collective) in (1..count).zip(round.collectives.clone()) {
                let ready = Alarm::Ready { rank, collectives: collective + 1 };
                self.alarms.set(network, now.after(time * done / count), ready);
            }
        }
        self.alarms.set(network, now.after(time), Alarm::Computed { rank });
        self.try_enqueue(rank, network);
    }

    pub(super) fn computed(&mut self, rank: usize, network: &mut Network) {
        let Some(at) = self.ranks.get_mut(rank) else { return };
        let round = at.begun.checked_sub(1).and_then(|begun| self.schedule.rounds.get(begun));
        let Some((round, since)) = round.zip(at.computing_since.take()) else { return };
        at.ready = at.ready.max(round.collectives.end);
        let computed = truth::compute(rank, round, since, network.now());
        self.records.push(computed);
        self.spans.began(round.iteration, since);
        self.try_reduce(rank, network);
        self.try_end_round(rank, network);
    }

    /// Starts the kernel of the next collective, if its input is ready and the previous one has
    /// finished.
    pub(super) fn try_reduce(&mut self, rank: usize, network: &mut Network) {
        let Some(at) = self.ranks.get_mut(rank) else { return };
        if at.is_reducing || at.reduced >= at.ready {
            return;
        }
        at.is_reducing = true;
        at.lanes = Vec::new();
        let time = network.now().after(KERNEL_START_NS);
        self.alarms.set(network, time, Alarm::KernelBegins { rank });
    }

    pub(super) fn begin_kernel(
        &mut self,
        rank: usize,
        network: &mut Network,
    ) -> Result<(), CallError> {
        let Some(at) = self.ranks.get_mut(rank) else { return Ok(()) };
        let planned = self.schedule.collectives.get(at.reduced);
        let Some(operation) = at.odd.get(&at.reduced).or(planned) else { return Ok(()) };
        let lanes = schedule::lanes(self.plan.nccl, operation, &self.rings, rank as u32);
        at.lanes = lanes.into_iter().map(|turns| Lane { turns, ..Lane::default() }).collect();
        if let Some(call) = at.calls.get_mut(&at.reduced) {
            call.kernel_began = Some(network.now());
        }
        for channel in 0..self.rings.len() {
            self.try_turn(rank, channel, network);
        }
        self.try_end_kernel(rank, network);
        Ok(())
    }

    pub(super) fn try_end_kernel(&mut self, rank: usize, network: &mut Network) {
        let Some(at) = self.ranks.get_mut(rank).filter(|at| at.is_kernel_done()) else { return };
        let ended = at.reduced;
        at.is_reducing = false;
        at.reduced += 1;
        if let Some(call) = at.calls.get_mut(&ended) {
            call.kernel_ended = Some(network.now());
        }
        self.try_end_call(rank, ended, network.now());
        self.try_reduce(rank, network);
        self.try_end_round(rank, network);
    }

    /// Ends a collective whose kernel has finished and whose messages are all acknowledged.
    pub(super) fn try_end_call(&mut self, rank: usize, collective: usize, now: VirtualTime) {
        let Some(at) = self.ranks.get_mut(rank) else { return };
        let Some(call) = at.calls.get(&collective).copied() else { return };
        if call.kernel_ended.is_none() || call.flying > 0 {
            return;
        }
        at.calls.remove(&collective);
        self.over += usize::from(at.is_over(&self.schedule));
        self.records.push(truth::call(rank, collective, &call, now));
        let iteration = self.schedule.round_of(collective).and_then(|round| round.iteration);
        self.spans.ended(iteration, now);
    }

    pub(super) fn try_end_round(&mut self, rank: usize, network: &mut Network) {
        let Some(at) = self.ranks.get_mut(rank) else { return };
        let round = self.schedule.rounds.get(at.ended);
        let is_done = round.is_some_and(|round| at.reduced >= round.collectives.end);
        if at.begun == at.ended || at.computing_since.is_some() || !is_done {
            return;
        }
        at.ended += 1;
        self.over += usize::from(at.is_over(&self.schedule));
        self.try_compute(rank, network);
        self.try_enqueue(rank, network);
    }
}
