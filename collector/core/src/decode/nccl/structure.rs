//! A C structure in the memory layout of a little-endian host.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};

const AF_INET: u16 = 2;
const AF_INET6: u16 = 10;

/// The bytes of a structure, with fields by offset; `None` if the field was not captured.
#[derive(Clone, Copy, Debug)]
pub(super) struct Structure<'a>(pub(super) &'a [u8]);

impl<'a> Structure<'a> {
    pub(super) fn bytes<const N: usize>(self, at: usize) -> Option<&'a [u8; N]> {
        self.0.get(at..).and_then(<[u8]>::first_chunk)
    }

    pub(super) fn u8(self, at: usize) -> Option<u8> {
        self.0.get(at).copied()
    }

    fn u16(self, at: usize) -> Option<u16> {
        self.bytes(at).copied().map(u16::from_le_bytes)
    }

    pub(super) fn u32(self, at: usize) -> Option<u32> {
        self.bytes(at).copied().map(u32::from_le_bytes)
    }

    pub(super) fn i32(self, at: usize) -> Option<i32> {
        self.bytes(at).copied().map(i32::from_le_bytes)
    }

    pub(super) fn u64(self, at: usize) -> Option<u64> {
        self.bytes(at).copied().map(u64::from_le_bytes)
    }

    /// A number that C stores in an `int` and that is never negative.
    pub(super) fn count(self, at: usize) -> Option<u32> {
        self.i32(at).and_then(|number| number.try_into().ok())
    }

    /// `union ncclSocketAddress` (NCCL `src/include/socket.h`), 28 bytes: a reachable address.
    /// `None` for everything else, so that addresses can be distinguished from other bytes.
    pub(super) fn socket_address(self, at: usize) -> Option<SocketAddr> {
        let union = Structure(self.bytes::<SOCKET_ADDRESS_BYTES>(at)?);
        let port = u16::from_be_bytes(*union.bytes(2)?);
        let address = match union.u16(0)? {
            AF_INET if union.u64(8)? == 0 => {
                let address = Ipv4Addr::from(*union.bytes::<4>(4)?);
                SocketAddr::new(IpAddr::V4(address), port)
            }
            AF_INET6 => {
                let address = Ipv6Addr::from(*union.bytes::<16>(8)?);
                let flow_info = u32::from_be_bytes(*union.bytes(4)?);
                SocketAddr::V6(SocketAddrV6::new(address, port, flow_info, union.u32(24)?))
            }
            _ => return None,
        };
        (port != 0 && !address.ip().is_unspecified()).then_some(address)
    }
}

/// Size of `union ncclSocketAddress`.
pub(super) const SOCKET_ADDRESS_BYTES: usize = 28;
