//! An end of NET/IB's connection in the exchange of queue pairs. What readers need is written anew and the rest is
//! zero: up to 2.23, NCCL sends what was on its stack beside it.

use super::bootstrap;
use super::claim::Claims;
use super::pseudonym::Pseudonyms;
use super::text::{Unknown, words};
use railscope_core::decode::nccl::greeting::Greeting;
use railscope_core::decode::nccl::ib_endpoint::{
    DEVICE_GID, DEVICE_LINK_LAYER, DEVICE_MTU, DEVICE_RKEY, Endpoint, ONE_PORT_LINK_LAYER,
    ONE_PORT_QPN, PortLayout, QP_DEVICE, QP_ECE_SUPPORTED, QP_INFO_LEN, QUEUE_PAIRS,
};
use railscope_core::decode::nccl::layout::{LAYOUTS, Layout};

/// Numbers of queue pairs have 24 bits.
const QPNS: u32 = 1 << 24;

/// The sender's last bytes, when it is ready.
const READY: [u8; 4] = 1_u32.to_le_bytes();

/// Writes a stream of an exchange anew. If no release sends such a stream, nothing but the greeting is left.
pub(super) fn rewrite(before: &[u8], pseudonyms: &mut Pseudonyms) -> Vec<u8> {
    let mut claims = Claims::new(before);
    let greeting =
        Greeting::decode(before).map_or(0, |it| bootstrap::greet(&mut claims, &it, pseudonyms));
    let fitting =
        LAYOUTS.iter().rev().find_map(|layout| Some((layout, place(before, greeting, layout)?)));
    let Some((layout, start)) = fitting else { return claims.out };
    if start > greeting {
        claims.count(greeting, 1 << 8);
    }
    let end = start + layout.endpoint.len;
    if before.get(end..) == Some(&READY) {
        claims.put(end, READY);
    }
    let mut own = Claims::new(before.get(start..end).unwrap_or_default());
    copy(&mut own, layout, pseudonyms);
    if let Some(place) = claims.out.get_mut(start..end) {
        place.copy_from_slice(&own.out);
    }
    claims.out
}

/// Where a layout has the end, if one is there.
fn place(bytes: &[u8], greeting: usize, layout: &Layout) -> Option<usize> {
    let start = greeting + layout.devices.map_or(0, |devices| devices.len);
    let end = start + layout.endpoint.len;
    let is_whole = matches!(bytes.len().checked_sub(end)?, 0 | 4);
    let is_end = is_whole && Endpoint::decode(bytes.get(start..end)?, layout.endpoint).is_some();
    is_end.then_some(start)
}

/// Copies what readers need.
fn copy(claims: &mut Claims<'_>, layout: &Layout, pseudonyms: &mut Pseudonyms) {
    let layout = layout.endpoint;
    let Some(end) = Endpoint::decode(claims.before, layout) else { return };
    claims.put(layout.fifo_address, pseudonyms.virtual_address(end.fifo_address).to_le_bytes());
    let places = (0..QUEUE_PAIRS).filter(|place| end.queue_pair(*place).is_some());
    // Where a GID and a key are.
    let mut ports = Vec::new();
    match layout.ports {
        PortLayout::One { gid } => {
            claims.keep(ONE_PORT_LINK_LAYER, 1);
            claims.count(gid + 16, 1 << 8);
            let (first, len) = ONE_PORT_QPN;
            places.for_each(|place| claims.count(first + len * place, QPNS));
            ports.push((gid, gid + 20));
        }
        PortLayout::Several(several) => {
            for place in places.map(|place| QP_INFO_LEN * place) {
                claims.count(place, QPNS);
                claims.count(place + QP_ECE_SUPPORTED, 1 << 8);
                claims.count(place + QP_DEVICE, 1 << 8);
            }
            for device in 0..end.device_count as usize {
                let start = several.devices + device * several.device_len;
                claims.count(start + DEVICE_MTU, 1 << 8);
                claims.keep(start + DEVICE_LINK_LAYER, 1);
                ports.push((start + DEVICE_GID, start + DEVICE_RKEY));
            }
            let name = words(end.device_name, Unknown::Name, pseudonyms);
            let place = claims.out.get_mut(several.name..several.name + several.name_len - 1);
            place.into_iter().flatten().zip(name.bytes()).for_each(|(to, from)| *to = from);
            claims.count(several.device_count, 1 << 8);
            several.traffic_class.into_iter().for_each(|at| claims.count(at, 1 << 8));
        }
    }
    for (gid, key) in ports {
        if let Some(bytes) = claims.bytes(gid) {
            claims.put(gid, pseudonyms.gid(bytes));
        }
        if let Some(word) = claims.word(key) {
            claims.put(key, pseudonyms.remote_key(word).to_le_bytes());
        }
    }
}
