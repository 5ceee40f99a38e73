//! Training steps.

use super::{CAPTURE, Entry, straggler};
use crate::export::parquet::catalog::Table;
use crate::export::parquet::column::Columns;
use crate::export::parquet::context::Context;
use railscope_core::report::iterations::IterationReport;

pub(in crate::export::parquet) struct TrainingSteps;

impl Table for TrainingSteps {
    const NAME: &'static str = "training_steps";
    const ABOUT: &'static str = "One row a training step: `iterations[]`.";
    type Row<'a> = Entry<'a, IterationReport>;

    fn rows<'a>(context: &'a Context<'a>) -> Vec<Self::Row<'a>> {
        Entry::list(context, &context.report.iterations)
    }

    fn columns<'a>(to: &mut Columns<'a, Self::Row<'a>>) {
        to.text("capture", CAPTURE, |row| Some(&row.context.capture));
        to.integer("iteration", "Number from 0.", |row| row.one.iteration);
        to.text("label", "The training job's own number.", |row| row.one.label.as_deref());
        to.text("communicator", "Whose collectives repeat with it.", |row| {
            row.one.communicator.as_deref()
        });
        to.truth("complete", "All its calls were seen.", |row| row.one.complete);
        to.time("start_at", "First data packet.", |row| Some(row.context.micros(row.one.start_ns)));
        to.time("end_at", "First data packet of the next one.", |row| {
            Some(row.context.micros(row.one.end_ns))
        });
        to.integer("duration_ns", "From start to end.", |row| row.one.length_ns());
        to.integer("communication_ns", "Time with a collective in flight.", |row| {
            row.one.communication_ns
        });
        to.integer("idle_ns", "Time without one.", |row| row.one.idle_ns);
        to.integer("collectives", "Number of collectives.", |row| row.one.collectives);
        to.integer("bytes", "Bytes of its messages.", |row| row.one.bytes);
        to.integer("peak_bps", "Highest rate at one port over a millisecond.", |row| {
            row.one.peak_bps
        });
        to.integer("ce_packets", "CE-marked data packets.", |row| row.one.ce_packets);
        to.real("ce_share", "Their share, 0 to 1.", |row| row.one.ce_share);
        to.integer("cnps", "CNPs.", |row| row.one.cnps);
        to.integer("paused_ns", "Time in which some port was paused.", |row| row.one.paused_ns);
        to.integer("retransmitted_packets", "Packets retransmitted.", |row| {
            row.one.retransmitted_packets
        });
        straggler::columns(
            to,
            |row| row.one.straggler.as_ref(),
            |row, rank| row.context.host_of_rank(row.one.communicator.as_deref()?, rank),
        );
        to.truth("sets_up", "NCCL connects its channels in it.", |row| row.one.sets_up);
        to.integer("median_ns", "Median duration of the job's.", |row| row.one.median_ns);
        to.integer("excess_ns", "Time beyond the median, where it stands out.", |row| {
            row.one.excess_ns
        });
        to.integer("remainder_ns", "The part of the excess that nothing explains.", |row| {
            row.one.remainder_ns
        });
        to.truth("stands_out", "It has an excess or a straggler.", |row| row.one.stands_out);
        to.text("grade", "`proven`, `inferred` or `unknown`.", |row| Some(row.one.grade));
    }
}
