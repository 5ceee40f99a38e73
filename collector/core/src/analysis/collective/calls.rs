//! Calls from NCCL's logs, matched with the collectives found: they decide kind and bytes.

use super::slicing::{LL_LINE_DATA, LL128_UNIT_DATA};
use super::thresholds::{OFFSETS, ONE_UNFITTING_IN};
use super::{Collective, Part};
use crate::link::evidence::{Evidence, EvidenceKind};
use crate::link::job::{CommunicatorId, Job};
use crate::model::grade::Grade;
use crate::model::nccl::{CollectiveKind, Protocol};
use crate::model::witness::Witness;

/// A call that all ranks made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// What was called.
    pub kind: CollectiveKind,
    /// Bytes as nccl-tests counts them; `None` if ranks send different sizes.
    pub bytes: Option<u64>,
    /// The line of one rank.
    pub witness: Witness,
}

/// The captured size of a collective.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// Bytes, with the padding of the protocol.
    pub bytes: Option<u64>,
    /// Channels that carry them.
    pub channels: usize,
    /// Protocol on the wire: it determines the padding.
    pub protocol: Protocol,
}

impl Call {
    /// Whether a call of this size appears as `size` on the wire: each chunk is padded by less than
    /// a line.
    #[must_use]
    pub fn has_size(&self, size: Size, nranks: usize) -> bool {
        let line = match size.protocol {
            Protocol::Ll => LL_LINE_DATA,
            Protocol::Ll128 => LL128_UNIT_DATA,
            Protocol::Simple | Protocol::Unknown => 0,
        };
        let padding = size.channels as u64 * nranks as u64 * line;
        size.bytes.zip(self.bytes).is_none_or(|(seen, called)| {
            seen.checked_sub(called).is_some_and(|more| more <= padding)
        })
    }
}

/// The calls of a communicator.
#[derive(Clone, Debug, Default)]
pub struct Calls {
    /// Collectives in order.
    pub collectives: Vec<Call>,
    /// Groups of sends and receives in order.
    pub point_to_point: Vec<Call>,
}

impl Calls {
    /// The calls on `communicator`, from the log of the rank with most of them.
    #[must_use]
    pub fn new(job: &Job, communicator: CommunicatorId, nranks: usize) -> Self {
        let own = || job.calls.iter().filter(|call| call.communicator == communicator);
        let mut counts = std::collections::BTreeMap::<u32, usize>::new();
        for call in own() {
            *counts.entry(call.rank).or_default() += 1;
        }
        let most = counts.iter().max_by_key(|(rank, count)| (**count, std::cmp::Reverse(**rank)));
        let Some((&rank, _)) = most else { return Self::default() };
        let calls: Vec<_> = own().filter(|call| call.rank == rank).collect();
        let mut found = Self::default();
        let is_transfer = |kind| kind == CollectiveKind::SendRecv;
        // Sends and receives of one group have one number.
        for group in calls
            .chunk_by(|a, b| is_transfer(a.kind) && is_transfer(b.kind) && a.number == b.number)
        {
            let Some(first) = group.first() else { continue };
            let witness = first.witness;
            if is_transfer(first.kind) {
                let mut peers: Vec<u32> = group.iter().map(|call| call.root).collect();
                peers.sort_unstable();
                peers.dedup();
                let is_all = peers.len() + 1 >= nranks && nranks > 2;
                let kind = if is_all { CollectiveKind::AllToAll } else { CollectiveKind::SendRecv };
                let is_even = group.iter().all(|call| call.bytes == first.bytes);
                let bytes = is_even.then(|| total(kind, first.bytes, nranks as u64));
                found.point_to_point.push(Call { kind, bytes, witness });
            } else {
                let bytes = Some(total(first.kind, first.bytes, nranks as u64));
                found.collectives.push(Call { kind: first.kind, bytes, witness });
            }
        }
        found
    }

    /// Sets kind and bytes of `found`, which are in order; collectives and groups of sends and receives
    /// are matched separately.
    pub fn settle(&self, found: &mut [Collective], nranks: usize) {
        let is_transfer = |one: &&mut Collective| {
            matches!(one.kind, CollectiveKind::AllToAll | CollectiveKind::SendRecv)
        };
        let (mut transfers, mut collectives): (Vec<_>, Vec<_>) =
            found.iter_mut().partition(is_transfer);
        settle_in_order(&self.collectives, &mut collectives, nranks);
        settle_in_order(&self.point_to_point, &mut transfers, nranks);
    }
}

/// Bytes as nccl-tests counts them, for a call that counts what one rank sends or receives.
const fn total(kind: CollectiveKind, bytes: u64, nranks: u64) -> u64 {
    match kind {
        CollectiveKind::AllGather | CollectiveKind::ReduceScatter | CollectiveKind::AllToAll => {
            bytes.saturating_mul(nranks)
        }
        _ => bytes,
    }
}

/// Finds every offset at which `found` fits `calls`, and sets what all of them agree on.
fn settle_in_order(calls: &[Call], found: &mut [&mut Collective], nranks: usize) {
    if found.is_empty() || calls.is_empty() {
        return;
    }
    let is_from_init = found.iter().all(|one| one.is_counted_from_init);
    let latest = if is_from_init { 0 } else { calls.len().saturating_sub(found.len()) };
    let is_place = |offset: &usize| {
        let pairs = || found.iter().zip(calls.get(*offset..).unwrap_or(&[]));
        let unfitting = pairs().filter(|(one, call)| !fits(one, call, nranks)).count();
        // Logs have gaps, and messages may have been grouped wrongly.
        unfitting * ONE_UNFITTING_IN <= found.len()
    };
    let offsets: Vec<usize> = (0..=latest).filter(is_place).take(OFFSETS).collect();
    for (place, one) in found.iter_mut().enumerate() {
        let mut candidates = offsets.iter().filter_map(|offset| calls.get(offset + place));
        let Some(call) = candidates.next() else { continue };
        let is_agreed =
            candidates.all(|other| (other.kind, other.bytes) == (call.kind, call.bytes));
        if is_agreed && fits(one, call, nranks) {
            settle(one, call, offsets.len() == 1);
        }
    }
}

/// Whether `one` can be the collective of `call`.
fn fits(one: &Collective, call: &Call, nranks: usize) -> bool {
    let is_cut = one.kind == CollectiveKind::Unknown;
    let is_kind = one.kind == call.kind;
    // Another kind that sends the same messages.
    let is_alternative = one.alternatives.contains(&call.kind) && is_pair(one.kind, call.kind);
    let size = Size { bytes: one.bytes, channels: one.channels as usize, protocol: one.protocol };
    is_cut || ((is_kind || is_alternative) && call.has_size(size, nranks))
}

/// Kinds whose messages have the same sizes and order.
const fn is_pair(one: CollectiveKind, other: CollectiveKind) -> bool {
    use CollectiveKind as K;
    matches!(
        (one, other),
        (K::AllGather, K::ReduceScatter)
            | (K::ReduceScatter, K::AllGather)
            | (K::Broadcast, K::Reduce)
            | (K::Reduce, K::Broadcast)
    )
}

fn settle(one: &mut Collective, call: &Call, is_certain: bool) {
    let is_cut = one.kind == CollectiveKind::Unknown;
    if !is_cut && is_pair(one.kind, call.kind) {
        let with_kind = |part: &Part| Part { kind: call.kind, ..*part };
        one.parts = one.parts.iter().map(with_kind).collect();
    }
    one.kind = call.kind;
    one.alternatives.clear();
    one.is_estimated = is_cut || call.bytes.is_none() && one.is_estimated;
    one.bytes = call.bytes.or(one.bytes);
    if is_certain && !is_cut {
        one.grade = Grade::Proven;
    }
    let evidence = Evidence { kind: EvidenceKind::Log, witness: Some(call.witness), count: 1 };
    one.evidence.push(evidence);
}
