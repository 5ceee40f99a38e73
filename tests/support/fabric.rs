//! Hosts in network namespaces, where the machine allows them.

use railscope_testbed::fabric::{Fabric, PROGRAMS};

use super::railscope::PROGRAM;
use super::require;

/// Runs `work` in a fabric of this many hosts.
pub fn run(test: &str, hosts: usize, work: impl FnOnce(&Fabric) + Send + 'static) {
    if require::root(test) && PROGRAMS.iter().all(|program| require::has(test, program)) {
        Fabric::run(PROGRAM, hosts, work);
    }
}
