//! Addresses of hosts and of their network interfaces.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

use serde::{Deserialize, Serialize};

/// An IP address of either family as one number: IPv4 as IPv4-mapped IPv6, which is also how a
/// RoCEv2 GID spells it (IBTA annex A17).
// Aligned as words are: a flow's key has 40 bytes, not 48.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[repr(Rust, packed(8))]
pub struct HostAddress(u128);

impl HostAddress {
    /// The address as a standard library type; IPv4 if it is mapped.
    #[must_use]
    pub fn to_ip(self) -> IpAddr {
        Ipv6Addr::from_bits(self.0).to_canonical()
    }

    /// The last four bytes: an IPv4 address, the end of an interface identifier.
    #[must_use]
    pub const fn low_bits(self) -> u32 {
        self.0 as u32
    }
}

impl From<IpAddr> for HostAddress {
    #[inline]
    fn from(ip: IpAddr) -> Self {
        match ip {
            IpAddr::V4(v4) => Self(0xffff_0000_0000 | u128::from(v4.to_bits())),
            IpAddr::V6(v6) => Self(v6.to_bits()),
        }
    }
}

impl fmt::Display for HostAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to_ip().fmt(f)
    }
}

/// An Ethernet (EUI-48) address.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct MacAddress(pub [u8; 6]);

impl fmt::Display for MacAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}
