//! Which dialect the first bytes of a connection belong to.

use super::store;
use crate::decode::nccl::check_in::{CHECK_IN_64, CheckIn};
use crate::decode::nccl::greeting::{Greeting, SocketType};
use crate::decode::nccl::layout::{LAYOUTS, Layout};
use crate::decode::nccl::proxy;
use crate::decode::nccl::root_reply::{REPLY_28, REPLY_128};
use crate::flow::tcp_stream::sink::{Side, TcpConnection};

/// The verdict on the connector's first bytes.
pub(super) enum Recognition {
    /// Too few bytes.
    NeedMore,
    /// No dialect.
    Other,
    /// NCCL up to 2.15.
    Unsupported,
    /// NCCL.
    Greeted(Greeting),
    /// A TCPStore.
    Store,
}

impl Recognition {
    /// The dialect of `bytes`, the first ones sent by `first`.
    pub(super) fn from_opening(bytes: &[u8], connection: &TcpConnection, first: Side) -> Self {
        match recognise_nccl(bytes) {
            Self::Other => {}
            known => return known,
        }
        // The first sender is the connector, unless the SYN shows otherwise.
        let side = if connection.is_from_start { first } else { Side::Client };
        match store::recognises(bytes, side) {
            store::Recognition::Yes => Self::Store,
            store::Recognition::NeedMore => Self::NeedMore,
            store::Recognition::No => Self::Other,
        }
    }
}

fn recognise_nccl(bytes: &[u8]) -> Recognition {
    if bytes.len() < Greeting::LEN {
        return Recognition::NeedMore;
    }
    let Some(greeting) = Greeting::decode(bytes) else { return recognise_unsupported(bytes) };
    let rest = bytes.get(Greeting::LEN..).unwrap_or(&[]);
    let is_ours = match greeting.socket_type {
        SocketType::Bootstrap => rest.first_chunk().map(|length| begins_bootstrap(*length)),
        SocketType::Proxy => rest.first_chunk().map(proxy::is_request),
        SocketType::NetSocket | SocketType::NetIb | SocketType::Ras => Some(true),
    };
    match is_ours {
        Some(true) => Recognition::Greeted(greeting),
        Some(false) => Recognition::Other,
        None => Recognition::NeedMore,
    }
}

/// Up to 2.15 there is no greeting; the check-in at the root is a frame of 64 bytes.
fn recognise_unsupported(bytes: &[u8]) -> Recognition {
    let frame = bytes.strip_prefix(&(CHECK_IN_64.len as u32).to_le_bytes());
    match frame.map(|frame| frame.get(..CHECK_IN_64.len)) {
        Some(Some(frame)) if CheckIn::decode(frame, &CHECK_IN_64).is_some() => {
            Recognition::Unsupported
        }
        Some(None) => Recognition::NeedMore,
        _ => Recognition::Other,
    }
}

/// Whether a frame of this length can be the first of a bootstrap connection.
fn begins_bootstrap(length: [u8; 4]) -> bool {
    let length = u32::from_le_bytes(length) as usize;
    let is_first = |layout: &Layout| {
        layout.check_in.len == length
            || layout.peer_message.preamble_len == length
            || layout.addresses.gathers.first() == Some(&length)
    };
    LAYOUTS.iter().any(is_first) || matches!(length, REPLY_28 | REPLY_128)
}
