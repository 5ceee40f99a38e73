//! Jobs as a list of calls: each takes some time, with compute between them.

use railscope_core::analysis::collective::Collective;
use railscope_core::analysis::iteration::{self, Iteration};
use railscope_core::link::job::{Communicator, CommunicatorId, Identity, Job, Rank, Transport};
use railscope_core::model::grade::Grade;
use railscope_core::model::nccl::{Algorithm, CollectiveKind, Protocol};
use railscope_core::model::time::{Span, Timestamp};

pub const MS: u64 = 1_000_000;

/// A job being written.
pub struct Script {
    job: Job,
    collectives: Vec<Collective>,
    pub now: u64,
    is_from_init: bool,
}

/// A call: kind and bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Called(pub CollectiveKind, pub Option<u64>);

pub fn reduced(bytes: u64) -> Called {
    Called(CollectiveKind::AllReduce, Some(bytes))
}

/// A collective that could not be decoded.
pub const UNREAD: Called = Called(CollectiveKind::Unknown, None);

impl Script {
    /// One job with `communicators` communicators of the same ranks.
    pub fn new(communicators: u32) -> Self {
        let mut job = Job::default();
        for number in 0..communicators {
            let mut rank = Rank::new(0);
            rank.address = Some([10, 0, 0, 1].into());
            rank.pid = Some(1);
            job.communicators.push(communicator(number, rank));
        }
        Self { job, collectives: Vec::new(), now: 1000 * MS, is_from_init: true }
    }

    /// The first calls were not captured.
    pub fn joined_late(mut self) -> Self {
        self.is_from_init = false;
        self
    }

    pub fn compute(&mut self, nanos: u64) {
        self.now += nanos;
    }

    /// A call on communicator 0 that takes 10 ms.
    pub fn call(&mut self, called: Called) {
        self.call_on(0, called, 10 * MS);
    }

    pub fn call_on(&mut self, communicator: u32, Called(kind, bytes): Called, nanos: u64) {
        let id = CommunicatorId(communicator);
        let before = self.collectives.iter().filter(|one| one.communicator == id).count();
        let first = Timestamp::from_nanos(self.now);
        self.now += nanos;
        self.collectives.push(Collective {
            communicator: id,
            sequence: before as u64,
            is_counted_from_init: self.is_from_init,
            kind,
            alternatives: Vec::new(),
            algorithm: Algorithm::Ring,
            protocol: Protocol::Simple,
            bytes,
            is_estimated: false,
            channels: 1,
            messages: 12,
            span: Span { first, last: Timestamp::from_nanos(self.now - 1) },
            parts: Vec::new(),
            ring_order: None,
            ranks: Vec::new(),
            transfers: Vec::new(),
            grade: Grade::Inferred,
            evidence: Vec::new(),
        });
    }

    pub fn collectives(&self) -> &[Collective] {
        &self.collectives
    }

    pub fn iterations(&self) -> Vec<Iteration> {
        iteration::iterations(&self.job, &self.collectives)
    }

    /// Index of the first collective of each training step, and one past its last.
    pub fn found(&self) -> Vec<(usize, usize)> {
        let iterations = self.iterations();
        let ends = |one: &Iteration| (one.collectives[0], one.collectives.last().unwrap() + 1);
        iterations.iter().map(ends).collect()
    }
}

fn communicator(number: u32, rank: Rank) -> Communicator {
    Communicator {
        identity: Identity::Inferred(number),
        log_hash: None,
        nranks: Some(4),
        release: None,
        releases: None,
        root: None,
        parent: None,
        ranks: vec![rank],
        channels: Vec::new(),
        transport: Transport::Ib,
        bootstrap: None,
        evidence: Vec::new(),
        grade: Grade::Proven,
    }
}
