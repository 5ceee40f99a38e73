//! Findings.

use super::CAPTURE;
use crate::export::parquet::catalog::Table;
use crate::export::parquet::column::Columns;
use crate::export::parquet::context::Context;
use railscope_core::report::findings::FindingReport;

pub(in crate::export::parquet) struct Findings;

/// A finding and its index in the report.
pub(in crate::export::parquet) struct Row<'a> {
    context: &'a Context<'a>,
    number: usize,
    one: &'a FindingReport,
}

impl Table for Findings {
    const NAME: &'static str = "findings";
    const ABOUT: &'static str = "One row a finding: `findings[]`, the worst first.";
    type Row<'a> = Row<'a>;

    fn rows<'a>(context: &'a Context<'a>) -> Vec<Self::Row<'a>> {
        let all = context.report.findings.iter().enumerate();
        all.map(|(number, one)| Row { context, number, one }).collect()
    }

    fn columns<'a>(to: &mut Columns<'a, Self::Row<'a>>) {
        to.text("capture", CAPTURE, |row| Some(&row.context.capture));
        to.integer("number", "Its index in `findings`.", |row| row.number);
        to.text("id", "Its name: docs/FINDINGS.md.", |row| Some(row.one.id));
        to.text("severity", "`info`, `warning` or `critical`.", |row| Some(row.one.severity));
        to.text("cause", "Its cause in one word, where it has several.", |row| row.one.cause);
        to.text("title", "One line with the numbers.", |row| Some(&row.one.title));
        to.text("communicator", "What it is about (`subject`).", |row| {
            row.one.subject.communicator.as_deref()
        });
        to.integer("rank", "Likewise.", |row| row.one.subject.rank);
        to.text("port", "Likewise.", |row| row.one.subject.port.as_deref());
        to.text("host", "The host of that port or rank.", |row| {
            let subject = &row.one.subject;
            let port = subject.port.as_deref().and_then(|port| row.context.host_of_port(port));
            port.or_else(|| {
                row.context.host_of_rank(subject.communicator.as_deref()?, subject.rank?)
            })
        });
        to.integer("iteration", "Likewise: a training step.", |row| row.one.subject.iteration);
        to.integer("flows", "Number of flows listed.", |row| row.one.flows.len());
        to.time("first_at", "First time seen.", |row| Some(row.context.micros(row.one.first_ns?)));
        to.time("last_at", "Last time seen.", |row| Some(row.context.micros(row.one.last_ns?)));
        to.text("grade", "`proven`, `inferred` or `unknown`.", |row| Some(row.one.grade));
        to.integer("explained_by", "`verdicts.number` of the verdict that explains it.", |row| {
            row.one.explained_by
        });
        to.text("remedy", "What to do.", |row| Some(row.one.remedy));
    }
}
