//! Containers, pods and Slurm jobs: what it takes to read about processes. How they are read is in
//! `tests/node/processes.rs`.

use super::host::{ALL, host};
use super::verdict;

const SEES: &str = "containers, pods and Slurm jobs of processes";

#[test]
fn processes_of_other_users_need_capabilities() {
    assert_eq!(verdict(SEES, &host(ALL, &[])).to_string(), format!("{SEES}: yes"));
    let without = verdict(SEES, &host("0", &[]));
    assert!(without.runs());
    let lesser = &without.lesser[0];
    assert!(lesser.starts_with("without CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH: "), "{lesser}");
}
