//! The same rank keeps others waiting.

use std::collections::{BTreeMap, BTreeSet};

use crate::analysis::finding::claim::pace::PaceClaim;
use crate::analysis::finding::facts::Facts;
use crate::analysis::finding::kind::{Kind, Need};
use crate::analysis::finding::{Finding, Proof, Subject};
use crate::analysis::iteration::Iteration;
use crate::analysis::judged::JudgedCollective;
use crate::analysis::severity::Severity;
use crate::analysis::straggler::{Cause, Straggler};
use crate::link::job::{CommunicatorId, NetConnection};
use crate::model::grade::Grade;
use crate::model::time::Span;

/// Fewest collectives with the same late rank that rule out chance.
const REPEATED: usize = 3;
/// The same as a share of all training steps, or of all collectives if no steps are known.
const REPEATED_SHARE: f64 = 0.1;

/// Share of the training time at which a single late collective is reported.
const COSTLY_SHARE: f64 = 0.05;

/// Stragglers by cause.
pub const KIND: Kind = Kind {
    id: "straggler",
    about: "One rank keeps the others waiting, with one cause. enqueue: its CPU called NCCL late; \
            compute: its GPU was late or its host delayed the data; sender: CPU or GPU, unknown \
            which; receiver: it accepted data slowly; congestion, loss: its path was slow; pause: \
            pause frames stopped it; socket: its data went over TCP (NET/Socket) and took at least \
            twice as long as data of other ranks.",
    threshold: "A rank is the straggler of a collective if its lateness exceeds 5 % of the median \
                training step and 5 x the median absolute deviation. Half of that is enough if it \
                is late in two of the four surrounding training steps. Warning if one rank and \
                cause have at least 3 such collectives in 10 % of the training steps, or in 3 \
                steps in a row, or if the rank itself was late by 5 % of the training in total. \
                Otherwise info. (Our choice: every rank is late now and then.)",
    remedy: "Run the rank's work on another host: does the lateness follow the host or the rank?",
    needs: &[Need::Collectives],
    detect,
};

const ENQUEUE: &str = "Look at the rank's CPU: data loader, checkpoint, garbage collection, CPU quota \
                       (cgroup throttling), page cache, NUMA binding. py-spy or nsys on that rank.";
const COMPUTE: &str = "Look at the rank's GPU: nvidia-smi -q -d CLOCK,PERFORMANCE,TEMPERATURE \
                       (throttling, power cap), ECC row remaps, another process on it; then at uneven \
                       work (sequence length, experts, pipeline bubble).";
const RECEIVER: &str = "The rank accepts data slowly: GPU busy beside the collective (SM count, \
                        NCCL_MAX_CTAS), PCIe (nvidia-smi topo -m, outbound_pci_stalled_wr, ACS), GPU far \
                        from the NIC.";
const NETWORK: &str = "The network delayed this rank: see the finding about its path.";
const SOCKET: &str = "Its path over TCP is slow: the NIC of NCCL_SOCKET_IFNAME at both ends (link speed, \
                      errors, a management network), other traffic on it, retransmissions (ss -ti, \
                      nstat). RDMA does without it: see socket_fallback.";

#[derive(Default)]
struct Times<'a> {
    stragglers: Vec<&'a Straggler>,
    spans: Vec<Span>,
    iterations: BTreeSet<u32>,
}

fn detect(facts: &Facts<'_>) -> Vec<Finding> {
    let mut by_rank: BTreeMap<(CommunicatorId, u32, Cause), Times<'_>> = BTreeMap::new();
    let iterations = facts.iterations.iter().map(|judged| &judged.iteration);
    let numbers: BTreeMap<usize, u32> =
        iterations.flat_map(|one| one.collectives.iter().map(|at| (*at, one.number))).collect();
    for (at, JudgedCollective { collective, straggler, .. }) in facts.collectives.iter().enumerate()
    {
        let Some(straggler) = straggler else { continue };
        let key = (collective.communicator, straggler.rank, straggler.cause);
        let times = by_rank.entry(key).or_default();
        times.stragglers.push(straggler);
        times.spans.push(collective.span);
        times.iterations.extend(numbers.get(&at));
    }
    let mut found: Vec<(u64, Finding)> = by_rank
        .into_iter()
        .filter_map(|((communicator, rank, cause), times)| {
            finding(facts, communicator, rank, cause, &times)
        })
        .collect();
    found.sort_by_key(|(lag, _)| std::cmp::Reverse(*lag));
    found.into_iter().map(|(_, finding)| finding).collect()
}

fn finding(
    facts: &Facts<'_>,
    communicator: CommunicatorId,
    rank: u32,
    cause: Cause,
    times: &Times<'_>,
) -> Option<(u64, Finding)> {
    let worst = times.stragglers.iter().max_by_key(|straggler| straggler.lag_ns)?;
    let total = times.stragglers.iter().map(|one| one.lag_ns).fold(0_u64, u64::saturating_add);
    let connection = worst.connection.and_then(|id| facts.job()?.connection(id));
    let port =
        connection.and_then(NetConnection::addresses).map(|(sender, receiver)| match cause {
            Cause::Receiver => receiver,
            _ => sender,
        });
    let host = facts.communicator(communicator).and_then(|known| {
        let rank = known.ranks.iter().find(|known| known.rank == rank)?;
        rank.host.clone()
    });
    let claim = PaceClaim::Straggler {
        rank,
        host,
        collectives: times.stragglers.len() as u64,
        iterations: times.iterations.len() as u64,
        total_ns: total,
        most_ns: worst.lag_ns,
        cause,
    };
    // Loss and congestion have findings of their own.
    let is_costly = cause.is_own() && is_costly(facts, communicator, total);
    let is_bad = is_costly || is_repeated(facts, communicator, times);
    let severity = if is_bad { Severity::Warning } else { Severity::Info };
    let span = Span {
        first: times.spans.iter().map(|span| span.first).min()?,
        last: times.spans.iter().map(|span| span.last).max()?,
    };
    let iteration = times.iterations.first().copied().filter(|_| times.iterations.len() == 1);
    let mut finding = KIND
        .finding(severity, claim)
        .caused_by(cause.name())
        .about(Subject {
            communicator: Some(communicator),
            rank: Some(rank),
            flow: None,
            port,
            iteration,
        })
        .over(Some(span));
    finding.grade = times.stragglers.iter().map(|one| one.grade).min().unwrap_or(Grade::Unknown);
    finding.remedy = remedy(cause);
    finding.evidence = worst.evidence.iter().map(Proof::straggler).collect();
    Some((total, finding))
}

/// Whether a rank is late so often, or so many steps in a row, that it is not chance.
fn is_repeated(facts: &Facts<'_>, communicator: CommunicatorId, times: &Times<'_>) -> bool {
    if times.stragglers.len() < REPEATED {
        return false;
    }
    let of_job = facts.collectives.iter().filter(|one| one.collective.communicator == communicator);
    let (late, all) = match times.iterations.len() {
        0 => (times.stragglers.len(), of_job.count()),
        late => (late, iterations_of(facts, communicator).count()),
    };
    let numbers: Vec<u32> = times.iterations.iter().copied().collect();
    let is_in_a_row = |run: &[u32]| run.windows(2).all(|pair| pair[1] == pair[0] + 1);
    late as f64 >= REPEATED_SHARE * all as f64 || numbers.windows(REPEATED).any(is_in_a_row)
}

/// Whether the others waited for a large share of the training, even if only once.
fn is_costly(facts: &Facts<'_>, communicator: CommunicatorId, total_ns: u64) -> bool {
    let lengths =
        iterations_of(facts, communicator).map(|one| one.span.last.nanos_since(one.span.first));
    let training_ns: u64 = lengths.sum();
    training_ns > 0 && total_ns as f64 >= COSTLY_SHARE * training_ns as f64
}

/// The training steps with a collective of this communicator.
fn iterations_of<'a>(
    facts: &'a Facts<'_>,
    communicator: CommunicatorId,
) -> impl Iterator<Item = &'a Iteration> {
    let is_of = move |place: &usize| {
        facts.collectives.get(*place).is_some_and(|one| one.collective.communicator == communicator)
    };
    facts
        .iterations
        .iter()
        .map(|judged| &judged.iteration)
        .filter(move |one| one.collectives.iter().any(is_of))
}

const fn remedy(cause: Cause) -> &'static str {
    match cause {
        Cause::Enqueue => ENQUEUE,
        Cause::Compute => COMPUTE,
        Cause::Receiver => RECEIVER,
        Cause::Congestion | Cause::Loss | Cause::Pause => NETWORK,
        Cause::Socket => SOCKET,
        Cause::Sender | Cause::Unknown => KIND.remedy,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::collective::Collective;
    use crate::analysis::finding::claim::Claim;
    use crate::analysis::finding::observation::Observation;
    use crate::analysis::finding::settings::Settings;
    use crate::analysis::roll_call::Rolls;
    use crate::analysis::state::State;
    use crate::analysis::straggler::sign::{Sign, SignKind};
    use crate::analysis::wait::CollectiveWaits;
    use crate::flow::tracker::{FlowConfig, FlowTracker};
    use crate::model::nccl::{Algorithm, CollectiveKind, Protocol};
    use crate::model::time::Timestamp;

    fn collective(at: u64) -> Collective {
        let time = |ms: u64| Timestamp::from_nanos(ms * 1_000_000);
        Collective {
            communicator: CommunicatorId(0),
            sequence: at,
            is_counted_from_init: true,
            kind: CollectiveKind::AllReduce,
            alternatives: Vec::new(),
            algorithm: Algorithm::Ring,
            protocol: Protocol::Simple,
            bytes: Some(1 << 20),
            is_estimated: false,
            ring_order: None,
            channels: 1,
            messages: 6,
            span: Span { first: time(100 * at), last: time(100 * at + 50) },
            parts: Vec::new(),
            ranks: Vec::new(),
            transfers: Vec::new(),
            grade: Grade::Proven,
            evidence: Vec::new(),
        }
    }

    fn sign(rank: u32, lag_ns: u64) -> SignKind {
        SignKind::StartWait { rank, own_ns: lag_ns, others_ns: 0 }
    }

    fn straggler(rank: u32, cause: Cause, lag_ms: u64) -> Option<Straggler> {
        let lag_ns = lag_ms * 1_000_000;
        Some(Straggler {
            rank,
            lag_ns,
            cause,
            connection: None,
            grade: Grade::Inferred,
            evidence: vec![Sign { kind: sign(rank, lag_ns), witness: None }],
        })
    }

    fn findings(stragglers: &[Option<Straggler>]) -> Vec<Finding> {
        let judged = |(collective, straggler): (Collective, &Option<Straggler>)| JudgedCollective {
            collective,
            waits: CollectiveWaits::default(),
            own_times: Vec::new(),
            room: BTreeMap::new(),
            contributions: Vec::new(),
            straggler: straggler.clone(),
            ranks: Vec::new(),
        };
        let collectives: Vec<_> = (0..).map(collective).zip(stragglers).map(judged).collect();
        let config = FlowConfig { flow_capacity: 1, line_rate_bps: None, keeps_details: false };
        let rolls = Rolls::default();
        let facts = Facts {
            rolls: &rolls,
            state: &State::new(FlowTracker::new(config)),
            flows: &[],
            collectives: &collectives,
            iterations: &[],
            settings: &Settings::default(),
        };
        detect(&facts)
    }

    #[test]
    fn one_finding_a_rank_and_cause_the_costliest_first() {
        let compute = |lag| straggler(2, Cause::Compute, lag);
        let found = findings(&[
            compute(20),
            None,
            straggler(1, Cause::Receiver, 9),
            compute(30),
            compute(25),
            straggler(2, Cause::Enqueue, 5),
        ]);
        let stragglers: Vec<_> = found
            .iter()
            .map(|finding| (finding.subject.rank, finding.cause, finding.severity))
            .collect();
        assert_eq!(
            stragglers,
            [
                (Some(2), Some("compute"), Severity::Warning),
                (Some(1), Some("receiver"), Severity::Info),
                (Some(2), Some("enqueue"), Severity::Info),
            ]
        );
        let claim = PaceClaim::Straggler {
            rank: 2,
            host: None,
            collectives: 3,
            iterations: 0,
            total_ns: 75_000_000,
            most_ns: 30_000_000,
            cause: Cause::Compute,
        };
        assert_eq!(found[0].claim, Claim::Pace(claim));
        let evidence = &found[0].evidence[0].observation;
        assert_eq!(evidence, &Observation::Straggler(sign(2, 30_000_000)));
        assert!(found[0].remedy.contains("GPU") && found[1].remedy.contains("PCIe"));
    }

    #[test]
    fn nobody_late_is_nothing_to_tell() {
        assert_eq!(findings(&[None, None]), []);
    }
}
