//! Traffic control: every packet that the kernel receives or sends on an interface.
//!
//! Hook: `tcx/ingress` and `tcx/egress` (kernel 6.6), clsact before. Needs `CAP_BPF`,
//! `CAP_NET_ADMIN` and `CAP_PERFMON`. Always passes the packet on to the next program, unchanged.

use aya_ebpf::bindings::TC_ACT_UNSPEC;
use aya_ebpf::macros::classifier;
use aya_ebpf::programs::TcContext;

use super::headers::{self, TCP, UDP};
use super::{roce, tcp};

#[classifier]
pub(crate) fn packets_in(context: TcContext) -> i32 {
    observe(&context, false)
}

#[classifier]
pub(crate) fn packets_out(context: TcContext) -> i32 {
    observe(&context, true)
}

#[inline(always)]
pub(super) fn observe(context: &TcContext, is_outbound: bool) -> i32 {
    if let Some(network) = headers::network(context) {
        match network.protocol {
            UDP => _ = roce::observe(context, &network, is_outbound),
            TCP => _ = tcp::observe(context, &network, is_outbound),
            _ => {}
        }
    }
    TC_ACT_UNSPEC
}
