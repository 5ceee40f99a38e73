//! Analyses of a run come every now and then and overlap: whenever they come, and however much of the
//! past they still have, every training step, collective and packet counts once.

use std::collections::BTreeMap;

use proptest::prelude::*;
use railscope_core::analysis::collective::Collective;
use railscope_core::analysis::iteration::Iteration;
use railscope_core::analysis::iteration::figures::Figures;
use railscope_core::analysis::iteration::pace::Pace;
use railscope_core::analysis::judged::{JudgedCollective, JudgedIteration};
use railscope_core::analysis::ledger::Ending;
use railscope_core::analysis::straggler::own_time::OwnTime;
use railscope_core::analysis::straggler::{Cause, Straggler};
use railscope_core::analysis::understanding::Understanding;
use railscope_core::analysis::wait::CollectiveWaits;
use railscope_core::flow::tracker::FlowConfig;
use railscope_core::link::job::{Communicator, CommunicatorId, Identity, Job, Transport};
use railscope_core::metrics::Settings;
use railscope_core::metrics::accumulator::Accumulator;
use railscope_core::metrics::point::{Point, Value};
use railscope_core::model::frame::Frame;
use railscope_core::model::grade::Grade;
use railscope_core::model::nccl::{Algorithm, CollectiveKind, Protocol};
use railscope_core::model::tap::{LinkType, TapId};
use railscope_core::model::time::{Span, Timestamp};
use railscope_core::pipeline::{Pipeline, PipelineConfig};

use crate::support::frame::FrameBuilder;
use crate::support::ip::Ipv4;
use crate::support::roce::Roce;
use crate::support::tap;

const CONFIG: PipelineConfig = PipelineConfig {
    flow: FlowConfig { flow_capacity: 64, line_rate_bps: None, keeps_details: false },
    message_capacity: None,
};

/// An RC WRITE of one packet.
const WRITE_ONLY: u8 = 0x0a;

/// A made-up run: training steps one after the other, a collective in each, and flows, which may use
/// a QPN again. Times are nanoseconds from `start`.
#[derive(Clone, Debug)]
struct Run {
    start: Timestamp,
    /// Lengths in nanoseconds.
    iterations: Vec<u64>,
    flows: Vec<MadeUpFlow>,
}

#[derive(Clone, Debug)]
struct MadeUpFlow {
    qpn: u32,
    start: u64,
    end: u64,
    packets: u64,
}

impl MadeUpFlow {
    /// Times and bytes of its packets, evenly spread.
    fn packets(&self) -> impl Iterator<Item = (u64, Vec<u8>)> + '_ {
        (0..self.packets).map(|at| {
            let past = (self.end - self.start) * at / self.packets;
            let ecn = if at % 3 == 0 { 0b11 } else { 0b10 };
            let identification = (u64::from(self.qpn) * 1000 + at + self.start * 7) as u16;
            let ip = Ipv4 { tos: ecn, identification, ..Ipv4::default() };
            let packet = Roce { dest_qpn: self.qpn, psn: at as u32, ..Roce::new(WRITE_ONLY, 64) };
            let built = FrameBuilder::ethernet().ipv4(&ip).udp(49_152, 4791).roce(&packet);
            (self.start + past, built.finish().bytes)
        })
    }
}

/// The packets of a run on their way into a pipeline.
struct Tape<'a> {
    run: &'a Run,
    /// The latest last.
    left: Vec<(u64, Vec<u8>)>,
    handled: u64,
    pipeline: Pipeline,
}

impl<'a> Tape<'a> {
    fn new(run: &'a Run) -> Self {
        let mut left: Vec<_> = run.flows.iter().flat_map(MadeUpFlow::packets).collect();
        left.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
        let mut pipeline = Pipeline::new(CONFIG);
        pipeline.add_tap(tap::ethernet("wire"));
        Self { run, left, handled: 0, pipeline }
    }

    /// What is known at `time` of what began at `since` or later.
    fn understand(&mut self, since: u64, time: u64) -> Understanding {
        while let Some((at, bytes)) = self.left.pop_if(|(at, _)| *at <= time) {
            self.handled += 1;
            self.pipeline.handle_frame(&Frame {
                tap: TapId(0),
                number: self.handled,
                time: self.run.start.plus_nanos(at),
                wire_len: bytes.len() as u32,
                bytes: &bytes,
                link_type: LinkType::Ethernet,
                direction: None,
            });
        }
        let mut understanding = self.pipeline.clone().understand();
        self.run.judge(&mut understanding, since, time);
        understanding
    }
}

impl Run {
    /// Starts of the training steps, and the end of the last.
    fn starts(&self) -> Vec<u64> {
        let ends = self.iterations.iter().scan(0, |at, length| {
            *at += *length;
            Some(*at)
        });
        std::iter::once(0).chain(ends).collect()
    }

    fn end(&self) -> u64 {
        let flows = self.flows.iter().map(|flow| flow.end).max().unwrap_or(0);
        flows.max(*self.starts().last().unwrap())
    }

    /// Adds the training steps that have begun by `time`, of those from `since` on.
    fn judge(&self, understanding: &mut Understanding, since: u64, time: u64) {
        understanding.state.job = Some(job());
        let starts = self.starts();
        let begun = starts.windows(2).enumerate().filter(|(_, span)| span[0] <= time);
        for (at, span) in begun.filter(|(_, span)| span[0] >= since) {
            let number = understanding.iterations.len();
            // The last one ends with what was seen last.
            let length = span[1].min(time) - span[0];
            let first = self.start.plus_nanos(span[0]);
            let whole = Span { first, last: first.plus_nanos(length) };
            let half = Span { first, last: first.plus_nanos(length - length / 2) };
            understanding.iterations.push(iteration(number, at, whole));
            understanding.collectives.push(collective(at, half));
        }
    }
}

fn job() -> Job {
    let communicator = Communicator {
        identity: Identity::CommHash(0xc),
        log_hash: None,
        nranks: Some(2),
        release: None,
        releases: None,
        root: None,
        parent: None,
        ranks: Vec::new(),
        channels: Vec::new(),
        transport: Transport::Ib,
        bootstrap: None,
        evidence: Vec::new(),
        grade: Grade::Proven,
    };
    Job { communicators: vec![communicator], ..Job::default() }
}

fn straggler(rank: u32, lag_ns: u64) -> Straggler {
    Straggler {
        rank,
        lag_ns,
        cause: if rank == 0 { Cause::Compute } else { Cause::Loss },
        connection: None,
        grade: Grade::Proven,
        evidence: Vec::new(),
    }
}

fn iteration(number: usize, at: usize, span: Span) -> JudgedIteration {
    let length = span.last.nanos_since(span.first);
    let late = (at % 4 == 1).then(|| straggler(at as u32 % 2, length / 3));
    JudgedIteration {
        iteration: Iteration {
            number: number as u32,
            label: None,
            communicator: CommunicatorId(0),
            span,
            collectives: vec![number],
            communication_ns: length / 2,
            is_whole: !at.is_multiple_of(3),
            grade: Grade::Inferred,
        },
        figures: Figures {
            bytes: Some(length * 10),
            peak_bps: Some(length * 80),
            packets: length,
            ce_packets: at.is_multiple_of(2).then_some(length / 9),
            cnps: Some(length / 11),
            retransmitted_packets: Some(at as u64),
            paused_ns: None,
        },
        pace: Pace::default(),
        straggler: late.map(|late| (late, number)),
        contributions: Vec::new(),
        costs: Vec::new(),
    }
}

fn collective(at: usize, span: Span) -> JudgedCollective {
    let is_even = at.is_multiple_of(2);
    let lag_ns = span.last.nanos_since(span.first);
    JudgedCollective {
        collective: Collective {
            communicator: CommunicatorId(0),
            sequence: at as u64,
            is_counted_from_init: true,
            kind: if is_even { CollectiveKind::AllReduce } else { CollectiveKind::AllGather },
            alternatives: Vec::new(),
            algorithm: Algorithm::Ring,
            protocol: Protocol::Simple,
            bytes: Some(1 << 20),
            is_estimated: false,
            ring_order: None,
            channels: 1,
            messages: 2,
            span,
            parts: Vec::new(),
            ranks: Vec::new(),
            transfers: Vec::new(),
            grade: Grade::Proven,
            evidence: Vec::new(),
        },
        waits: CollectiveWaits::default(),
        own_times: vec![OwnTime {
            rank: at as u32 % 2,
            enqueue_ns: Some(lag_ns / 2),
            compute_ns: Some(lag_ns),
            ..OwnTime::default()
        }],
        room: BTreeMap::new(),
        contributions: Vec::new(),
        straggler: (at % 4 == 1).then(|| straggler(at as u32 % 2, lag_ns)),
        ranks: Vec::new(),
    }
}

fn settings() -> Settings {
    Settings { ranks: true, peers: true, channels: true, ports: None }
}

/// All series with their values.
pub fn totals(points: Vec<Point>) -> Vec<(String, Value)> {
    let name = |point: &Point| format!("{} {:?}", point.metric.name, point.attributes);
    points.into_iter().map(|point| (name(&point), point.value)).collect()
}

fn flows() -> impl Strategy<Value = Vec<MadeUpFlow>> {
    let flow = (0..3_u32, 0..2_000_u64, 1..3_000_u64, 1..30_u64);
    prop::collection::vec(flow, 0..6).prop_map(|flows| {
        let mut next = [0; 3];
        let mut all = Vec::new();
        for (qpn, rest, length, packets) in flows {
            // A QPN is used again when its last use is over.
            let start = next[qpn as usize] + rest;
            next[qpn as usize] = start + length + 1;
            all.push(MadeUpFlow { qpn: 0x100 + qpn, start, end: start + length, packets });
        }
        all
    })
}

proptest! {
    #[test]
    fn every_way_of_cutting_ends_in_the_same_totals(
        iterations in prop::collection::vec(1..1_000_u64, 1..12),
        flows in flows(),
        mut cuts in prop::collection::vec((0.0..1.0_f64, 0.0..=1.0_f64), 0..10),
    ) {
        let run = Run { start: Timestamp::from_nanos(1 << 60), iterations, flows };
        let end = run.end();
        let mut whole = Accumulator::new(settings(), Timestamp::EPOCH);
        whole.observe(&Tape::new(&run).understand(0, end), Ending::Closed);
        let mut looks: Vec<(u64, f64)> =
            cuts.drain(..).map(|(at, kept)| ((at * end as f64) as u64, kept)).collect();
        looks.sort_by_key(|(at, _)| *at);
        let mut tape = Tape::new(&run);
        let mut cut = Accumulator::new(settings(), Timestamp::EPOCH);
        let mut unsettled = 0;
        for (time, kept) in looks {
            // What was announced may be gone; what may still grow is not.
            let since = (unsettled as f64 * kept) as u64;
            cut.observe(&tape.understand(since, time), Ending::Open);
            unsettled = run.starts().into_iter().rfind(|start| *start <= time).unwrap().min(time);
            unsettled = unsettled.min(*run.starts().iter().rev().nth(1).unwrap());
        }
        cut.observe(&tape.understand(unsettled, end), Ending::Closed);
        let points = cut.points(Timestamp::EPOCH);
        let sum = |name: &str| -> u64 {
            let of_name = points.iter().filter(|point| point.metric.name == name);
            of_name.map(|point| match &point.value {
                Value::Number(number) => *number,
                Value::Distribution(values) => values.sum,
            }).sum()
        };
        let all: u64 = run.iterations.iter().sum();
        prop_assert_eq!(sum("nccl.training_step.io"), all * 10);
        let complete = run.iterations.iter().enumerate().filter(|(at, _)| at % 3 > 0);
        let complete: u64 = complete.map(|(_, length)| length).sum();
        prop_assert_eq!(sum("nccl.training_step.duration"), complete);
        prop_assert_eq!(sum("nccl.collective.io"), run.iterations.len() as u64 * (1 << 20));
        // Once sent, once received.
        let packets: u64 = run.flows.iter().map(|flow| flow.packets).sum();
        prop_assert_eq!(sum("rdma.flow.packets"), 2 * packets);
        prop_assert_eq!(totals(points), totals(whole.points(Timestamp::EPOCH)));
    }
}

#[test]
fn a_pipeline_after_another_counts_on_top() {
    let run = Run {
        start: Timestamp::from_nanos(1 << 60),
        iterations: vec![100, 100],
        flows: vec![MadeUpFlow { qpn: 1, start: 0, end: 200, packets: 100 }],
    };
    let later = Run { start: run.start.plus_nanos(1000), ..run.clone() };
    let [first, second] = [run, later].map(|run| Tape::new(&run).understand(0, 200));
    let mut all = Accumulator::new(Settings::default(), Timestamp::EPOCH);
    let of = |all: &Accumulator, name: &str| {
        let points = all.points(Timestamp::EPOCH);
        let point = points.into_iter().find(|point| point.metric.name == name);
        match point.map(|point| point.value) {
            Some(Value::Number(number)) => number,
            Some(Value::Distribution(values)) => values.count(),
            None => 0,
        }
    };
    all.observe(&first, Ending::Closed);
    all.observe(&first, Ending::Closed);
    assert_eq!(of(&all, "rdma.flow.packets"), 100);
    assert_eq!(of(&all, "nccl.training_step.duration"), 1);
    assert_eq!(of(&all, "nccl.collective.duration"), 1, "of each kind");
    all.observe(&second, Ending::Closed);
    assert_eq!(of(&all, "rdma.flow.packets"), 200);
    assert_eq!(of(&all, "nccl.training_step.duration"), 2);
    assert_eq!(of(&all, "nccl.training_step.incomplete"), 2);
}
