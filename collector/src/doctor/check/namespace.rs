//! Can pods with a network namespace of their own use the devices?

use super::Check;
use crate::doctor::fact::Facts;
use crate::doctor::outcome::Outcome;

/// Namespaces of RDMA devices.
pub(super) const CHECK: Check = Check {
    name: "rdma_namespace",
    asks: "Can containers with their own network use the RDMA devices?",
    judge,
};

const SEEN: &str = "/sys/module/ib_core/parameters/netns_mode";

fn judge(facts: &Facts) -> Vec<Outcome> {
    if facts.devices().is_empty() {
        return Vec::new();
    }
    match facts.place.is_rdma_exclusive {
        None => Vec::new(),
        Some(true) => {
            let says = "RDMA devices belong to one network namespace each (exclusive): a container sees only those that are moved into it.";
            vec![Outcome::note(says).seen(SEEN).fix("`rdma dev set DEV netns NAME` (the RDMA CNI does it); or `rdma system set netns shared`")]
        }
        Some(false) => {
            vec![Outcome::right("RDMA devices are shared by all network namespaces.").seen(SEEN)]
        }
    }
}
