//! The time of a collective that each rank used by itself, in absolute figures.
//!
//! Naming a straggler compares ranks, which takes taps at several hosts. (Of loss, the part by ACKs and
//! clear-to-sends needs them, too, and is left out without them.) A tap at one host measures
//! only that host's ranks, but measures them whole: how long a rank took to send once it could, how
//! long to take data, and what loss, congestion or pause cost on the way to the next rank. As
//! shares of the time that was observed, and compared between hosts, they name the rank that the job
//! waits for.

use std::collections::BTreeMap;

use super::network::{self, Baseline};
use super::receiver::Refill;
use super::{Case, Cause, Straggler, lost_control, socket};
use crate::analysis::wait::edge::EdgeWaits;
use crate::model::time::Timestamp;

/// Time in a collective that one rank itself used; `None` where its own tap could not measure it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OwnTime {
    /// The rank, in the collective's communicator.
    pub rank: u32,
    /// From the end of the communicator's previous collective to the end of this one: what the other
    /// figures are shares of. For the first collective, its own length.
    pub observed_ns: u64,
    /// The part of its start wait before its first clear-to-send: its CPU had not called yet. All
    /// ranks compute in it, so only the excess over the other ranks is lateness.
    pub enqueue_ns: Option<u64>,
    /// The rest of its start wait: called, but the GPU had not sent yet. As `enqueue_ns`.
    pub compute_ns: Option<u64>,
    /// From data that it could accept to the buffer offered again, over the collective. All ranks
    /// need some time; only the excess is lateness.
    pub receiver_ns: Option<u64>,
    /// How long loss held up data on the way from it, how much later it began because an ACK was lost, and
    /// how long others waited for its clear-to-sends that were lost.
    pub loss_ns: Option<u64>,
    /// How much longer data from it took than as many bytes without CE marks and CNPs.
    pub congestion_ns: Option<u64>,
    /// How long pause kept it from sending.
    pub pause_ns: Option<u64>,
    /// How much longer data from it took over TCP than as many bytes from other ranks; 0 if that is not
    /// much.
    pub socket_ns: Option<u64>,
    /// How long connections of its host stopped where it stops them by coming late. Only a rank that
    /// sends over no connection of its own has this, and nothing else.
    pub sender_ns: Option<u64>,
}

impl OwnTime {
    /// The known figures by cause.
    pub fn by_cause(&self) -> impl Iterator<Item = (Cause, u64)> {
        [
            (Cause::Enqueue, self.enqueue_ns),
            (Cause::Compute, self.compute_ns),
            (Cause::Sender, self.sender_ns),
            (Cause::Receiver, self.receiver_ns),
            (Cause::Congestion, self.congestion_ns),
            (Cause::Loss, self.loss_ns),
            (Cause::Pause, self.pause_ns),
            (Cause::Socket, self.socket_ns),
        ]
        .into_iter()
        .filter_map(|(cause, known_ns)| Some((cause, known_ns?)))
    }
}

/// The own times of the ranks of a collective whose own tap saw them send, and of `hidden`, which
/// sends over no connection. `before` is the previous collective of the communicator; all that came before
/// had ended at `previous_end`.
#[must_use]
pub fn own_times(
    case: &Case<'_>,
    (previous_end, before): (Option<Timestamp>, Option<&Case<'_>>),
    baseline: &Baseline,
    refills: &BTreeMap<u32, Refill>,
    hidden: Option<&Straggler>,
) -> Vec<OwnTime> {
    let span = case.collective.span;
    let observed_ns = span.last.nanos_since(previous_end.unwrap_or(span.first));
    let mut edges: BTreeMap<u32, Vec<&EdgeWaits>> = BTreeMap::new();
    for edge in case.waits.edges.iter().filter(|edge| edge.is_at_sender) {
        let sender = case.job.connection(edge.connection).and_then(|one| one.sender);
        if let Some(rank) = sender {
            edges.entry(rank).or_default().push(edge);
        }
    }
    let lost_cts = lost_control::clear_to_sends(case);
    let lost_acks =
        before.map(|before| lost_control::last_acks(case, before, baseline)).unwrap_or_default();
    let own = |(rank, edges): (u32, Vec<&EdgeWaits>)| {
        let (enqueue_ns, compute_ns) = start(case, rank).unzip();
        // TCP hides its losses and marks.
        let over_rdma = || edges.iter().filter(|edge| !edge.is_on_tcp);
        let most = |of: &dyn Fn(&EdgeWaits) -> u64| over_rdma().map(|edge| of(edge)).max();
        OwnTime {
            rank,
            observed_ns,
            enqueue_ns,
            compute_ns,
            receiver_ns: refills.get(&rank).map(Refill::total_ns),
            loss_ns: most(&|edge| network::held_up_ns(case, baseline, edge)).map(|held_up_ns| {
                let of_ack_ns = lost_acks.get(&rank).copied().unwrap_or(0);
                let of_cts_ns = lost_cts.get(&rank).copied().unwrap_or(0);
                held_up_ns.max(of_cts_ns).saturating_add(of_ack_ns)
            }),
            congestion_ns: most(&|edge| baseline.excess_ns(case, edge).unwrap_or(0)),
            pause_ns: edges.iter().filter_map(|edge| edge.paused_ns).max(),
            socket_ns: edges.iter().filter_map(|edge| socket::excess_ns(case, edge)).max(),
            sender_ns: None,
        }
    };
    let hidden = hidden.map(|Straggler { rank, lag_ns, .. }| OwnTime {
        rank: *rank,
        observed_ns,
        sender_ns: Some(*lag_ns),
        ..OwnTime::default()
    });
    edges.into_iter().map(own).chain(hidden).collect()
}

/// The start wait of `rank`, before and after its first clear-to-send. Only in rings does the first
/// data of each rank wait for nobody.
fn start(case: &Case<'_>, rank: u32) -> Option<(u64, u64)> {
    case.collective.ring_order?;
    let waits = case.waits.of_rank(rank)?;
    let start_ns = waits.start_wait_ns?;
    let cts_wait_ns = waits.cts_wait_ns?;
    // The start wait begins when there is room, which may be long after the previous collective, where
    // the wait for the clear-to-send begins.
    let compute_ns = match waits.busy_ns {
        Some(busy_ns) => {
            let own_ns = busy_ns.saturating_sub(waits.start_paused_ns);
            own_ns.saturating_sub(cts_wait_ns).min(start_ns)
        }
        None => start_ns.saturating_sub(cts_wait_ns),
    };
    Some((start_ns.saturating_sub(compute_ns), compute_ns))
}
