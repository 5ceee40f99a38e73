//! What is compared, a value for each training step.

use std::collections::{BTreeMap, BTreeSet};

use super::document::{Collective, RankWaits};
use super::selection::{Selection, Unit, shape};

/// A figure that each training step has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Measure {
    /// From its first data packet to the next one's.
    IterationTime,
    /// Without a collective in flight.
    IdleTime,
    /// With one.
    CommunicationTime,
    /// How long others waited for a late rank, all collectives of the step together, by cause.
    Late(&'static str),
    /// What a rank spent its time on, the mean of ranks.
    Wait(&'static str),
    /// CE-marked data packets by all.
    CeShare,
    Cnps,
    /// Time in which a port was paused.
    Paused,
    Retransmitted,
    /// Duration of collectives of one kind and size, the mean of those in a step.
    Collective(String, Option<u64>),
}

/// Causes of late ranks, as the report names them.
const CAUSES: [(&str, &str); 9] = [
    ("compute", "late_compute"),
    ("enqueue", "late_enqueue"),
    ("sender", "late_sender"),
    ("receiver", "late_receiver"),
    ("congestion", "late_congestion"),
    ("loss", "late_loss"),
    ("pause", "late_pause"),
    ("socket", "late_socket"),
    ("unknown", "late_unknown"),
];

/// Waits of a rank: its name here and its value.
type OfRank = fn(&RankWaits) -> Option<u64>;

const WAITS: [(&str, OfRank); 7] = [
    ("start_wait", |rank| rank.start_wait_ns),
    ("sender_wait", |rank| rank.sender_wait_ns),
    ("receiver_wait", |rank| rank.receiver_wait_ns),
    ("input_wait", |rank| rank.input_wait_ns),
    ("transfer", |rank| rank.transfer_ns),
    ("recovery", |rank| rank.recovery_ns),
    ("rank_paused", |rank| rank.paused_ns),
];

/// Most kinds and sizes of collectives with a row of their own: those that take most time.
const SHAPES: usize = 8;

impl Measure {
    /// The name that scripts use.
    pub(super) fn id(&self) -> String {
        match self {
            Self::IterationTime => "step_time".to_owned(),
            Self::IdleTime => "idle_time".to_owned(),
            Self::CommunicationTime => "communication_time".to_owned(),
            Self::Late(name) | Self::Wait(name) => (*name).to_owned(),
            Self::CeShare => "ce_share".to_owned(),
            Self::Cnps => "cnps".to_owned(),
            Self::Paused => "paused".to_owned(),
            Self::Retransmitted => "retransmitted".to_owned(),
            Self::Collective(kind, bytes) => {
                let size = bytes.map_or_else(|| "unknown".to_owned(), |bytes| bytes.to_string());
                [kind.as_str(), size.as_str()].join("_")
            }
        }
    }

    /// The unit of its values.
    pub(super) const fn unit(&self) -> &'static str {
        match self {
            Self::CeShare => "share",
            Self::Cnps | Self::Retransmitted => "packets",
            _ => "ns",
        }
    }

    /// Whether the change of a training step is made of it and of others like it, which do not overlap.
    pub(super) const fn is_part(&self) -> bool {
        matches!(self, Self::IdleTime | Self::Late(_))
    }

    fn of(&self, unit: &Unit<'_>) -> Option<f64> {
        let one = unit.iteration;
        let number = |value: u64| value as f64;
        match self {
            Self::IterationTime => one.map(|one| one.end_ns.saturating_sub(one.start_ns) as f64),
            Self::IdleTime => one?.idle_ns.map(number),
            Self::CommunicationTime => one?.communication_ns.map(number),
            Self::Late(name) => late(&unit.collectives, name),
            Self::Wait(name) => waits(&unit.collectives, name),
            Self::CeShare => one?.ce_share,
            Self::Cnps => one?.cnps.map(number),
            Self::Paused => one?.paused_ns.map(number),
            Self::Retransmitted => one?.retransmitted_packets.map(number),
            Self::Collective(kind, bytes) => {
                let wanted = (kind.as_str(), *bytes);
                let own = unit.collectives.iter().filter(|one| shape(one) == wanted);
                mean(own.map(|one| one.end_ns.saturating_sub(one.start_ns) as f64))
            }
        }
    }

    /// Its values in order of time; those that are not known are missing.
    pub(super) fn series(&self, selection: &Selection<'_>) -> Vec<f64> {
        selection.units.iter().filter_map(|unit| self.of(unit)).collect()
    }
}

fn late(collectives: &[&Collective], name: &str) -> Option<f64> {
    let (cause, _) = CAUSES.iter().find(|(_, known)| *known == name)?;
    if collectives.is_empty() {
        return None;
    }
    let own = collectives.iter().filter_map(|one| one.straggler.as_ref());
    Some(own.filter(|one| one.cause == *cause).map(|one| one.lag_ns as f64).sum())
}

fn waits(collectives: &[&Collective], name: &str) -> Option<f64> {
    let (_, of_rank) = WAITS.iter().find(|(known, _)| *known == name)?;
    let known = collectives
        .iter()
        .filter_map(|one| mean(one.ranks.iter().filter_map(of_rank).map(|value| value as f64)));
    known.fold(None, |sum: Option<f64>, value| Some(sum.unwrap_or(0.0) + value))
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0_u32), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}

/// The rows of a comparison besides training steps: whatever a side knows and is not 0 throughout.
pub(super) fn rows(before: &Selection<'_>, after: &Selection<'_>) -> Vec<Measure> {
    let fixed = [Measure::IdleTime, Measure::CommunicationTime].into_iter();
    let late = CAUSES.iter().map(|(_, name)| Measure::Late(name));
    let waits = WAITS.iter().map(|(name, _)| Measure::Wait(name));
    let signals =
        [Measure::Retransmitted, Measure::CeShare, Measure::Cnps, Measure::Paused].into_iter();
    let all = fixed.chain(late).chain(waits).chain(signals);
    let moves = |measure: &Measure| {
        [before, after].iter().any(|side| measure.series(side).iter().any(|value| *value != 0.0))
    };
    let mut rows: Vec<Measure> = all.filter(moves).collect();
    // A training step of one collective is not that collective: it has a row of its own, too.
    if before.units.iter().any(|unit| unit.iteration.is_some()) {
        rows.extend(shapes(before, after));
    }
    rows
}

/// The kinds and sizes that both sides have, those first that take most time.
fn shapes(before: &Selection<'_>, after: &Selection<'_>) -> Vec<Measure> {
    let all = |side: &Selection<'_>| {
        let units = side.units.iter().flat_map(|unit| &unit.collectives);
        let mut times: BTreeMap<(String, Option<u64>), i64> = BTreeMap::new();
        for one in units {
            let sum = times.entry((one.kind.clone(), one.bytes)).or_default();
            *sum = sum.saturating_add(one.end_ns.saturating_sub(one.start_ns));
        }
        times
    };
    let theirs: BTreeSet<(String, Option<u64>)> = all(after).into_keys().collect();
    let mut own: Vec<_> = all(before).into_iter().collect();
    own.retain(|(shape, _)| theirs.contains(shape));
    own.sort_by_key(|(_, time)| std::cmp::Reverse(*time));
    own.truncate(SHAPES);
    own.into_iter().map(|((kind, bytes), _)| Measure::Collective(kind, bytes)).collect()
}

/// Names of the figures that every comparison may have, that of training steps first; those of
/// collectives, `all_reduce_1048576`, depend on the job.
#[must_use]
pub fn names() -> Vec<String> {
    let fixed = [Measure::IterationTime, Measure::IdleTime, Measure::CommunicationTime];
    let late = CAUSES.iter().map(|(_, name)| Measure::Late(name));
    let waits = WAITS.iter().map(|(name, _)| Measure::Wait(name));
    let signals = [Measure::Retransmitted, Measure::CeShare, Measure::Cnps, Measure::Paused];
    let all = fixed.into_iter().chain(late).chain(waits).chain(signals);
    all.map(|measure| measure.id()).collect()
}
