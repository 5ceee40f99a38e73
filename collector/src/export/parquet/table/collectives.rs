//! Collectives.

use super::{CAPTURE, Entry, between, straggler};
use crate::export::parquet::catalog::Table;
use crate::export::parquet::column::Columns;
use crate::export::parquet::context::Context;
use railscope_core::report::collectives::CollectiveReport;

pub(in crate::export::parquet) struct Collectives;

impl Table for Collectives {
    const NAME: &'static str = "collectives";
    const ABOUT: &'static str = "One row a collective: `collectives[]`.";
    type Row<'a> = Entry<'a, CollectiveReport>;

    fn rows<'a>(context: &'a Context<'a>) -> Vec<Self::Row<'a>> {
        Entry::list(context, &context.report.collectives)
    }

    fn columns<'a>(to: &mut Columns<'a, Self::Row<'a>>) {
        to.text("capture", CAPTURE, |row| Some(&row.context.capture));
        to.integer("id", "Number in its capture.", |row| row.one.id);
        to.text("communicator", "Its communicator.", |row| Some(&row.one.communicator));
        to.integer("sequence", "Number on its communicator.", |row| row.one.sequence);
        to.text("sequence_origin", "Where numbering starts: `init` or `capture`.", |row| {
            Some(row.one.sequence_origin)
        });
        to.text("kind", "`all_reduce`, `all_gather`, ...", |row| Some(row.one.kind));
        to.text("algorithm", "`ring`, `tree` or `unknown`.", |row| Some(row.one.algorithm));
        to.text("protocol", "`simple`, `ll`, `ll128` or `unknown`.", |row| Some(row.one.protocol));
        to.integer("bytes", "Bytes as nccl-tests counts them.", |row| row.one.bytes);
        to.truth("estimated", "The bytes are rounded, or partly unseen.", |row| row.one.estimated);
        to.integer("channels", "Channels that carry it.", |row| row.one.channels);
        to.integer("messages", "Messages seen.", |row| row.one.messages);
        to.time("start_at", "First data packet.", |row| Some(row.context.micros(row.one.start_ns)));
        to.time("end_at", "Last data packet.", |row| Some(row.context.micros(row.one.end_ns)));
        to.integer("duration_ns", "From start to end.", |row| {
            between(row.one.start_ns, row.one.end_ns)
        });
        to.truth("unfinished", "Its communicator stands still in it.", |row| row.one.unfinished);
        to.integer("algbw_bytes_per_s", "Algorithm bandwidth.", |row| row.one.algbw_bytes_per_s);
        to.integer("busbw_bytes_per_s", "Bus bandwidth.", |row| row.one.busbw_bytes_per_s);
        to.integer("iteration", "The training step it belongs to.", |row| row.one.iteration);
        straggler::columns(
            to,
            |row| row.one.straggler.as_ref(),
            |row, rank| row.context.host_of_rank(&row.one.communicator, rank),
        );
        to.text("grade", "`proven`, `inferred` or `unknown`.", |row| Some(row.one.grade));
    }
}
