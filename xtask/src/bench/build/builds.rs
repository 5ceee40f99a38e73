//! The builds that are compared.

use super::cost::Build;

/// README's first command, which the dev build runs as well.
pub(super) const FIRST_COMMAND: &[&str] =
    &["--", "analyze", "tests/fixtures/loss1_send_bw_post.pcap.gz"];

/// A test of the text output that does not read the line that is changed.
pub(super) const TEST_NAME: &str = "cli::filters::rows_of_each_table";

/// The builds of one revision.
pub(super) struct Builds {
    /// What was built.
    pub(super) revision: String,
    pub(super) first: Build,
    /// One changed line to a run of the dev build, in the order of the runs.
    pub(super) to_program: Vec<Build>,
    /// One changed line to a run of its test.
    pub(super) to_test: Vec<Build>,
}
