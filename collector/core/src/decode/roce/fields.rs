//! Fields of a management datagram by their offset, as the specification's tables give them. That
//! a field lies within its message is checked when this is compiled.

use std::net::Ipv6Addr;

use crate::decode::cursor::Cursor;
use crate::decode::error::{DecodeError, Layer};
use crate::model::psn::Psn;
use crate::model::qpn::Qpn;

/// The bytes of a message, or of a part with a table of its own.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fields<'a, const LEN: usize>(pub(super) &'a [u8; LEN]);

/// The fields of a message, and the private data behind them.
pub(super) fn split<const LEN: usize>(
    mut cursor: Cursor<'_>,
) -> Result<(Fields<'_, LEN>, &[u8]), DecodeError> {
    let fields = Fields(cursor.take(Layer::ConnectionManager)?);
    Ok((fields, cursor.bytes()))
}

impl<const LEN: usize> Fields<'_, LEN> {
    fn bytes<const AT: usize, const N: usize>(self) -> [u8; N] {
        const { assert!(AT.saturating_add(N) <= LEN, "the field lies within the message") };
        let field = self.0.get(AT..).and_then(<[u8]>::first_chunk);
        field.copied().unwrap_or([0; N])
    }

    pub(super) fn u8<const AT: usize>(self) -> u8 {
        u8::from_be_bytes(self.bytes::<AT, 1>())
    }

    pub(super) fn u16<const AT: usize>(self) -> u16 {
        u16::from_be_bytes(self.bytes::<AT, 2>())
    }

    pub(super) fn u32<const AT: usize>(self) -> u32 {
        u32::from_be_bytes(self.bytes::<AT, 4>())
    }

    pub(super) fn u64<const AT: usize>(self) -> u64 {
        u64::from_be_bytes(self.bytes::<AT, 8>())
    }

    /// The first three of the four bytes at `AT`.
    fn u24<const AT: usize>(self) -> u32 {
        self.u32::<AT>() >> 8
    }

    pub(super) fn qpn<const AT: usize>(self) -> Qpn {
        Qpn::new(self.u24::<AT>())
    }

    pub(super) fn psn<const AT: usize>(self) -> Psn {
        Psn::new(self.u24::<AT>())
    }

    pub(super) fn gid<const AT: usize>(self) -> Ipv6Addr {
        Ipv6Addr::from(self.bytes::<AT, 16>())
    }
}
