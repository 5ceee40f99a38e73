//! Traffic control: every packet that the kernel receives or sends on an interface.
//!
//! Hook: `tcx/ingress` and `tcx/egress` (kernel 6.6), clsact before. Needs `CAP_BPF`,
//! `CAP_NET_ADMIN` and `CAP_PERFMON`. Always passes the packet on to the next program, unchanged.

use aya_ebpf::bindings::TC_ACT_UNSPEC;
use aya_ebpf::macros::classifier;
use aya_ebpf::programs::TcContext;

use railscope_ebpf::loss::Loss;

use super::headers::{self, TCP, UDP};
use super::{encapsulated, log, roce, tcp};

#[classifier]
#[inline(always)]
pub(crate) fn packets_in(context: TcContext) -> i32 {
    observe(&context, false)
}

#[classifier]
#[inline(always)]
pub(crate) fn packets_out(context: TcContext) -> i32 {
    observe(&context, true)
}

#[inline(always)]
pub(super) fn observe(context: &TcContext, is_outbound: bool) -> i32 {
    if read(context, is_outbound).is_none() {
        log::lost(Loss::Unused);
    }
    TC_ACT_UNSPEC
}

/// Takes a packet; `None` if it is of no use here.
#[inline(always)]
fn read(context: &TcContext, is_outbound: bool) -> Option<()> {
    let link = headers::link(context, 0)?;
    let Some(network) = headers::network(context, &link) else {
        return encapsulated::observe_link(context, &link, is_outbound);
    };
    match network.protocol {
        TCP => tcp::observe(context, &network, is_outbound),
        UDP if roce::observe(context, &network, is_outbound).is_some() => Some(()),
        _ => encapsulated::observe(context, &network, is_outbound),
    }
}
