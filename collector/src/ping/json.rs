//! The matrix as JSON, `railscope.ping/1`: docs/doctor-ping.md describes it.

use serde::Serialize;

use super::judge::{Finding, Judgement};
use super::matrix::{Absence, Matrix, Row};
use super::words;

/// The document of one host.
#[derive(Serialize)]
pub struct Document<'a> {
    /// `railscope.ping/1`
    schema: &'static str,
    /// The host that wrote it.
    host: &'a str,
    /// All hosts of the command line; everything else names them by their index here, from 0.
    hosts: &'a [String],
    /// The first line of the text.
    verdict: String,
    /// As `exit_code` of the process.
    exit_code: u8,
    /// What is wrong, worst first.
    findings: Vec<Described<'a>>,
    /// What else to know.
    notes: Vec<String>,
    /// Whether different rails connect nowhere while same rails do.
    is_rail_only: bool,
    is_software_rdma: bool,
    /// Hosts that did not come.
    absent: &'a [Absence],
    /// By host; `null` where its row never came.
    rows: &'a [Option<Row>],
}

#[derive(Serialize)]
struct Described<'a> {
    #[serde(flatten)]
    finding: &'a Finding,
    text: String,
}

impl<'a> Document<'a> {
    /// The document of host `me`.
    #[must_use]
    pub fn new(matrix: &'a Matrix, judgement: &'a Judgement, me: usize, exit_code: u8) -> Self {
        let describe =
            |finding: &'a Finding| Described { finding, text: words::sentence(matrix, finding) };
        Self {
            schema: "railscope.ping/1",
            host: matrix.name(me),
            hosts: &matrix.hosts,
            verdict: words::verdict(matrix, judgement),
            exit_code,
            findings: judgement.findings.iter().map(describe).collect(),
            notes: words::notes(matrix, judgement),
            is_rail_only: judgement.is_rail_only,
            is_software_rdma: judgement.is_software_rdma,
            absent: &matrix.absent,
            rows: &matrix.rows,
        }
    }
}
