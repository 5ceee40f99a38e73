//! A slow path over TCP (NET/Socket): data takes much longer on it than on the other connections of the
//! collective.
//!
//! All connections of a ring carry as many bytes, so their times can be compared, whatever they are: a
//! job whose connections all go over TCP is slow, but none of them stands out. Time in which the
//! receiver took no data does not count.

use super::neighbour::{Judged, confirmed};
use super::sign::{Sign, SignKind};
use super::{Case, Cause, Straggler};
use crate::analysis::collective::Collective;
use crate::analysis::wait::edge::EdgeWaits;
use crate::model::grade::Grade;
use crate::model::spread::lower_median;

/// A slow connection takes at least this many times as long as the median of the others: TCP shares a
/// path unevenly, and a busy host serves one connection after the other.
const TIMES_OTHERS: u64 = 2;

/// How much longer data took on `edge` than as many bytes on the connections of other ranks in the same
/// collective; 0 if that is not much. `None` if it is not on TCP, or there is nothing to compare with.
#[must_use]
pub fn excess_ns(case: &Case<'_>, edge: &EdgeWaits) -> Option<u64> {
    let usual_ns = usual_ns(case, edge)?;
    let is_much = edge.data_ns >= usual_ns.saturating_mul(TIMES_OTHERS);
    Some(if is_much { edge.data_ns.saturating_sub(usual_ns) } else { 0 })
}

/// The rank with a slow path over TCP in each collective, if it has one in neighbours of the same size as
/// well: small messages leave at once.
#[must_use]
pub fn slow_sockets<'a>(cases: impl Iterator<Item = Case<'a>>) -> Vec<Option<Straggler>> {
    let mut judged = Judged::new();
    let mut count = 0;
    for (at, case) in cases.enumerate() {
        count = at + 1;
        if case.waits.edges.iter().any(|edge| edge.is_on_tcp) {
            let Collective { communicator, bytes, .. } = *case.collective;
            judged.entry((communicator, bytes)).or_default().push((at, slowest(&case)));
        }
    }
    confirmed(&judged, count)
}

fn slowest(case: &Case<'_>) -> Option<Straggler> {
    let excess = |edge| Some((excess_ns(case, edge)?, edge));
    let edges = case.waits.edges.iter().filter_map(excess);
    let (lag_ns, edge) = edges.max_by_key(|(excess_ns, _)| *excess_ns)?;
    let connection = case.job.connection(edge.connection)?;
    let (sender, receiver) = connection.sender.zip(connection.receiver).filter(|_| lag_ns > 0)?;
    let (data_ns, usual_ns) = (edge.data_ns, usual_ns(case, edge)?);
    let kind = SignKind::OverTcp { sender, receiver, data_ns, others_ns: usual_ns };
    Some(Straggler {
        rank: sender,
        lag_ns,
        cause: Cause::Socket,
        connection: Some(edge.connection),
        // Packets do not show why TCP sent slowly.
        grade: Grade::Inferred,
        evidence: vec![Sign { kind, witness: Some(edge.first_witness) }],
    })
}

/// What the bytes of `edge` took on the connections of other ranks: the lower median.
fn usual_ns(case: &Case<'_>, edge: &EdgeWaits) -> Option<u64> {
    let sender = |edge: &EdgeWaits| case.job.connection(edge.connection)?.sender;
    let own = sender(edge).filter(|_| edge.is_on_tcp)?;
    let others = case.waits.edges.iter().filter(|other| sender(other).is_some_and(|it| it != own));
    // Chunks are rounded: connections may differ by a few bytes.
    let for_as_many = |other: &EdgeWaits| {
        let scaled_ns = u128::from(other.data_ns) * u128::from(edge.bytes);
        u64::try_from(scaled_ns.checked_div(other.bytes.into())?).ok()
    };
    lower_median(others.filter_map(for_as_many))
}
