//! What NCCL's profiler plugin recorded in processes of this host: waits, own times, training steps.
//!
//! Where packets show the collectives of a communicator, they count, and the profiles do not.

use std::collections::{BTreeMap, BTreeSet};

use super::Settings;
use super::attribute;
use super::catalog;
use super::growth::{Growth, Sums};
use super::point::Attributes;
use super::series::{SeriesTable, owner_attributes};
use super::training_steps;
use crate::analysis::iteration::figures::Figures;
use crate::analysis::ledger::News;
use crate::analysis::proxy::{LiveProfiles, RankTotals};
use crate::analysis::straggler::Cause;
use crate::analysis::understanding::Understanding;
use crate::link::job::{CommunicatorId, Identity};

/// Sums of ranks as of the last export.
#[derive(Clone, Debug, Default)]
pub(super) struct ProfileGrowth {
    ranks: Growth<(u64, u32), 10>,
    /// Communicators whose collectives packets show.
    by_packets: BTreeSet<u64>,
}

/// Waits of transfers in the order of `Wait::ALL`.
const WAITS: [&str; 6] = ["send_gpu", "peer", "send", "recv", "flush", "recv_gpu"];

impl ProfileGrowth {
    /// Learns which communicators packets show, and adds new training steps of all others.
    pub(super) fn observe(
        &mut self,
        series: &mut SeriesTable,
        understanding: &Understanding,
        news: &News,
    ) {
        let hash = |id: CommunicatorId| match understanding.identity(id)? {
            Identity::CommHash(hash) | Identity::LogHash(hash) => Some(hash),
            Identity::Magic(_) | Identity::Inferred(_) => None,
        };
        let collectives = understanding.collectives.iter();
        self.by_packets = collectives.filter_map(|one| hash(one.collective.communicator)).collect();
        let all = &understanding.profiled_training_steps;
        let new = news.profiled_training_steps.iter().filter_map(|at| all.get(*at));
        for one in new.filter(|one| !self.by_packets.contains(&one.hash)) {
            let length_ns = one.span.length_ns();
            if one.is_whole {
                series.record(&catalog::TRAINING_STEP_DURATION, Attributes::default(), length_ns);
            }
            let idle_ns = one.communication_ns.map(|busy| length_ns.saturating_sub(busy));
            let amounts = [
                (&catalog::TRAINING_STEP_INCOMPLETE, Some(u64::from(!one.is_whole))),
                (&catalog::TRAINING_STEP_COMMUNICATION_TIME, one.communication_ns),
                (&catalog::TRAINING_STEP_IDLE_TIME, idle_ns),
                (&catalog::TRAINING_STEP_COLLECTIVES, Some(one.collectives)),
            ];
            for (metric, amount) in amounts {
                if let Some(amount) = amount {
                    series.add(metric, Attributes::default(), amount);
                }
            }
            training_steps::add_figures(series, &Figures::default(), one.is_whole);
        }
    }

    /// Adds what ranks waited for since the last time.
    pub(super) fn add(
        &mut self,
        series: &mut SeriesTable,
        settings: &Settings,
        profiles: &LiveProfiles,
    ) {
        let sums = |RankTotals { waits_ns, own }: RankTotals| {
            let [send_gpu, peer, send, recv, flush, recv_gpu] = waits_ns.map(Some);
            Sums::timeless([
                Some(own.observed_ns),
                own.enqueue_ns,
                own.compute_ns,
                own.room_ns,
                send_gpu,
                peer,
                send,
                recv,
                flush,
                recv_gpu,
            ])
        };
        let now: BTreeMap<(u64, u32), Sums<10>> =
            profiles.totals().into_iter().map(|(key, totals)| (key, sums(totals))).collect();
        let Self { ranks, by_packets } = self;
        ranks.read(now, |(hash, rank), grown| {
            let [observed, enqueue, compute, room, waits @ ..] = grown;
            let name = Identity::CommHash(*hash).to_string();
            let owner = || owner_attributes(settings, Some(&name), Some(*rank), None, None);
            let with = |attribute: (&'static str, &str)| {
                let (name, value) = attribute;
                Attributes::new(owner().into_iter().chain([(name, value.to_owned())]))
            };
            for (wait, ns) in WAITS.into_iter().zip(waits) {
                if let Some(ns) = ns {
                    let attributes = with((attribute::TRANSFER_WAIT.name, wait));
                    series.add(&catalog::TRANSFER_WAIT_TIME, attributes, ns);
                }
            }
            if by_packets.contains(hash) || observed == Some(0) {
                return;
            }
            if let Some(observed) = observed {
                series.add(&catalog::OBSERVED_TIME, Attributes::new(owner()), observed);
            }
            for (cause, ns) in [(Cause::Enqueue, enqueue), (Cause::Compute, compute)] {
                if let Some(ns) = ns {
                    let attributes = with((attribute::CAUSE.name, cause.name()));
                    series.add(&catalog::OWN_TIME, attributes, ns);
                }
            }
            let start =
                enqueue.zip(compute).map(|(enqueue, compute)| enqueue.saturating_add(compute));
            for (wait, ns) in [("start", start), ("receiver", room)] {
                if let Some(ns) = ns {
                    series.add(&catalog::WAIT_TIME, with((attribute::WAIT.name, wait)), ns);
                }
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::profiler::{Item, Record, Transfer, fixture};
    use crate::metrics::point::Value;
    use crate::model::time::Timestamp;

    #[test]
    fn growth_counts_once_by_rank() {
        let communicator = fixture::communicator(0, 0xab, 3);
        // An operation that is not known belongs to communicator 0.
        let transfer = Item::Record(Record::Transfer(Transfer {
            operation: 1,
            number: 0,
            is_send: true,
            begin_ns: 0,
            waits_ns: [Some(5), Some(6), Some(7)],
        }));
        let turn = || Item::Counts { records: 0, lost: [0; 8] };
        let mut live = LiveProfiles::default();
        live.take(1, "a", 0, vec![Item::Communicator(communicator), transfer]);
        (0..4).for_each(|_| live.take(1, "a", 0, vec![turn()]));
        let (mut series, mut growth) = (SeriesTable::default(), ProfileGrowth::default());
        let settings = Settings { ranks: true, ..Settings::default() };
        (0..3).for_each(|_| growth.add(&mut series, &settings, &live));
        let time = Timestamp::from_nanos(1);
        let points = series.points(time, time);
        let of = |wait: &str| {
            let is_it = |(name, value): (&str, &str)| name == "nccl.transfer.wait" && value == wait;
            points.iter().find(|point| point.attributes.iter().any(is_it)).map(|point| &point.value)
        };
        assert_eq!(of("send_gpu"), Some(&Value::Number(5)));
        assert_eq!(of("send"), Some(&Value::Number(7)));
        assert!(points.iter().all(|point| point.metric.name == "nccl.transfer.wait_time"));
    }
}
