//! XDP: what a mirror port receives, in its driver, before the kernel allocates an skb for it, which is most of
//! what a frame costs.
//!
//! Hook: XDP in the driver, for frames in several pieces too (kernel 5.18). Needs `CAP_BPF`, `CAP_NET_ADMIN` and
//! `CAP_PERFMON`. Drops copies: unicast to other Ethernet addresses than the interface's, and mirror sessions.
//! Passes all else to the kernel.

use core::ffi::c_void;

use aya_ebpf::bindings::xdp_action::{XDP_DROP, XDP_PASS};
use aya_ebpf::helpers::{bpf_xdp_get_buff_len, bpf_xdp_load_bytes};
use aya_ebpf::macros::xdp;
use aya_ebpf::programs::XdpContext;

use super::headers;
use super::maps::{self, OWN_ADDRESSES};
use super::packet::{self, Nature, Packet};

#[xdp(frags)]
#[inline(always)]
pub(crate) fn mirrored_in(context: XdpContext) -> u32 {
    // A number of which the verifier knows nothing: it would check the code after it twice.
    let is_foreign = u64::from(is_foreign(&context)) ^ maps::nothing();
    match packet::observe(&context, false) {
        Nature::Other if is_foreign == 0 => XDP_PASS,
        Nature::Other | Nature::MirrorSession => XDP_DROP,
    }
}

/// Whether the frame is unicast to another address than the interface's. False if that is not known.
#[inline(always)]
fn is_foreign(context: &XdpContext) -> bool {
    let Some(destination) = headers::destination(context) else { return false };
    let Some(own) = OWN_ADDRESSES.get_ptr(&context.interface_index()) else { return false };
    // SAFETY: the map keeps the value while the program runs; user space may change it.
    let own = unsafe { own.read_volatile() };
    !headers::is_group(destination) && destination != own
}

impl Packet for XdpContext {
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
        // SAFETY: the kernel's, alive while the program runs.
        unsafe { bpf_xdp_get_buff_len(self.ctx) as u32 }
    }

    #[inline(always)]
    fn interface_index(&self) -> u32 {
        self.ingress_ifindex() as u32
    }

    /// A tag that the NIC removes is in no memory that XDP sees.
    #[inline(always)]
    fn vlan(&self) -> u32 {
        0
    }

    #[inline(always)]
    unsafe fn read(&self, offset: u32, room: *mut c_void, len: u32) -> bool {
        // SAFETY: by the caller.
        unsafe { bpf_xdp_load_bytes(self.ctx, offset, room.cast(), len) == 0 }
    }
}
