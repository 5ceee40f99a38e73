//! Columns about the rank that others waited for.

use crate::export::parquet::column::Columns;
use railscope_core::report::stragglers::StragglerReport;

/// Adds them; `host` finds the host of a rank.
pub(super) fn columns<'a, R>(
    to: &mut Columns<'a, R>,
    of: impl Fn(&R) -> Option<&StragglerReport> + Copy + 'a,
    host: impl Fn(&R, u32) -> Option<&str> + 'a,
) {
    to.integer("straggler_rank", "The rank that the others waited for longest.", move |row| {
        of(row).map(|one| one.rank)
    });
    to.text("straggler_host", "Its host.", move |row| host(row, of(row)?.rank));
    to.integer("straggler_lag_ns", "How long they waited for it.", move |row| {
        of(row).map(|one| one.lag_ns)
    });
    to.text("straggler_cause", "Why: as `collectives[].straggler.cause`.", move |row| {
        of(row).map(|one| one.cause.name())
    });
    to.text("straggler_port", "Address of the port that shows it best.", move |row| {
        of(row)?.port.as_deref()
    });
    to.integer("straggler_rail", "The rail of that port.", move |row| {
        of(row).and_then(|one| one.rail)
    });
    to.text("straggler_grade", "How sure that is.", move |row| of(row).map(|one| one.grade));
}
