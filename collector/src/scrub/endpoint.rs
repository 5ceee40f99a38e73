//! An end of NET/IB's connection in the exchange of queue pairs. What readers need is written anew and the rest is
//! zero: up to 2.23, NCCL sends what was on its stack beside it.

use super::pseudonym::Pseudonyms;
use super::sums::put;
use railscope_core::decode::nccl::greeting::Greeting;
use railscope_core::decode::nccl::ib_endpoint::{
    DEVICE_GID, DEVICE_LINK_LAYER, DEVICE_MTU, DEVICE_RKEY, Endpoint, ONE_PORT_LINK_LAYER,
    ONE_PORT_QPN, PortLayout, QP_DEVICE, QP_ECE_SUPPORTED, QP_INFO_LEN, QUEUE_PAIRS,
};
use railscope_core::decode::nccl::layout::{LAYOUTS, Layout};

/// What follows the description of an end at most: that it is ready.
const BEHIND: usize = 16;

/// Rewrites a stream of an exchange behind its greeting; returns the bytes that are rewritten. If no release
/// sends such a stream, no reader reads it, and it becomes zero.
pub(super) fn rewrite(bytes: &mut [u8], pseudonyms: &Pseudonyms) -> std::ops::Range<usize> {
    let greeting = Greeting::decode(bytes).map_or(0, |_| Greeting::LEN);
    let fitting = LAYOUTS.iter().rev().find_map(|layout| Some((layout, place(bytes, layout)?)));
    let Some((layout, start)) = fitting else {
        bytes.iter_mut().skip(greeting).for_each(|byte| *byte = 0);
        return greeting..bytes.len();
    };
    let end = start + layout.endpoint.len;
    let Some(place) = bytes.get_mut(start..end) else { return 0..0 };
    let before = place.to_vec();
    place.fill(0);
    copy(&before, place, layout, pseudonyms);
    start..end
}

/// Where a layout has the end, if one is there.
fn place(bytes: &[u8], layout: &Layout) -> Option<usize> {
    let greeting = Greeting::decode(bytes).map_or(0, |_| Greeting::LEN);
    let start = greeting + layout.devices.map_or(0, |devices| devices.len);
    let end = start + layout.endpoint.len;
    let behind = bytes.len().checked_sub(end)?;
    let is_end =
        behind <= BEHIND && Endpoint::decode(bytes.get(start..end)?, layout.endpoint).is_some();
    is_end.then_some(start)
}

/// Copies what readers need from `before`.
fn copy(before: &[u8], out: &mut [u8], layout: &Layout, pseudonyms: &Pseudonyms) {
    let layout = layout.endpoint;
    let Some(end) = Endpoint::decode(before, layout) else { return };
    put(out, layout.fifo_address, pseudonyms.virtual_address(end.fifo_address).to_le_bytes());
    let mut keep = |at: usize, len: usize| {
        if let Some((to, from)) = out.get_mut(at..at + len).zip(before.get(at..at + len)) {
            to.copy_from_slice(from);
        }
    };
    let places = (0..QUEUE_PAIRS).filter(|place| end.queue_pair(*place).is_some());
    // Where a GID and a key are.
    let mut ports = Vec::new();
    match layout.ports {
        PortLayout::One { gid } => {
            keep(ONE_PORT_LINK_LAYER, 1);
            keep(gid + 16, 4);
            let (first, len) = ONE_PORT_QPN;
            places.for_each(|place| keep(first + len * place, len));
            ports.push((gid, gid + 20));
        }
        PortLayout::Several(several) => {
            for place in places.map(|place| QP_INFO_LEN * place) {
                [0, QP_ECE_SUPPORTED, QP_DEVICE].into_iter().for_each(|at| keep(place + at, 4));
            }
            for device in 0..end.device_count as usize {
                let start = several.devices + device * several.device_len;
                keep(start + DEVICE_MTU, 4);
                keep(start + DEVICE_LINK_LAYER, 1);
                ports.push((start + DEVICE_GID, start + DEVICE_RKEY));
            }
            keep(several.name, end.device_name.len());
            keep(several.device_count, 4);
            several.traffic_class.into_iter().for_each(|at| keep(at, 4));
        }
    }
    for (gid, key) in ports {
        if let Some(bytes) = before.get(gid..gid + 16).and_then(|gid| gid.try_into().ok()) {
            put(out, gid, pseudonyms.fixed_gid(bytes));
        }
        if let Some(bytes) = before.get(key..key + 4).and_then(|key| key.try_into().ok()) {
            put(out, key, pseudonyms.remote_key(u32::from_le_bytes(bytes)).to_le_bytes());
        }
    }
}
