//! What railscope found, compared with what the ranks recorded.

use std::collections::{BTreeMap, BTreeSet};

use super::job;
use railscope_core::report::Report;
use railscope_core::report::iterations::IterationReport;
use railscope_drive::truth::{FaultRecord, LinkRole, Record};

/// What the ranks recorded.
#[derive(Debug, Default)]
pub(super) struct Truth {
    ranks: BTreeSet<u32>,
    /// Queue pairs that carry data: number, and number of the other end.
    queue_pairs: BTreeSet<(u32, u32)>,
    /// When the first rank finished computing and data was sent, by training step.
    begins: BTreeMap<u32, u64>,
    faults: Vec<FaultRecord>,
}

impl Truth {
    pub(super) fn add(&mut self, record: &Record) {
        match record {
            Record::Rank(rank) => {
                self.ranks.insert(rank.rank);
            }
            Record::Link(link) if link.role == LinkRole::Sender => {
                let pairs = link.qpns.iter().copied().zip(link.peer_qpns.iter().copied());
                self.queue_pairs.extend(pairs);
            }
            Record::Compute(compute) => {
                if let Some(iteration) = compute.iteration {
                    let begin = self.begins.entry(iteration).or_insert(u64::MAX);
                    *begin = compute.end_ns.min(*begin);
                }
            }
            Record::Fault(fault) if !self.faults.contains(fault) => {
                self.faults.push(fault.clone());
            }
            _ => {}
        }
    }

    /// The last training step that began before `ns`.
    fn iteration_at(&self, ns: u64) -> Option<u32> {
        let begun = self.begins.iter().filter(|(_, begin)| **begin <= ns);
        begun.max_by_key(|(_, begin)| **begin).map(|(iteration, _)| *iteration)
    }

    fn fault(&self, kind: &str, iteration: u32) -> Option<&FaultRecord> {
        let is_then = |fault: &&FaultRecord| {
            fault.kind == kind
                && fault.first_iteration.is_none_or(|first| first <= iteration)
                && fault.last_iteration.is_none_or(|last| iteration <= last)
        };
        self.faults.iter().find(is_then)
    }
}

/// How many were found, and how many there are.
#[derive(Default)]
struct Score {
    found: usize,
    of: usize,
}

impl Score {
    fn count(&mut self, is_found: bool) {
        self.of += 1;
        self.found += usize::from(is_found);
    }
}

/// The comparison in a sentence.
pub(super) fn compare(report: &Report, truth: &Truth) -> String {
    let ranks = report.communicators.iter().flat_map(|one| &one.ranks);
    let ranks: BTreeSet<u32> = ranks.map(|rank| rank.rank).collect();
    let connections = report.communicators.iter().flat_map(|one| &one.connections);
    let pairs = connections.flat_map(|connection| &connection.queue_pairs);
    let pairs: BTreeSet<(u32, u32)> =
        pairs.filter_map(|pair| Some((pair.src_qpn?, pair.dst_qpn))).collect();

    let origin = report.capture.origin_ns.as_nanos();
    let found: BTreeMap<u32, &IterationReport> = report
        .iterations
        .iter()
        .filter_map(|one| {
            Some((truth.iteration_at(origin.saturating_add_signed(one.start_ns))?, one))
        })
        .collect();
    let (mut late, mut marked) = (Score::default(), Score::default());
    let (mut accused, mut unmarked) = (0, 0);
    for number in truth.begins.keys() {
        let one = found.get(number);
        let named = one.and_then(|one| one.straggler.as_ref()).map(|late| late.rank);
        match truth.fault("straggler", *number).and_then(|fault| fault.rank) {
            Some(rank) => late.count(named == Some(rank)),
            None => accused += usize::from(named.is_some()),
        }
        let has_marks = one.and_then(|one| one.ce_packets).is_some_and(|packets| packets > 0);
        match truth.fault("mark_ce", *number) {
            Some(_) => marked.count(has_marks),
            None => unmarked += usize::from(has_marks),
        }
    }
    format!(
        "Compared with what the ranks recorded (truth.jsonl): railscope identified {} of {} ranks and \
         {} of {} queue pairs, and found {} of {} training steps; rank {} is the straggler in {} of \
         the {} steps that it delayed, and {} of the other steps have a straggler; CE marks are \
         reported in {} of the {} marked steps, and in {} of the others.",
        ranks.intersection(&truth.ranks).count(),
        truth.ranks.len(),
        pairs.intersection(&truth.queue_pairs).count(),
        truth.queue_pairs.len(),
        found.len(),
        truth.begins.len(),
        job::LATE_RANK,
        late.found,
        late.of,
        accused,
        marked.found,
        marked.of,
        unmarked,
    )
}
