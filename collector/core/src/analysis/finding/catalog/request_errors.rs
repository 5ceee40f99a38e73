//! RDMA requests failed or found no receive posted, by the counters of a port.

use crate::analysis::finding::claim::node::{NodeClaim, Period};
use crate::analysis::finding::facts::Facts;
use crate::analysis::finding::kind::{Kind, Need};
use crate::analysis::finding::observation::LogObservation;
use crate::analysis::finding::{Finding, Proof};
use crate::link::tool::node::{Node, Said};
use crate::model::node::Totals;

/// Errors of requests.
pub const KIND: Kind = Kind {
    id: "request_errors",
    about: "RDMA requests on the port were sent again, timed out, failed, or found no receive posted. One \
            reading does not show when, nor which job that was.",
    threshold: "Counters of loss (packet_seq_err, out_of_sequence, local_ack_timeout_err), of missing receives \
                (out_of_buffer, rnr_nak_retry_err), or completions with an error that is not a flush \
                (*_cqe_error without *_cqe_flush_error), are above 0. \
                A warning if it rose between two readings, information if only one is known: \
                it counts since boot, so it does not show when.",
    remedy: "Errors without loss point to a process that died \
             or posted too few receives, loss and timeouts to the path: `railscope capture` shows where.",
    needs: &[Need::NodeOutputs],
    detect,
};

/// Names of mlx5's counters, which others have taken over, and of other drivers
/// (kernel, `Documentation/networking/device_drivers/.../mlx5/counters.rst`).
const LOSS: &[&str] = &[
    "packet_seq_err",
    "out_of_sequence",
    "implied_nak_seq_err",
    "local_ack_timeout_err",
    "rx_icrc_encapsulated",
    // bnxt_re.
    "to_retransmits",
    "seq_err_naks_rcvd",
    "max_retry_exceeded",
    // EFA.
    "retrans_timeout_events",
    "unresponsive_remote_events",
];
const RECEIVES: &[&str] = &["out_of_buffer", "rnr_nak_retry_err"];
/// Completions with an error, and those of them that only follow from another.
const FAILED: &[(&str, &str)] =
    &[("req_cqe_error", "req_cqe_flush_error"), ("resp_cqe_error", "resp_cqe_flush_error")];

fn detect(facts: &Facts<'_>) -> Vec<Finding> {
    let all = facts.state.nodes.iter().flat_map(Node::totals_by_name);
    all.filter_map(|(device, said)| finding(device, said)).collect()
}

fn finding(device: Option<String>, said: &Said<Totals>) -> Option<Finding> {
    let totals = &said.value;
    let counters = totals.moved(|name| LOSS.contains(&name) || RECEIVES.contains(&name));
    let failed = FAILED.iter().map(|(all, flushed)| {
        let value = |name| totals.counted(name).unwrap_or(0);
        value(all).saturating_sub(value(flushed))
    });
    let failed = failed.fold(0, u64::saturating_add);
    if counters.is_empty() && failed == 0 {
        return None;
    }
    let period = Period::of(totals);
    let claim = NodeClaim::RequestErrors { period, device, counters, failed };
    let finding = KIND.finding(period.severity(), claim);
    Some(finding.because(Proof::log(LogObservation::Quote(said.quote.clone()), said.witness)))
}
