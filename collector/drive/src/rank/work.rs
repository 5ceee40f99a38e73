//! A rank at work: rounds of computing and collectives, and its reports.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use super::memory::Memory;
use super::network::Network;
use super::{records, trouble};
use crate::bootstrap::Communicator;
use crate::clock::{Deadline, now, wall_ns};
use crate::collective::Operation;
use crate::collective::observer::Observer;
use crate::collective::ring::Ring;
use crate::collective::run::{Runner, Task};
use crate::job::{Job, Seat, Shape};
use crate::nccl_log::{CommFacts, Log, Work};
use crate::net::Net;
use crate::profiler::Profiler;
use crate::report::{IterationTime, Measure, RankReport};
use crate::store::{Client, rendezvous};
use crate::truth::{self, Record, RingStep};
use crate::workload::{Call, Purpose, Round, rounds, total};
use crate::{DriveError, Result};

/// Longest wait for the network before the rank checks the clock.
const GLANCE: Duration = Duration::from_millis(5);

/// Interval between progress reports of a rank.
const PROGRESS_EVERY: Duration = Duration::from_millis(200);

pub(super) struct Worker<'a> {
    job: &'a Job,
    seat: &'a Seat,
    network: Network,
    /// The communicator of all ranks.
    world: Communicator,
    /// Those that reduce, one after the other.
    members: Vec<Member<'a>>,
    store: Client,
    log: Log,
    report: &'a mut dyn RankReport,
    jitter: fastrand::Rng,
    /// Collectives that were called, in all communicators.
    called: u64,
    barriers: u64,
    total: u64,
    last_progress: Instant,
    /// Records of this round, reported at its end.
    records: Vec<Record>,
}

/// What a rank reduces in a communicator.
pub(super) struct Member<'a> {
    seat: Seat,
    /// `None` in the communicator of all ranks.
    own: Option<Communicator>,
    profiler: Option<Rc<Profiler>>,
    /// Set once the rings are connected.
    runner: Option<Runner>,
    memory: Memory<'a>,
    sequence: u64,
}

impl<'a> Member<'a> {
    pub(super) fn new(
        job: &'a Job,
        seat: Seat,
        own: Option<Communicator>,
        profiler: Option<Rc<Profiler>>,
    ) -> Self {
        let memory = Memory::new(&job.workload, &seat);
        Self { seat, own, profiler, runner: None, memory, sequence: 0 }
    }

    /// Connects the rings if the release does so at the first collective, and records it.
    fn connect(
        &mut self,
        job: &Job,
        world: &mut Communicator,
        net: &mut dyn Net,
        log: &mut Log,
        records: &mut Vec<Record>,
    ) -> Result<()> {
        if self.runner.is_some() {
            return Ok(());
        }
        let deadline = Deadline::after(job.patience);
        let communicator = self.own.as_mut().unwrap_or(world);
        let links = communicator.rings(net, log, deadline)?.to_vec();
        records.extend(records::links(&self.seat, &links, net));
        let Seat { rank, ranks, .. } = self.seat;
        let ring = Ring::ascending(ranks);
        let mut runner = Runner::new(job.release, rank, ring, &links, job.patience);
        if let Some(profiler) = &self.profiler {
            runner.profile(Rc::clone(profiler));
        }
        self.runner = Some(runner);
        Ok(())
    }
}

/// Observes a running collective.
struct Watch<'a> {
    communicator: &'a Communicator,
    records: &'a mut Vec<Record>,
    sequence: u64,
}

impl Observer for Watch<'_> {
    fn ring_step(&mut self, ring_step: RingStep) {
        self.records.push(Record::RingStep(ring_step));
    }

    fn pulse(&mut self) -> Result<()> {
        self.communicator.check_alive(|| format!("in collective {}", self.sequence))
    }
}

impl<'a> Worker<'a> {
    pub(super) fn new(
        (job, seat): (&'a Job, &'a Seat),
        network: Network,
        world: Communicator,
        members: Vec<Member<'a>>,
        store: Client,
        log: Log,
        report: &'a mut dyn RankReport,
    ) -> Self {
        let reduced_in = members.len() as u64;
        Self {
            job,
            seat,
            network,
            world,
            members,
            store,
            log,
            report,
            jitter: fastrand::Rng::with_seed(job.seed ^ (u64::from(seat.rank) << 32)),
            called: 0,
            barriers: 0,
            total: total(&job.workload.shape, job.check).saturating_mul(reduced_in),
            last_progress: now(),
            records: Vec::new(),
        }
    }

    /// Runs all rounds.
    pub(super) fn work(&mut self) -> Result<()> {
        let job = self.job;
        let addresses = self.world.addresses();
        for round in rounds(&job.workload.shape, job.check) {
            self.network.trouble(job, self.seat.rank, &addresses, round.iteration)?;
            match job.workload.shape {
                Shape::Sweep { .. } => self.sweep(&round)?,
                Shape::Training { compute, jitter, .. } => self.train(&round, compute, jitter)?,
            }
            self.report_records()?;
        }
        Ok(())
    }

    /// Leaves after all ranks have finished: until then a peer may still need an answer.
    pub(super) fn leave(mut self) -> Result<()> {
        self.barrier()?;
        let counters = self.network.counters();
        self.records.extend(counters.map(|counters| records::adapter(self.seat.rank, &counters)));
        self.report_records()?;
        self.report.progress(self.total, self.total)?;
        self.log.destroyed(self.world.facts());
        Ok(())
    }

    /// One size, one placement: all calls back to back.
    fn sweep(&mut self, round: &Round) -> Result<()> {
        let Some(&first) = round.calls.first() else { return Ok(()) };
        self.fill(&first);
        self.barrier()?;
        let mut time = Duration::ZERO;
        for call in &round.calls {
            self.compute(trouble::straggling(&self.job.faults, self.seat.rank, None))?;
            time += self.call(round, call)?;
        }
        let wrong = (round.purpose == Purpose::Checked).then(|| self.wrong(&first, 1));
        let counted = if round.purpose == Purpose::Measured { round.calls.len() } else { 0 };
        if round.purpose == Purpose::Warmup {
            return Ok(());
        }
        self.report.measured(&Measure {
            row: first.row,
            placement: first.placement,
            collectives: u32::try_from(counted).unwrap_or(u32::MAX),
            time: if counted > 0 { time } else { Duration::ZERO },
            wrong,
        })
    }

    /// One training step: gradients are computed, then every bucket is reduced.
    fn train(&mut self, round: &Round, compute: Duration, jitter: Duration) -> Result<()> {
        let began = now();
        let start_ns = wall_ns();
        for call in &round.calls {
            self.fill(call);
        }
        let late = trouble::straggling(&self.job.faults, self.seat.rank, round.iteration);
        let spread = jitter.mul_f64(self.jitter.f64() * 2.0);
        let planned = (compute + spread).saturating_sub(jitter) + late;
        self.compute(planned.saturating_sub(began.elapsed()))?;
        let computed = began.elapsed();
        self.records.push(Record::Compute(truth::Compute {
            rank: self.seat.rank,
            iteration: round.iteration,
            start_ns,
            end_ns: wall_ns(),
        }));
        let mut times = Vec::with_capacity(round.calls.len());
        for call in &round.calls {
            times.push(self.call(round, call)?);
        }
        let total = began.elapsed();
        for ((place, call), time) in round.calls.iter().enumerate().zip(times) {
            let calls_ago = (round.calls.len() - place) as u64;
            let wrong = self.job.check.then(|| self.wrong(call, calls_ago));
            let Call { row, placement, .. } = *call;
            if round.purpose == Purpose::Measured {
                self.report.measured(&Measure { row, placement, collectives: 1, time, wrong })?;
            }
        }
        let Some(iteration) = round.iteration else { return Ok(()) };
        self.report.iteration(&IterationTime { iteration, compute: computed, total })
    }

    /// Simulates computing for `duration`: waits while the adapter keeps working.
    fn compute(&mut self, duration: Duration) -> Result<()> {
        let deadline = Deadline::after(duration);
        let mut looked = now();
        while !deadline.left().is_zero() {
            self.network.net().progress(deadline.left().min(GLANCE))?;
            if looked.elapsed() > 10 * GLANCE {
                looked = now();
                self.world.check_alive(|| "computing".to_owned())?;
            }
        }
        Ok(())
    }

    fn fill(&mut self, call: &Call) {
        self.members.iter_mut().for_each(|member| member.memory.fill(call));
    }

    /// Runs a call in each communicator; returns its duration.
    fn call(&mut self, round: &Round, call: &Call) -> Result<Duration> {
        let mut time = Duration::ZERO;
        for at in 0..self.members.len() {
            time += self.call_in(at, round, call)?;
        }
        Ok(time)
    }

    /// Runs one collective; returns its duration.
    fn call_in(&mut self, at: usize, round: &Round, call: &Call) -> Result<Duration> {
        let Self { job, members, world, network, log, records, .. } = self;
        let faults = &job.faults;
        let all_of_them = self.seat.rank;
        let member = &mut members[at];
        let operation = member.memory.operation(call);
        let (rank, ranks, sequence) = (member.seat.rank, member.seat.ranks, member.sequence);
        member.sequence += 1;
        self.called += 1;
        if rank == 0 {
            let is_warmup = round.purpose != Purpose::Measured;
            let record =
                records::collective(sequence, &operation, ranks, round.iteration, is_warmup);
            records.push(record);
        }
        let facts = member.own.as_ref().unwrap_or(world).facts();
        log_call(log, facts, sequence, &operation);
        let start_ns = wall_ns();
        let began = now();
        let net = network.net();
        member.connect(job, world, net, log, records)?;
        let Member { own, runner, memory, .. } = member;
        let Some(runner) = runner else {
            return Err(DriveError::Unusable("the rings are not connected".to_owned()));
        };
        let offer_delay = trouble::offer_delay(faults, all_of_them, round.iteration);
        let gpu_delay = trouble::gpu_delay(faults, all_of_them, round.iteration);
        let is_first = !matches!(job.workload.shape, Shape::Training { .. })
            || round.calls.first().is_some_and(|first| first.row == call.row) && at == 0;
        let gpu_delay = if is_first { gpu_delay } else { Duration::ZERO };
        let tag = round.iteration.map_or(0, u64::from);
        runner.enqueue(net, Task { sequence, operation, offer_delay, gpu_delay, tag })?;
        let communicator = own.as_ref().unwrap_or(world);
        let mut watch = Watch { communicator, records, sequence };
        runner.run(net, memory.buffers(call), &mut watch)?;
        let time = began.elapsed();
        records.push(Record::Call(truth::Call {
            sequence,
            rank,
            start_ns,
            kernel_start_ns: trouble::has_gpu(faults)
                .then(|| start_ns + u64::try_from(gpu_delay.as_nanos()).unwrap_or(0)),
            end_ns: wall_ns(),
            wrong: None,
        }));
        if self.last_progress.elapsed() >= PROGRESS_EVERY {
            self.last_progress = now();
            self.report.progress(self.called, self.total)?;
        }
        Ok(time)
    }

    /// Number of wrong elements in the results of an earlier call.
    fn wrong(&mut self, call: &Call, calls_ago: u64) -> u64 {
        (0..self.members.len()).map(|at| self.wrong_in(at, call, calls_ago)).sum()
    }

    /// Number of wrong elements in the result of an earlier call; also recorded in the truth.
    fn wrong_in(&mut self, at: usize, call: &Call, calls_ago: u64) -> u64 {
        let member = &self.members[at];
        let wrong = member.memory.wrong(call);
        let sequence = member.sequence - calls_ago;
        let earlier = self.records.iter_mut().rev().find_map(|record| match record {
            Record::Call(call) if call.sequence == sequence => Some(call),
            _ => None,
        });
        if let Some(earlier) = earlier {
            earlier.wrong = Some(wrong);
        }
        wrong
    }

    /// Waits for all ranks while the adapter keeps answering them.
    fn barrier(&mut self) -> Result<()> {
        self.barriers += 1;
        let name = format!("round{}", self.barriers);
        let network = RefCell::new(self.network.net());
        let alive = || {
            network.borrow_mut().progress(Duration::ZERO)?;
            self.world.check_alive(|| format!("waiting at {name}"))
        };
        let deadline = Deadline::after(self.job.patience);
        rendezvous::barrier(&self.store, &name, self.seat.ranks, deadline, alive)
    }

    /// Reports the records of a round, and the faults injected since the last report.
    pub(super) fn report_records(&mut self) -> Result<()> {
        let packets = self.network.take_injected();
        self.records.extend(packets.iter().map(|packet| records::injected(self.seat.rank, packet)));
        let pauses = self.network.take_pauses();
        self.records.extend(pauses.iter().map(|pause| records::paused(self.seat.rank, pause)));
        for record in self.records.drain(..) {
            self.report.record(&record)?;
        }
        Ok(())
    }
}

fn log_call(log: &mut Log, facts: &CommFacts, sequence: u64, operation: &Operation) {
    let work = Work {
        sequence,
        kind: operation.kind,
        bytes: operation.total_bytes(facts.ranks) as u64,
        data_type: operation.data_type,
        operator: operation.operator,
        root: operation.root,
        buffers: [0x7f00_0000_0000, 0x7f80_0000_0000],
    };
    log.call(&work, facts);
    log.choice(&work, facts);
}
