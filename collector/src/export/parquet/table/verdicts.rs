//! Verdicts.

use super::CAPTURE;
use crate::export::parquet::catalog::Table;
use crate::export::parquet::column::Columns;
use crate::export::parquet::context::Context;
use railscope_core::report::verdicts::VerdictReport;

pub(in crate::export::parquet) struct Verdicts;

/// A verdict and its index in the report.
pub(in crate::export::parquet) struct Row<'a> {
    context: &'a Context<'a>,
    number: usize,
    one: &'a VerdictReport,
}

impl Table for Verdicts {
    const NAME: &'static str = "verdicts";
    const ABOUT: &'static str = "One row a verdict: `verdicts[]`, the costliest first.";
    type Row<'a> = Row<'a>;

    fn rows<'a>(context: &'a Context<'a>) -> Vec<Self::Row<'a>> {
        let all = context.report.verdicts.iter().enumerate();
        all.map(|(number, one)| Row { context, number, one }).collect()
    }

    fn columns<'a>(to: &mut Columns<'a, Self::Row<'a>>) {
        to.text("capture", CAPTURE, |row| Some(&row.context.capture));
        to.integer("number", "Its index in `verdicts`.", |row| row.number);
        to.text("id", "Its class: docs/verdicts.md.", |row| Some(row.one.id));
        to.text("severity", "`info`, `warning` or `critical`.", |row| Some(row.one.severity));
        to.text("title", "One line: what broke, where, what it cost.", |row| Some(&row.one.title));
        to.text("host", "Where it is (`subject`).", |row| {
            let subject = &row.one.subject;
            let port = || row.context.host_of_port(subject.port.as_deref()?);
            let rank = || row.context.host_of_rank(subject.communicator.as_deref()?, subject.rank?);
            subject.host.as_deref().or_else(port).or_else(rank)
        });
        to.text("port", "Likewise.", |row| row.one.subject.port.as_deref());
        to.integer("rank", "Likewise.", |row| row.one.subject.rank);
        to.text("communicator", "Likewise.", |row| row.one.subject.communicator.as_deref());
        to.text("peer_port", "The other port of a path.", |row| {
            row.one.subject.peer_port.as_deref()
        });
        to.text("direction", "`towards`, `from` or `both`, seen from the port.", |row| {
            row.one.subject.direction
        });
        to.time("since_at", "First time seen.", |row| Some(row.context.micros(row.one.since_ns?)));
        to.time("until_at", "Last time seen.", |row| Some(row.context.micros(row.one.until_ns?)));
        to.integer("cost_ns", "Time of training that it cost.", |row| row.one.cost_ns);
        to.real("cost_share", "The same as a share of the time seen, 0 to 1.", |row| {
            row.one.cost_share
        });
        to.text("grade", "`proven`, `inferred` or `unknown`.", |row| Some(row.one.grade));
        to.text("alternative", "Another class that the evidence leaves (`alternatives`).", |row| {
            row.one.alternatives.first().copied()
        });
        to.truth("stops_job", "A job stands still because of it.", |row| row.one.stops_job);
        to.text("cause", "Why a rank is late.", |row| row.one.cause);
        to.text("by_profiles", "What profiles of NCCL's proxies say of its rank.", |row| {
            row.one.by_profiles
        });
        to.text("remedy", "What to do.", |row| Some(&row.one.remedy));
    }
}
