//! A rank that takes data slowly: it offers room again late, in the whole collective.
//!
//! A receiver offers the room of a message again when its GPU has taken the message. So the time
//! from the end of a message to the clear-to-send for the same room, a window later, is the
//! receiver's own. The first window is left out: it may have come before the receiver's GPU did.
//! One collective says little; a slow receiver is one in the collectives before and after as well.

use std::collections::BTreeMap;

use super::words::duration;
use super::{Case, Cause, Sign, Straggler};
use crate::analysis::collective::Collective;
use crate::analysis::wait::CollectiveWaits;
use crate::analysis::wait::spread::{lower_median, median_deviation};
use crate::analysis::wait::view::{Message, View};
use crate::link::job::{CommunicatorId, Job, NetConnectionId};
use crate::model::grade::Grade;

/// Room is offered again that many times a collective before it is judged.
const REFILLS_WANTED: usize = 3;

/// Judged collectives before one, and behind it, that have a say.
const NEIGHBOURS: usize = 2;

/// Of the collectives that have a say, the rank must stand out in this share, and in so many.
const AGREEING: (usize, usize) = (3, 4);

/// A slow receiver needs longer than the middle one by at least this many median deviations.
const DEVIATIONS: u64 = 2;

/// How long a receiver took to offer room again.
#[derive(Clone, Copy, Debug)]
struct Refill {
    connection: NetConnectionId,
    /// The lower median over the messages.
    usual_ns: u64,
    /// How often in the collective one follows the other.
    rounds: u64,
}

/// What is said of one collective.
#[derive(Clone, Debug)]
enum Judgement {
    /// Too little was seen.
    None,
    /// Nobody stands out.
    Nobody,
    /// This rank does.
    Slow(Straggler),
}

/// The slow receiver of each collective.
#[must_use]
pub fn find(
    job: &Job,
    collectives: &[Collective],
    waits: &[CollectiveWaits],
) -> Vec<Option<Straggler>> {
    let mut found = vec![None; collectives.len()];
    let mut judged: BTreeMap<CommunicatorId, Vec<(usize, Option<Straggler>)>> = BTreeMap::new();
    for (at, (collective, waits)) in collectives.iter().zip(waits).enumerate() {
        let judgement = judge(&Case { job, collective, waits });
        let of_communicator = judged.entry(collective.communicator).or_default();
        match judgement {
            Judgement::None => {}
            Judgement::Nobody => of_communicator.push((at, None)),
            Judgement::Slow(straggler) => of_communicator.push((at, Some(straggler))),
        }
    }
    for of_communicator in judged.values() {
        for (place, (at, straggler)) in of_communicator.iter().enumerate() {
            let Some(straggler) = straggler else { continue };
            let from = place.saturating_sub(NEIGHBOURS);
            let around = of_communicator.iter().skip(from).take(place - from + NEIGHBOURS + 1);
            let is_same = |other: &&(usize, Option<Straggler>)| {
                other.1.as_ref().is_some_and(|other| other.rank == straggler.rank)
            };
            let (agreeing, of) = AGREEING;
            let (same, all) = (around.clone().filter(is_same).count(), around.count());
            if same >= agreeing && same * of >= all * agreeing {
                found[*at] = Some(straggler.clone());
            }
        }
    }
    found
}

/// The rank that took data most slowly, if it stands out.
fn judge(case: &Case<'_>) -> Judgement {
    let refills = refills(case);
    let slow = || slowest(case, &refills);
    if refills.len() < 2 {
        Judgement::None
    } else {
        slow().map_or(Judgement::Nobody, Judgement::Slow)
    }
}

fn slowest(case: &Case<'_>, refills: &BTreeMap<u32, Refill>) -> Option<Straggler> {
    let (rank, slowest) = refills.iter().max_by_key(|(_, refill)| refill.usual_ns)?;
    let others = || refills.iter().filter(|(other, _)| *other != rank);
    let others_ns = || others().map(|(_, refill)| refill.usual_ns);
    let middle_ns = lower_median(others_ns())?;
    let deviation_ns = median_deviation(others_ns())?;
    let over_ns = slowest.usual_ns.saturating_sub(middle_ns);
    // Half as long again, and more than the others differ among themselves.
    if over_ns < middle_ns / 2 || over_ns < deviation_ns.saturating_mul(DEVIATIONS) {
        return None;
    }
    let text = format!(
        "rank {rank} offered room again {} after the message before had arrived there; the other \
         ranks {} (medians over the collective)",
        duration(slowest.usual_ns),
        duration(middle_ns)
    );
    let at = case.waits.edges.iter().find(|edge| edge.connection == slowest.connection);
    Some(Straggler {
        rank: *rank,
        lag_ns: over_ns.saturating_mul(slowest.rounds),
        cause: Cause::Receiver,
        connection: Some(slowest.connection),
        grade: Grade::Inferred,
        evidence: vec![Sign { kind: "refill", text, witness: at.map(|edge| edge.first_witness) }],
    })
}

/// By receiver; of its channels the quickest: what slows a rank slows all of them.
fn refills(case: &Case<'_>) -> BTreeMap<u32, Refill> {
    let mut messages = Vec::new();
    for on in &case.collective.transfers {
        let Some(connection) = case.job.connections.get(on.connection.0 as usize) else { continue };
        let view = View::new(connection, on.places.clone());
        if let (Some(rank), Some(view)) = (connection.receiver, view) {
            messages.push((rank, on.connection, view.messages().collect::<Vec<_>>()));
        }
    }
    let window = messages.iter().map(|(.., messages)| window(messages)).max().unwrap_or(0);
    let mut refills: BTreeMap<u32, Refill> = BTreeMap::new();
    for (rank, connection, messages) in &messages {
        let later = messages.iter().skip(window);
        let waits = messages
            .iter()
            .zip(later)
            .filter_map(|(message, later)| Some(later.cts?.nanos_since(message.last)));
        if window == 0 || messages.len() < window + REFILLS_WANTED {
            continue;
        }
        let Some(usual_ns) = lower_median(waits) else { continue };
        let rounds = messages.len().checked_div(window).unwrap_or(0) as u64;
        let refill = Refill { connection: *connection, usual_ns, rounds };
        let known = refills.entry(*rank).or_insert(refill);
        if usual_ns < known.usual_ns {
            *known = refill;
        }
    }
    refills
}

/// Clear-to-sends that are outstanding before the first message has ended.
fn window(messages: &[Message]) -> usize {
    let Some(end) = messages.first().map(|message| message.last) else { return 0 };
    messages.iter().take_while(|message| message.cts.is_some_and(|cts| cts <= end)).count()
}
