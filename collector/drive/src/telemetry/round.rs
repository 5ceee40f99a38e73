//! Records of ranks, collected into rounds: computing, if the job computes, and the collectives
//! after it.

use std::collections::BTreeMap;
use std::fmt;

use crate::collective::Kind;
use crate::job::{Job, Shape};
use crate::truth::Record;
use crate::workload::{self, Purpose, rounds};

/// What one rank did in one round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Round {
    /// The communicator's hash: 16 hexadecimal digits.
    pub(super) communicator: String,
    /// The rank.
    pub(super) rank: u32,
    /// Its host and process, once known.
    pub(super) host: Option<(String, u32)>,
    /// Whether the job is a training, and the round all of a training step.
    pub(super) is_training_step: bool,
    /// Number of the training step; `None` in a sweep and during warm-up.
    pub(super) iteration: Option<u32>,
    /// Whether its times are in the driver's table.
    pub(super) is_measured: bool,
    /// Start and end of computing.
    pub(super) compute: Option<Times>,
    /// The collectives, in order.
    pub(super) calls: Vec<Call>,
}

/// Start and end, in ns since 1970.
pub(super) type Times = (u64, u64);

/// One collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Call {
    /// Number on the communicator, from 0.
    pub(super) sequence: u64,
    /// The operation.
    pub(super) kind: Kind,
    /// Bytes as nccl-tests counts them.
    pub(super) bytes: u64,
    /// Start and end.
    pub(super) times: Times,
}

/// The ranks, each with its place in the workload.
pub(super) struct Rounds<'a> {
    job: &'a Job,
    communicator: Option<String>,
    hosts: BTreeMap<u32, (String, u32)>,
    ranks: BTreeMap<u32, Progress<'a>>,
}

/// A rank's place in the workload, and what it did in this round.
struct Progress<'a> {
    next: Box<dyn Iterator<Item = workload::Round> + 'a>,
    round: Option<workload::Round>,
    /// Number of the round's first collective.
    first: u64,
    compute: Option<Times>,
    calls: Vec<Call>,
}

impl<'a> Rounds<'a> {
    pub(super) fn new(job: &'a Job) -> Self {
        Self { job, communicator: None, hosts: BTreeMap::new(), ranks: BTreeMap::new() }
    }

    /// Takes a record; returns the round that it completes.
    pub(super) fn observe(&mut self, record: &Record) -> Option<Round> {
        match record {
            Record::Job(job) => {
                self.communicator = Some(job.comm_hash.trim_start_matches("0x").to_owned());
                None
            }
            Record::Rank(rank) => {
                self.hosts.insert(rank.rank, (rank.host.clone(), rank.pid));
                None
            }
            Record::Compute(compute) => {
                let times = (compute.start_ns, compute.end_ns);
                self.progress(compute.rank).compute = Some(times);
                None
            }
            Record::Call(call) => {
                let kind = self.job.workload.kind;
                let progress = self.progress(call.rank);
                let (planned, is_last) = progress.planned(call.sequence)?;
                let (bytes, times) = (planned.bytes, (call.start_ns, call.end_ns));
                progress.calls.push(Call { sequence: call.sequence, kind, bytes, times });
                if is_last { self.take(call.rank) } else { None }
            }
            _ => None,
        }
    }

    /// What ranks did in rounds that did not end.
    pub(super) fn rest(&mut self) -> Vec<Round> {
        let ranks: Vec<u32> = self.ranks.keys().copied().collect();
        let rest = ranks.into_iter().filter_map(|rank| self.take(rank));
        rest.filter(|round| round.compute.is_some() || !round.calls.is_empty()).collect()
    }

    fn progress(&mut self, rank: u32) -> &mut Progress<'a> {
        let Job { workload, check, .. } = self.job;
        self.ranks.entry(rank).or_insert_with(|| {
            let mut next = rounds(&workload.shape, *check);
            let round = next.next();
            Progress { next, round, first: 0, compute: None, calls: Vec::new() }
        })
    }

    /// The round of `rank` so far; the next one begins.
    fn take(&mut self, rank: u32) -> Option<Round> {
        let communicator = self.communicator.clone()?;
        let host = self.hosts.get(&rank).cloned();
        let is_training = matches!(self.job.workload.shape, Shape::Training { .. });
        let progress = self.ranks.get_mut(&rank)?;
        let (compute, calls) = (progress.compute.take(), std::mem::take(&mut progress.calls));
        let planned = progress.advance()?;
        Some(Round {
            communicator,
            rank,
            host,
            is_training_step: is_training && calls.len() == planned.calls.len(),
            iteration: planned.iteration,
            is_measured: planned.purpose == Purpose::Measured,
            compute,
            calls,
        })
    }
}

impl Progress<'_> {
    /// The workload's call for collective `sequence`, and whether it is its round's last. Rounds
    /// whose end was not heard of are passed over.
    fn planned(&mut self, sequence: u64) -> Option<(workload::Call, bool)> {
        loop {
            let calls = &self.round.as_ref()?.calls;
            let place = usize::try_from(sequence.checked_sub(self.first)?).ok()?;
            if let Some(call) = calls.get(place) {
                return Some((*call, place + 1 == calls.len()));
            }
            self.advance();
            self.calls.clear();
        }
    }

    /// The next round begins; returns the one before.
    fn advance(&mut self) -> Option<workload::Round> {
        let next = self.next.next();
        let round = std::mem::replace(&mut self.round, next)?;
        self.first += round.calls.len() as u64;
        Some(round)
    }
}

impl fmt::Debug for Rounds<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rounds").field("ranks", &self.ranks.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::Rounds;
    use crate::collective::{DataType, Kind, Operator};
    use crate::job::{IbSettings, Job, Shape, Transport, Workload};
    use crate::layout::Layout;
    use crate::release::Release;
    use crate::truth::{self, Record};

    fn job(shape: Shape) -> Job {
        Job {
            release: Release::V2_27_7,
            transport: Transport::Soft,
            channels: 1,
            workload: Workload {
                kind: Kind::AllReduce,
                data_type: DataType::Float32,
                operator: Operator::Sum,
                root: 0,
                shape,
            },
            check: false,
            seed: 1,
            faults: Vec::new(),
            ib: IbSettings {
                hca: None,
                gid_index: None,
                traffic_class: 0,
                queue_pairs: 1,
                timeout: 16,
                retries: 7,
                mtu: 1024,
                forced_mtu: None,
            },
            patience: Duration::from_secs(1),
            keeps_waiting: false,
            profiler: None,
            layout: Layout::default(),
        }
    }

    fn introduction() -> Record {
        Record::Job(truth::Job {
            schema: truth::SCHEMA.to_owned(),
            nccl_version: "2.27.7".to_owned(),
            transport: "soft".to_owned(),
            network: "IB".to_owned(),
            ranks: 2,
            channels: 1,
            store: "10.0.0.1:1".parse().unwrap(),
            unique_id: String::new(),
            magic: "0x1".to_owned(),
            comm_hash: "0x00000000000000ab".to_owned(),
            root: "10.0.0.1:2".parse().unwrap(),
        })
    }

    fn compute(rank: u32, iteration: Option<u32>) -> Record {
        Record::Compute(truth::Compute { rank, iteration, start_ns: 10, end_ns: 20 })
    }

    fn call(rank: u32, sequence: u64) -> Record {
        let (start_ns, end_ns) = (sequence * 100, sequence * 100 + 50);
        let (kernel_start_ns, wrong) = (None, None);
        Record::Call(truth::Call { sequence, rank, start_ns, kernel_start_ns, end_ns, wrong })
    }

    #[test]
    fn a_training_step_ends_with_its_last_bucket() {
        let shape = Shape::Training {
            buckets: vec![64, 32],
            warmup: 1,
            iterations: 2,
            compute: Duration::ZERO,
            jitter: Duration::ZERO,
        };
        let job = job(shape);
        let mut rounds = Rounds::new(&job);
        let records = [introduction(), compute(0, None), call(0, 0), compute(1, None), call(1, 0)];
        assert!(records.iter().all(|record| rounds.observe(record).is_none()));
        let warmup = rounds.observe(&call(0, 1)).unwrap();
        assert_eq!((warmup.communicator.as_str(), warmup.rank), ("00000000000000ab", 0));
        assert_eq!((warmup.iteration, warmup.is_measured), (None, false));
        assert_eq!(warmup.calls.iter().map(|call| call.bytes).collect::<Vec<_>>(), [64, 32]);
        rounds.observe(&compute(0, Some(0)));
        rounds.observe(&call(0, 2));
        let iteration = rounds.observe(&call(0, 3)).unwrap();
        assert_eq!(
            (iteration.iteration, iteration.is_measured, iteration.is_training_step),
            (Some(0), true, true)
        );
        assert_eq!((iteration.compute, iteration.calls[1].times), (Some((10, 20)), (300, 350)));
        // Rank 1 went away in its warm-up.
        let rest = rounds.rest();
        assert_eq!(rest.len(), 1);
        assert_eq!((rest[0].rank, rest[0].calls.len(), rest[0].is_training_step), (1, 1, false));
    }

    #[test]
    fn a_record_that_is_missing_costs_its_round_only() {
        let job = job(Shape::Sweep { sizes: vec![8, 16], warmup: 0, iterations: 2 });
        let mut rounds = Rounds::new(&job);
        rounds.observe(&introduction());
        rounds.observe(&call(0, 0));
        // Not 1, which ends the round.
        rounds.observe(&call(0, 2));
        let round = rounds.observe(&call(0, 3)).unwrap();
        assert_eq!(round.calls.iter().map(|call| call.sequence).collect::<Vec<_>>(), [2, 3]);
        rounds.observe(&call(0, 4));
        assert_eq!(rounds.observe(&call(0, 5)).unwrap().calls[0].bytes, 16);
    }

    #[test]
    fn a_sweep_has_collectives_and_no_iterations() {
        let job = job(Shape::Sweep { sizes: vec![8], warmup: 0, iterations: 2 });
        let mut rounds = Rounds::new(&job);
        rounds.observe(&introduction());
        assert!(rounds.observe(&call(0, 0)).is_none());
        let round = rounds.observe(&call(0, 1)).unwrap();
        assert!(!round.is_training_step && round.is_measured);
        assert_eq!((round.compute, round.calls.len()), (None, 2));
    }
}
