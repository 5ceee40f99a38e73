//! A rank that sent its first data late, judged by its own wait.

use super::cause::{self, Timing};
use super::sign::{Sign, SignKind};
use super::{Case, Straggler};
use crate::analysis::wait::rank::RankWaits;
use crate::model::grade::Grade;
use crate::model::spread::lower_median;

/// The latest rank of the collective, among ranks with an edge.
#[must_use]
pub fn late_rank(case: &Case<'_>) -> Option<Straggler> {
    let ranks = &case.waits.ranks;
    let late_ns = |rank: &RankWaits| rank.lateness.map_or(i64::MIN, |late| late.late_ns);
    let latest = ranks.iter().reduce(
        |one, other| {
            if late_ns(other) > late_ns(one) { other } else { one }
        },
    )?;
    let lateness = latest.lateness?;
    let lag_ns = u64::try_from(lateness.late_ns).ok()?;
    // If all ranks differ that much, none stands out.
    if lag_ns <= lateness.uncertainty_ns.saturating_mul(2) {
        return None;
    }
    let edge = case.waits.edges.get(latest.first_edge?)?;
    let own_ns = latest.start_wait_ns?;
    let others = || ranks.iter().filter(|rank| rank.rank != latest.rank);
    let middle_ns = lower_median(others().filter_map(|rank| rank.start_wait_ns))?;
    let mut evidence = vec![Sign {
        kind: SignKind::StartWait { rank: latest.rank, own_ns, others_ns: middle_ns },
        witness: Some(edge.first_witness),
    }];
    if let (Some(busy_ns), Some(middle_ns)) =
        (latest.busy_ns, lower_median(others().filter_map(|rank| rank.busy_ns)))
    {
        evidence.push(Sign {
            kind: SignKind::BusyTime { own_ns: busy_ns, others_ns: middle_ns },
            witness: None,
        });
    }
    let timing = Timing::new(case, latest.rank, lag_ns);
    evidence.extend(timing.as_ref().map(Timing::sign));
    Some(Straggler {
        rank: latest.rank,
        lag_ns,
        cause: cause::of_late_rank(timing.as_ref()),
        connection: Some(edge.connection),
        // Packets do not show whether the GPU was late or its host delayed the data.
        grade: Grade::Inferred,
        evidence,
    })
}
