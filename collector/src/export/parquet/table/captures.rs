//! What was analysed at once: one row a capture.

use crate::export::parquet::SCHEMA;
use crate::export::parquet::catalog::Table;
use crate::export::parquet::column::Columns;
use crate::export::parquet::context::Context;

pub(in crate::export::parquet) struct Captures;

impl Table for Captures {
    const NAME: &'static str = "captures";
    const ABOUT: &'static str = "One row a capture: what one `analyze` read.";
    type Row<'a> = &'a Context<'a>;

    fn rows<'a>(context: &'a Context<'a>) -> Vec<Self::Row<'a>> {
        vec![context]
    }

    fn columns<'a>(to: &mut Columns<'a, Self::Row<'a>>) {
        to.text("capture", "Made of what was captured: the same files give the same.", |row| {
            Some(&row.capture)
        });
        to.text("schema", "Version of the tables: `railscope.tables/1`.", |_| Some(SCHEMA));
        to.text("version", "The railscope that analysed it.", |row| Some(&row.report.tool.version));
        to.time("start_at", "Its first frame.", |row| Some(row.micros(0)));
        to.integer(
            "origin_ns",
            "The same in nanoseconds since the Unix epoch, as `capture.origin_ns`.",
            |row| row.report.capture.origin_ns.as_nanos(),
        );
        to.integer("duration_ns", "From its first frame to its last.", |row| {
            row.report.capture.duration_ns
        });
        to.integer("frames", "Frames.", |row| row.report.capture.frames);
        to.integer("wire_bytes", "Bytes of all frames on the wire.", |row| {
            row.report.capture.wire_bytes
        });
        to.integer("roce_frames", "Frames of RoCEv2.", |row| row.report.capture.roce_frames);
        to.integer("taps", "Observation points.", |row| row.report.taps.len());
        to.integer("ranks", "Ranks of its largest communicator: GPUs of the job.", |row| {
            row.report.communicators.iter().filter_map(|one| one.nranks).max()
        });
        to.integer("training_steps", "Training steps seen.", |row| row.report.iterations.len());
    }
}
