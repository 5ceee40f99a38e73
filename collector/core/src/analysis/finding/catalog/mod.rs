//! All findings, one a file, in the order in which they are reported when equally severe.

pub mod allowance_exceeded;
pub mod bad_icrc;
pub mod bandwidth_low;
pub mod bootstrap_incomplete;
pub mod bootstrap_slow;
pub mod call_failed;
pub mod ce_without_cnp;
pub mod cnp_without_reaction;
pub mod collective_timeout;
pub mod communicator_failed;
pub mod congestion;
pub mod dscp_differs;
pub mod efa;
pub mod efa_failed;
pub mod request_errors;
pub mod fi_no_provider;
pub mod gid_not_routable;
pub mod gpu_direct_off;
pub mod gpu_far_from_nic;
pub mod graph_far;
pub mod nics_unused;
pub mod host_drops;
pub mod hosts_differ;
pub mod init_slow;
pub mod inside_collective;
pub mod link_down;
pub mod link_layers_mixed;
pub mod loss;
pub mod master_unreachable;
pub mod nccl_warning;
pub mod networks_differ;
pub mod node_link_layers;
pub mod no_subnet_manager;
pub mod not_ect;
pub mod odd_interface;
pub mod partition_key;
pub mod path_mtu;
pub mod path_mtu_mismatch;
pub mod pause;
pub mod pause_sent;
pub mod pfc_off;
pub mod pfc_storm;
pub mod pfc_watchdog;
pub mod port_mtu;
pub mod port_slower;
pub mod ports_down;
pub mod process_unreachable;
pub mod qos_differs;
pub mod queue_pair_error;
pub mod rank_not_called;
pub mod ranks_disagree;
pub mod rdma_not_visible;
pub mod receiver_not_ready;
mod recorded;
pub mod refused_request;
pub mod releases_differ;
pub mod reordering;
pub mod ring_order;
pub mod slow_path;
pub mod socket_fallback;
pub mod socket_stalled;
pub mod sources_disagree;
pub mod stalled_collective;
pub mod straggler;
mod switch_counters;
pub mod switch_drops;
pub mod switch_dscp_differs;
pub mod switch_ecn_differs;
pub mod switch_errors;
pub mod switch_no_pause;
pub mod switch_paused;
pub mod switch_pfc_differs;
pub mod timeouts;
pub mod uneven_paths;
pub mod unexpected_network;
pub mod wrong_values;

use super::kind::Kind;
use super::log_cause;

/// Every kind of finding: what stops a job first, then what slows it down, then what is good to
/// know.
// tidy: table
pub const ALL: &[&Kind] = &[
    &wrong_values::KIND,
    &master_unreachable::KIND,
    &bootstrap_incomplete::KIND,
    &ranks_disagree::KIND,
    &rank_not_called::KIND,
    &process_unreachable::KIND,
    &communicator_failed::KIND,
    &queue_pair_error::KIND,
    &stalled_collective::KIND,
    &socket_stalled::KIND,
    &inside_collective::KIND,
    &releases_differ::KIND,
    &networks_differ::KIND,
    &collective_timeout::KIND,
    &refused_request::KIND,
    &socket_fallback::KIND,
    &pfc_storm::KIND,
    &partition_key::KIND,
    &path_mtu_mismatch::KIND,
    &nccl_warning::KIND,
    &call_failed::KIND,
    &link_layers_mixed::KIND,
    &gpu_direct_off::KIND,
    &hosts_differ::KIND,
    &odd_interface::KIND,
    &efa_failed::KIND,
    &link_down::KIND,
    &straggler::KIND,
    &timeouts::KIND,
    &loss::KIND,
    &receiver_not_ready::KIND,
    &pause::KIND,
    &congestion::KIND,
    &ce_without_cnp::KIND,
    &cnp_without_reaction::KIND,
    &not_ect::KIND,
    &dscp_differs::KIND,
    &slow_path::KIND,
    &uneven_paths::KIND,
    &path_mtu::KIND,
    &ring_order::KIND,
    &bootstrap_slow::KIND,
    &init_slow::KIND,
    &unexpected_network::KIND,
    &sources_disagree::KIND,
    &rdma_not_visible::KIND,
    &bandwidth_low::KIND,
    &fi_no_provider::KIND,
    &gid_not_routable::KIND,
    &pfc_off::KIND,
    &qos_differs::KIND,
    &gpu_far_from_nic::KIND,
    &graph_far::KIND,
    &nics_unused::KIND,
    &no_subnet_manager::KIND,
    &ports_down::KIND,
    &port_slower::KIND,
    &node_link_layers::KIND,
    &port_mtu::KIND,
    &request_errors::KIND,
    &pfc_watchdog::KIND,
    &switch_pfc_differs::KIND,
    &switch_dscp_differs::KIND,
    &switch_ecn_differs::KIND,
    &switch_no_pause::KIND,
    &switch_drops::KIND,
    &switch_errors::KIND,
    &switch_paused::KIND,
    &host_drops::KIND,
    &allowance_exceeded::KIND,
    &pause_sent::KIND,
    &reordering::KIND,
    &bad_icrc::KIND,
    &efa::KIND,
];

/// Names of all findings, and of the causes that logs name.
pub fn names() -> impl Iterator<Item = &'static str> + Clone {
    let causes = log_cause::ALL.iter().map(|cause| cause.id);
    ALL.iter().map(|kind| kind.id).chain(causes)
}
