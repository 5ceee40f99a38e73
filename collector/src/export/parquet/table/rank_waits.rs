//! Where the time of ranks went.

use super::CAPTURE;
use crate::export::parquet::catalog::Table;
use crate::export::parquet::column::Columns;
use crate::export::parquet::context::Context;
use railscope_core::report::communicators::{CommunicatorReport, RankReport};

pub(in crate::export::parquet) struct RankWaits;

/// A rank of a communicator.
pub(in crate::export::parquet) struct Row<'a> {
    context: &'a Context<'a>,
    communicator: &'a CommunicatorReport,
    rank: &'a RankReport,
}

impl Table for RankWaits {
    const NAME: &'static str = "rank_waits";
    const ABOUT: &'static str = "One row a rank of a communicator: `communicators[].ranks[]`, with the sums over \
                                 all its collectives (`waits`).";
    type Row<'a> = Row<'a>;

    fn rows<'a>(context: &'a Context<'a>) -> Vec<Self::Row<'a>> {
        let all = context.report.communicators.iter();
        let rows = all.flat_map(|communicator| {
            communicator.ranks.iter().map(move |rank| Row { context, communicator, rank })
        });
        rows.collect()
    }

    fn columns<'a>(to: &mut Columns<'a, Self::Row<'a>>) {
        to.text("capture", CAPTURE, |row| Some(&row.context.capture));
        to.text("communicator", "The communicator.", |row| Some(&row.communicator.id));
        to.integer("rank", "The rank.", |row| row.rank.rank);
        to.text("host", "Name of its host, else what identifies it (`place`).", |row| {
            row.rank.place.as_deref()
        });
        to.integer("pid", "Its process.", |row| row.rank.pid);
        to.text("bus_id", "PCI address of its GPU.", |row| row.rank.bus_id.as_deref());
        to.integer("late_collectives", "Collectives in which the others waited for it.", |row| {
            row.rank.waits.late_collectives
        });
        to.integer("lag_ns", "How long they waited.", |row| row.rank.waits.lag_ns);
        to.integer("late_ns", "How late it was.", |row| row.rank.waits.late_ns);
        to.integer("start_wait_ns", "Time until its first data packets.", |row| {
            row.rank.waits.start_wait_ns
        });
        to.integer("sender_wait_ns", "Time in which it had data, but did not send.", |row| {
            row.rank.waits.sender_wait_ns
        });
        to.integer(
            "receiver_wait_ns",
            "Time without a receive buffer from the next rank.",
            |row| row.rank.waits.receiver_wait_ns,
        );
        to.integer(
            "input_wait_ns",
            "Time in which it waited for the data that it forwards.",
            |row| row.rank.waits.input_wait_ns,
        );
        to.integer("recovery_ns", "Time in which lost data was recovered.", |row| {
            row.rank.waits.recovery_ns
        });
        to.integer("ce_packets", "CE-marked data packets.", |row| row.rank.waits.ce_packets);
        to.integer("retransmitted_packets", "Packets that it retransmitted.", |row| {
            row.rank.waits.retransmitted_packets
        });
        to.text("grade", "`proven`, `inferred` or `unknown`.", |row| Some(row.rank.grade));
    }
}
