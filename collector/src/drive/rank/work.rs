//! A rank at work: rounds of computing and collectives, and what it tells of them.

use std::cell::RefCell;
use std::ops::Range;
use std::time::{Duration, Instant};

use super::super::bootstrap::Communicator;
use super::super::clock::{Deadline, now, wall_ns};
use super::super::collective::buffers::Buffers;
use super::super::collective::fill::Inputs;
use super::super::collective::ring::Ring;
use super::super::collective::run::{Observer, Runner, Task};
use super::super::collective::{Kind, Operation};
use super::super::job::{Job, Seat, Shape};
use super::super::nccl_log::{Log, Work};
use super::super::report::{IterationTime, Measure, Placement, RankReport};
use super::super::store::{Client, rendezvous};
use super::super::truth::{self, Record, RingStep};
use super::super::workload::{Call, Purpose, Round, rounds, total};
use super::super::{DriveError, Result};
use super::network::Network;
use super::{tell, trouble};

/// How long the network may wait before the rank looks at the clock.
const GLANCE: Duration = Duration::from_millis(5);

/// How often a rank says how far it is.
const TELL_EVERY: Duration = Duration::from_millis(200);

pub(super) struct Worker<'a> {
    job: &'a Job,
    seat: &'a Seat,
    network: Network,
    communicator: Communicator,
    store: Client,
    log: Log,
    report: &'a mut dyn RankReport,
    /// Once the rings are connected.
    runner: Option<Runner>,
    buffers: Vec<Slot>,
    jitter: fastrand::Rng,
    sequence: u64,
    barriers: u64,
    total: u64,
    told: Instant,
    /// What happened in this round, told at its end.
    records: Vec<Record>,
}

/// The memory of one line of the table.
#[derive(Default)]
struct Slot {
    input: Vec<u8>,
    output: Vec<u8>,
}

/// Looks on while a collective runs.
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
        job: &'a Job,
        seat: &'a Seat,
        network: Network,
        communicator: Communicator,
        store: Client,
        log: Log,
        report: &'a mut dyn RankReport,
    ) -> Self {
        Self {
            job,
            seat,
            network,
            communicator,
            store,
            log,
            report,
            runner: None,
            buffers: Vec::new(),
            jitter: fastrand::Rng::with_seed(job.seed ^ (u64::from(seat.rank) << 32)),
            sequence: 0,
            barriers: 0,
            total: total(&job.workload.shape, job.check),
            told: now(),
            records: Vec::new(),
        }
    }

    /// Goes through all rounds.
    pub(super) fn work(&mut self) -> Result<()> {
        let job = self.job;
        self.network.trouble(job, self.seat.rank, &self.communicator.addresses());
        for round in rounds(&job.workload.shape, job.check) {
            match job.workload.shape {
                Shape::Sweep { .. } => self.sweep(&round)?,
                Shape::Training { compute, jitter, .. } => self.train(&round, compute, jitter)?,
            }
            self.tell()?;
        }
        Ok(())
    }

    /// Leaves when all have: until then a peer may still need an answer.
    pub(super) fn leave(mut self) -> Result<()> {
        self.barrier()?;
        self.report.progress(self.total, self.total)?;
        self.log.destroyed(self.communicator.facts());
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
        let wrong = (round.purpose == Purpose::Checked).then(|| self.wrong(&first));
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
        for (call, time) in round.calls.iter().zip(times) {
            let wrong = self.job.check.then(|| self.wrong(call));
            if wrong.is_some_and(|wrong| wrong > 0) && round.iteration.is_none() {
                return Err(DriveError::Wrong(format!(
                    "rank {} has wrong numbers after warming up",
                    self.seat.rank
                )));
            }
            if round.iteration.is_some() {
                self.report.measured(&Measure {
                    row: call.row,
                    placement: call.placement,
                    collectives: 1,
                    time,
                    wrong,
                })?;
            }
        }
        match round.iteration {
            Some(iteration) => {
                self.report.iteration(&IterationTime { iteration, compute: computed, total })
            }
            None => Ok(()),
        }
    }

    /// Computes for so long: that is, waits, while the adapter goes on working.
    fn compute(&mut self, duration: Duration) -> Result<()> {
        let deadline = Deadline::after(duration);
        let mut looked = now();
        while !deadline.left().is_zero() {
            self.network.net().progress(deadline.left().min(GLANCE))?;
            if looked.elapsed() > 10 * GLANCE {
                looked = now();
                self.communicator.check_alive(|| "computing".to_owned())?;
            }
        }
        Ok(())
    }

    /// One collective; returns how long it took.
    fn call(&mut self, round: &Round, call: &Call) -> Result<Duration> {
        let operation = self.operation(call);
        let (rank, ranks, sequence) = (self.seat.rank, self.seat.ranks, self.sequence);
        self.sequence += 1;
        if rank == 0 {
            let is_warmup = round.purpose != Purpose::Measured;
            let record = tell::collective(sequence, &operation, ranks, round.iteration, is_warmup);
            self.records.push(record);
        }
        self.log_call(sequence, &operation);
        let start_ns = wall_ns();
        let began = now();
        self.connect()?;
        let Some(runner) = &mut self.runner else {
            return Err(DriveError::Unusable("the rings are not connected".to_owned()));
        };
        let offer_delay = trouble::offer_delay(&self.job.faults, rank, round.iteration);
        let net = self.network.net();
        runner.enqueue(net, Task { sequence, operation, offer_delay })?;
        let slot = &mut self.buffers[call.row];
        let buffers = match call.placement {
            Placement::OutOfPlace => {
                Buffers::OutOfPlace { input: &slot.input, output: &mut slot.output }
            }
            Placement::InPlace => Buffers::InPlace(&mut slot.output),
        };
        let communicator = &self.communicator;
        let mut watch = Watch { communicator, records: &mut self.records, sequence };
        runner.run(net, buffers, &mut watch)?;
        let time = began.elapsed();
        self.records.push(Record::Call(truth::Call {
            sequence,
            rank,
            start_ns,
            end_ns: wall_ns(),
            wrong: None,
        }));
        if self.told.elapsed() >= TELL_EVERY {
            self.told = now();
            self.report.progress(self.sequence, self.total)?;
        }
        Ok(time)
    }

    /// Connects the rings where the release does so at the first collective, and says so.
    fn connect(&mut self) -> Result<()> {
        if self.runner.is_some() {
            return Ok(());
        }
        let deadline = Deadline::after(self.job.patience);
        let net = self.network.net();
        let links = self.communicator.rings(net, &mut self.log, deadline)?.to_vec();
        self.records.extend(tell::links(self.seat, &links, net));
        let Seat { rank, ranks, .. } = *self.seat;
        let ring = Ring::ascending(ranks);
        self.runner = Some(Runner::new(self.job.release, rank, ring, &links, self.job.patience));
        Ok(())
    }

    fn operation(&self, call: &Call) -> Operation {
        let workload = &self.job.workload;
        let bytes = usize::try_from(call.bytes).unwrap_or(usize::MAX);
        let (kind, data_type) = (workload.kind, workload.data_type);
        Operation {
            kind,
            data_type,
            operator: workload.operator,
            root: workload.root,
            count: Operation::count_of(kind, data_type, bytes, self.seat.ranks),
        }
    }

    fn inputs(&self, call: &Call) -> Inputs {
        Inputs {
            operation: self.operation(call),
            ranks: self.seat.ranks,
            sequence: call.row as u64,
        }
    }

    /// Makes the memory of a call ready: fresh inputs, results that cannot be mistaken for right.
    fn fill(&mut self, call: &Call) {
        let inputs = self.inputs(call);
        let Seat { rank, ranks, .. } = *self.seat;
        if self.buffers.len() <= call.row {
            // Lines of a sweep come one after the other; its memory is that of one line.
            if matches!(self.job.workload.shape, Shape::Sweep { .. }) {
                self.buffers.iter_mut().for_each(|slot| *slot = Slot::default());
            }
            self.buffers.resize_with(call.row + 1, Slot::default);
        }
        let slot = &mut self.buffers[call.row];
        let (given, taken) =
            (inputs.operation.input_bytes(ranks), inputs.operation.output_bytes(ranks));
        match call.placement {
            Placement::OutOfPlace => {
                slot.input.resize(given, 0);
                inputs.fill(rank, &mut slot.input);
                slot.output.clear();
                slot.output.resize(taken, 0xff);
            }
            Placement::InPlace => {
                slot.input = Vec::new();
                slot.output.clear();
                slot.output.resize(inputs.operation.total_bytes(ranks), 0xff);
                let own = own_part(inputs.operation.kind == Kind::AllGather, given, rank);
                inputs.fill(rank, &mut slot.output[own]);
            }
        }
    }

    /// How many elements of a call's result are wrong.
    fn wrong(&self, call: &Call) -> u64 {
        let inputs = self.inputs(call);
        let Seat { rank, ranks, .. } = *self.seat;
        let taken = inputs.operation.output_bytes(ranks);
        let output = &self.buffers[call.row].output;
        let own = match call.placement {
            Placement::OutOfPlace => 0..taken,
            Placement::InPlace => {
                own_part(inputs.operation.kind == Kind::ReduceScatter, taken, rank)
            }
        };
        inputs.wrong(rank, &output[own])
    }

    /// Waits for all ranks, while the adapter goes on answering them.
    fn barrier(&mut self) -> Result<()> {
        self.barriers += 1;
        let name = format!("round{}", self.barriers);
        let network = RefCell::new(self.network.net());
        let alive = || {
            network.borrow_mut().progress(Duration::ZERO)?;
            self.communicator.check_alive(|| format!("waiting at {name}"))
        };
        let deadline = Deadline::after(self.job.patience);
        rendezvous::barrier(&self.store, &name, self.seat.ranks, deadline, alive)
    }

    fn log_call(&mut self, sequence: u64, operation: &Operation) {
        let work = Work {
            sequence,
            kind: operation.kind,
            bytes: operation.total_bytes(self.seat.ranks) as u64,
            data_type: operation.data_type,
            operator: operation.operator,
            root: operation.root,
            buffers: [0x7f00_0000_0000, 0x7f80_0000_0000],
        };
        self.log.call(&work, self.communicator.facts());
        self.log.choice(&work, self.communicator.facts());
    }

    /// Tells what happened in a round.
    fn tell(&mut self) -> Result<()> {
        let packets = self.network.take_injected();
        self.records.extend(packets.iter().map(|packet| tell::injected(self.seat.rank, packet)));
        for record in self.records.drain(..) {
            self.report.record(&record)?;
        }
        Ok(())
    }
}

/// Where a rank's `bytes` are in a buffer that ranks may share out.
fn own_part(is_shared_out: bool, bytes: usize, rank: u32) -> Range<usize> {
    let start = if is_shared_out { bytes * rank as usize } else { 0 };
    start..start + bytes
}
