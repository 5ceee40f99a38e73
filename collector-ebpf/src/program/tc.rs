//! Traffic control: every packet that the kernel receives or sends on an interface.
//!
//! Hook: `tcx/ingress` and `tcx/egress` (kernel 6.6), clsact before. Needs `CAP_BPF`,
//! `CAP_NET_ADMIN` and `CAP_PERFMON`. Always passes the packet on to the next program, unchanged.

use core::ffi::c_void;

use aya_ebpf::bindings::TC_ACT_UNSPEC;
use aya_ebpf::helpers::bpf_skb_load_bytes;
use aya_ebpf::macros::classifier;
use aya_ebpf::programs::TcContext;

use super::packet::{self, Packet};

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
    packet::observe(context, is_outbound);
    TC_ACT_UNSPEC
}

impl Packet for TcContext {
    #[inline(always)]
    fn data(&self) -> usize {
        Self::data(self)
    }

    #[inline(always)]
    fn data_end(&self) -> usize {
        Self::data_end(self)
    }

    #[inline(always)]
    fn len(&self) -> u32 {
        Self::len(self)
    }

    #[inline(always)]
    fn interface_index(&self) -> u32 {
        // SAFETY: the kernel's, alive while the program runs.
        unsafe { (*self.skb.skb).ifindex }
    }

    #[inline(always)]
    fn vlan(&self) -> u32 {
        let skb = self.skb.skb;
        // SAFETY: as above.
        unsafe {
            if (*skb).vlan_present == 0 {
                return 0;
            }
            let protocol = u16::from_be((*skb).vlan_proto as u16);
            u32::from(protocol) << 16 | (*skb).vlan_tci & 0xffff
        }
    }

    #[inline(always)]
    unsafe fn read(&self, offset: u32, room: *mut c_void, len: u32) -> bool {
        // SAFETY: by the caller.
        unsafe { bpf_skb_load_bytes(self.skb.skb.cast(), offset, room.cast(), len) == 0 }
    }
}
