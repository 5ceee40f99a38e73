//! All figures of one report about one recorded job.

use super::cell::Column;
use super::matching::Matching;
use super::report::Report;
use super::truth::Truth;
use super::{collectives, flows, identity, iterations, stragglers};

/// Columns of one subject.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Section {
    pub(super) title: &'static str,
    pub(super) columns: Vec<Column>,
}

/// The same sections with the same columns for every report.
pub(super) fn sections(truth: &Truth, report: &Report) -> Vec<Section> {
    let matching = Matching::new(truth, report);
    let calls = collectives::Score::new(&matching);
    vec![
        Section { title: "Communicators", columns: identity::communicators(&matching) },
        Section { title: "Ranks", columns: identity::ranks(&matching) },
        Section { title: "Flows", columns: flows::columns(&matching) },
        Section { title: "Collectives", columns: calls.columns() },
        Section { title: "Times of collectives", columns: calls.time_columns() },
        Section { title: "Training steps", columns: iterations::Score::new(&matching).columns() },
        Section { title: "Stragglers", columns: stragglers::Score::new(&matching).columns() },
    ]
}

#[cfg(test)]
mod tests {
    use super::super::cell::Cell;
    use super::super::perfect;
    use super::super::report::{CollectiveRank, Report, Straggler};
    use super::sections;

    /// Every figure as shown, by its column's head.
    fn figures(report: &Report) -> Vec<(&'static str, String)> {
        let sections = sections(&perfect::truth(), report);
        let columns = sections.into_iter().flat_map(|section| section.columns);
        columns.map(|(head, cell)| (head, cell.to_string())).collect()
    }

    /// The figures that change when `spoil` alters a perfect report.
    fn lost(spoil: impl FnOnce(&mut Report)) -> Vec<(&'static str, String)> {
        let mut report = perfect::report();
        let before = figures(&report);
        spoil(&mut report);
        let after = figures(&report);
        after
            .into_iter()
            .zip(before)
            .filter(|(now, then)| now != then)
            .map(|(now, _)| now)
            .collect()
    }

    #[test]
    fn the_truth_itself_scores_everything() {
        for section in sections(&perfect::truth(), &perfect::report()) {
            for (head, cell) in section.columns {
                match cell {
                    Cell::Tally(t) => assert!(t.right == t.of && t.wrong == 0, "{head} {t:?}"),
                    Cell::Faults(faults) => assert_eq!(faults, 0, "{head}"),
                    Cell::Differences { median_us, max_us } => {
                        assert_eq!((median_us, max_us), (0, 0), "{head}");
                    }
                    Cell::Text(_) => {}
                    Cell::Empty => panic!("{head} is not scored"),
                }
            }
        }
    }

    #[test]
    fn an_empty_report_is_right_about_nothing() {
        for section in sections(&perfect::truth(), &perfect::empty()) {
            for (head, cell) in section.columns {
                if let Cell::Tally(tally) = cell {
                    assert!(tally.right == 0 && tally.wrong == 0, "{head}");
                }
            }
        }
    }

    #[test]
    fn who_is_who() {
        let wrong_pid = lost(|report| report.communicators[0].ranks[1].pid = Some(1));
        assert_eq!(wrong_pid, [("process", "5/6 !1".into())]);
        let no_bus_id = lost(|report| report.communicators[1].ranks[0].bus_id = None);
        assert_eq!(no_bus_id, [("bus id", "5/6".into())]);
        let one_more = lost(|report| {
            let extra = report.communicators[0].ranks[0].clone();
            report.communicators[0].ranks.push(super::super::report::Rank { rank: 9, ..extra });
        });
        assert_eq!(one_more, [("address", "6/6 !1".into())]);
        let shorter = lost(|report| report.communicators[0].nccl_version = Some("2.2".into()));
        assert_eq!(shorter, [("found", "2.2, 2.27.5".into()), ("release", "1/2 !1".into())]);
        let orphan = lost(|report| report.communicators[1].parent = None);
        assert_eq!(orphan, [("parent", "0/1".into())]);
        let swapped = lost(|report| {
            let connection = &mut report.communicators[0].connections[0];
            std::mem::swap(&mut connection.sender, &mut connection.receiver);
        });
        assert_eq!(swapped, [("connections", "4/5 !1".into())]);
    }

    #[test]
    fn an_inferred_communicator_may_number_its_ranks_as_it_likes() {
        let turn = |report: &mut Report| {
            let world = &mut report.communicators[0];
            let turned = |rank: &mut u32| *rank = (*rank + 1) % 4;
            world.ranks.iter_mut().for_each(|rank| turned(&mut rank.rank));
            for connection in &mut world.connections {
                connection.sender.iter_mut().chain(&mut connection.receiver).for_each(turned);
            }
            let stragglers = report.collectives.iter_mut().filter_map(|c| c.straggler.as_mut());
            stragglers.take(2).for_each(|straggler| turned(&mut straggler.rank));
            for owner in report.flows.iter_mut().filter_map(|flow| flow.owner.as_mut()) {
                if owner.communicator.as_ref() == Some(&world.id) {
                    owner.rank.iter_mut().chain(&mut owner.peer_rank).for_each(turned);
                }
            }
        };
        let inferred = lost(|report| {
            turn(report);
            perfect::rename(report, 0, "inferred-0", "inferred");
        });
        assert_eq!(inferred, [("hash or magic", "1/2".into())]);
        let known = lost(turn);
        assert!(known.contains(&("data flows", "1/5 !4".into())), "{known:?}");
    }

    #[test]
    fn whose_a_flow_is() {
        let unlinked = lost(|report| report.flows[0].owner = None);
        assert_eq!(
            unlinked,
            [("data flows", "4/5".into()), ("channel", "9/9".into()), ("proven", "9/9".into())]
        );
        let foreign = lost(|report| {
            let mut flow = report.flows[0].clone();
            flow.dest_qpn = 9999;
            report.flows.push(flow);
        });
        assert_eq!(foreign, [("foreign", "1".into())]);
        let stream = lost(|report| report.tcp_streams[0].kind = "nccl_ras".into());
        assert_eq!(stream, [("TCP streams", "6/7 !1".into())]);
    }

    #[test]
    fn which_collectives_are_of_a_training_step() {
        let short = lost(|report| {
            report.iterations[0].collective_ids.pop();
        });
        assert_eq!(short[0], ("training steps", "0/1 !1".into()));
        let none = lost(|report| report.iterations.clear());
        assert_eq!(none[0], ("training steps", "0/1".into()));
        let late = lost(|report| report.iterations[0].start_ns += 3_000);
        assert_eq!(late, [("training step starts", "3 < 3".into())]);
    }

    #[test]
    fn what_was_called() {
        let alternative = lost(|report| {
            report.collectives[0].kind = "broadcast".into();
            report.collectives[0].alternatives = vec!["all_reduce".into()];
        });
        assert_eq!(alternative, [("kind", "2/3 !1".into())]);
        let gathered = lost(|report| report.collectives[1].bytes = Some(1024));
        assert_eq!(gathered, [("bytes", "2/3 !1".into())]);
        let estimated = lost(|report| {
            report.collectives[0].estimated = true;
            report.collectives[0].bytes = report.collectives[0].bytes.map(|bytes| bytes + 8);
        });
        assert_eq!(estimated, []);
        let boundary = lost(|report| {
            report.collectives[0].connections[0].part_boundaries[0] += 2;
        });
        assert_eq!(boundary, [("boundaries", "4/5 !1".into()), ("boundaries off by", "2".into())]);
        let late = lost(|report| report.collectives[0].start_ns += 3_000);
        assert_eq!(late, [("start", "0 < 3".into())]);
        let missing = lost(|report| drop(report.collectives.remove(1)));
        assert!(missing.contains(&("collectives", "2/3".into())), "{missing:?}");
        assert!(missing.contains(&("kind", "2/3".into())), "{missing:?}");
        let twice = lost(|report| {
            let again = report.collectives[0].clone();
            report.collectives.push(again);
        });
        assert_eq!(twice, [("collectives", "3/3 !1".into())]);
    }

    #[test]
    fn who_was_late() {
        let change = |report: &mut Report, at: usize, change: fn(&mut Straggler)| {
            report.collectives[at].straggler.iter_mut().for_each(change);
        };
        let nobody = lost(|report| report.collectives[0].straggler = None);
        assert_eq!(
            nobody,
            [("late ranks", "0/1".into()), ("cause", "-".into()), ("lag", "-".into())]
        );
        let other = lost(|report| change(report, 0, |one| one.rank = 0));
        assert!(other.contains(&("late ranks", "0/1 !1".into())), "{other:?}");
        assert!(other.contains(&("unfounded", "1".into())), "{other:?}");
        let called = lost(|report| change(report, 0, |one| one.cause = "enqueue".into()));
        assert_eq!(called, [("cause", "0/1 !1".into())]);
        let longer = lost(|report| change(report, 0, |one| one.lag_ns += 5_000));
        assert_eq!(longer, [("lag", "5 < 5".into())]);
        // Rank 0 is named, and its first message left that much later than it was posted.
        let held_up = lost(|report| {
            change(report, 0, |one| one.rank = 0);
            let post_ns = report.collectives[0].start_ns;
            let left = |rank: u32| post_ns + if rank == 0 { 100_000 } else { 0 };
            let of = |rank| CollectiveRank { rank, first_send_ns: Some(left(rank)) };
            report.collectives[0].ranks = (0..4).map(of).collect();
        });
        assert!(held_up.contains(&("held up", "1".into())), "{held_up:?}");
        let receiver = lost(|report| change(report, 1, |one| one.rank = 2));
        assert!(receiver.contains(&("unfounded", "1".into())), "{receiver:?}");
        let healthy = lost(|report| change(report, 2, |one| one.flow = Some(0)));
        assert!(healthy.contains(&("unfounded", "1".into())), "{healthy:?}");
        assert!(healthy.contains(&("loss", "0/1 !1".into())), "{healthy:?}");
    }
}
