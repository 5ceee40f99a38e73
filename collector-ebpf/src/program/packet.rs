//! A packet at any hook, and what is done with it there.

use core::ffi::c_void;

use railscope_ebpf::loss::Loss;

use super::headers::{self, TCP, UDP};
use super::{encapsulated, log, roce, tcp};

/// A packet at a hook.
pub(super) trait Packet {
    /// Where its first piece begins.
    fn data(&self) -> usize;

    /// Where its first piece ends.
    fn data_end(&self) -> usize;

    /// Bytes of all its pieces.
    fn len(&self) -> u32;

    /// Index of the interface.
    fn interface_index(&self) -> u32;

    /// The VLAN tag that the NIC removed: TCI, and above it the tag's protocol; 0 for none, and where the hook
    /// does not show it.
    fn vlan(&self) -> u32;

    /// Copies `len` bytes from `offset`, whichever pieces they are in; returns whether the packet has them.
    ///
    /// # Safety
    ///
    /// As many bytes can be written to `room`.
    unsafe fn read(&self, offset: u32, room: *mut c_void, len: u32) -> bool;
}

/// What a packet is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Nature {
    /// A copy that a switch sent in a mirror session, such as ERSPAN.
    MirrorSession,
    /// Any other.
    Other,
}

/// Takes a packet.
#[inline(always)]
pub(super) fn observe(packet: &impl Packet, is_outbound: bool) -> Nature {
    read(packet, is_outbound).unwrap_or_else(|| {
        log::lost(Loss::Unused);
        Nature::Other
    })
}

/// `None` if it is of no use here.
#[inline(always)]
fn read(packet: &impl Packet, is_outbound: bool) -> Option<Nature> {
    let link = headers::link(packet, 0)?;
    let Some(network) = headers::network(packet, &link) else {
        encapsulated::observe_link(packet, &link, is_outbound)?;
        return Some(Nature::Other);
    };
    match network.protocol {
        TCP => tcp::observe(packet, &network, is_outbound)?,
        UDP if roce::observe(packet, &network, is_outbound).is_some() => {}
        _ => return encapsulated::observe(packet, &network, is_outbound),
    }
    Some(Nature::Other)
}
