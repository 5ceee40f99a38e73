//! Causes that stop a job, and what tells two of them apart.

use super::class::Class;

/// Every class of cause that stops a job has a page in `docs/hangs`, named after it.
pub const PAGES: [&str; 14] = [
    "process_gone",
    "process_stopped",
    "host_dead",
    "port_down",
    "path_dead",
    "rank_not_called",
    "ranks_disagree",
    "gpu_stuck",
    "queue_pair_error",
    "receiver_not_ready",
    "pause",
    "bootstrap_incomplete",
    "socket_stalled",
    "capture_stopped",
];

/// Findings that describe a class under another name, with the page.
const SAME: &[(&str, &str)] = &[("master_unreachable", "bootstrap_incomplete")];

/// Findings that show a job that no longer moves, and not why.
pub const UNKNOWN: [&str; 3] = ["stalled_collective", "inside_collective", "communicator_failed"];

/// The page of a class; `None` if it does not stop a job.
#[must_use]
pub fn page(class: Class) -> Option<&'static str> {
    let id = class.id();
    let same = SAME.iter().find(|(other, _)| *other == id).map(|(_, page)| *page);
    PAGES.into_iter().find(|page| *page == id).or(same)
}

/// What tells one class from another where the evidence leaves both; `None` if nothing is known.
#[must_use]
pub fn would_decide(one: Class, other: Class) -> Option<&'static str> {
    let is = |first, second| [(first, second), (second, first)].contains(&(one, other));
    if is(Class::PortDown, Class::HostDead) {
        Some(
            "Does the host answer on its management network? Then it is the port. A link-down counter \
             of its NIC, or its flight recorder dump, shows the same.",
        )
    } else if is(Class::PortDown, Class::PathDead) {
        Some("Ping the port from a third host: if that works, only the path is dead.")
    } else if is(Class::PortDown, Class::Pause) {
        Some(
            "Counters of its NIC: if tx_prioN_pause rises, the NIC pauses its switch; if not, the cable \
             or the switch port is dead in this direction.",
        )
    } else if is(Class::ProcessGone, Class::HostDead) {
        Some(
            "Does the host answer a ping? If not, look at the BMC. If it does, `ps -o stat= -p PID` there: \
             none is gone, T is stopped, D waits for disk or swap.",
        )
    } else if is(Class::ProcessGone, Class::PortDown) {
        Some(
            "Does the port answer a ping from a third host? Then the host and the port live, and the \
             process is gone. If not, it is the port, or the whole host: look at the BMC.",
        )
    } else if is(Class::ProcessGone, Class::QueuePairError) {
        Some(
            "`rdma resource show qp` on its host: queue pairs of the process in state ERR are in error; \
             if there are none, the process is gone.",
        )
    } else if is(Class::ProcessGone, Class::ProcessStopped) {
        Some(
            "`ps -o stat= -p PID` on its host: T is stopped, D waits for disk or swap, none is gone.",
        )
    } else if is(Class::Other("socket_stalled"), Class::ProcessStopped) {
        Some(
            "`ps -o stat= -p PID` on the receiver's host: T is stopped, D waits for disk or swap; else \
             the process runs and does not read: `py-spy dump` shows what it does.",
        )
    } else if is(Class::RankNotCalled, Class::ProcessStopped) {
        Some(
            "`ps -o stat= -p PID` on its host: T is stopped, D waits for disk or swap; else the process \
             runs. A flight recorder dump of this rank shows that it runs, too, and whether it called: then \
             its GPU is stuck.",
        )
    } else if is(Class::GpuStuck, Class::ProcessStopped) {
        Some(
            "`ps -o stat= -p PID` on its host: T is stopped, D waits for disk or swap; else the process \
             runs. A flight recorder dump of this rank shows that it runs, too, and whether it called what \
             the others did.",
        )
    } else if is(Class::RankNotCalled, Class::GpuStuck) {
        Some("Its flight recorder dump: whether the call is in it.")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn either_order_is_decided_alike() {
        let one = would_decide(Class::PortDown, Class::HostDead);
        assert!(one.is_some());
        assert_eq!(one, would_decide(Class::HostDead, Class::PortDown));
        assert_eq!(would_decide(Class::Loss, Class::HostDead), None);
    }

    #[test]
    fn other_names_lead_to_the_same_page() {
        assert_eq!(page(Class::Other("master_unreachable")), Some("bootstrap_incomplete"));
        assert_eq!(page(Class::PortDown), Some("port_down"));
        assert_eq!(page(Class::Loss), None);
    }
}
