//! Subnets: addresses with the same prefix.

use std::fmt;
use std::net::IpAddr;

use serde::Deserialize;

/// A subnet: address and prefix length; without a length, the address alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Subnet {
    address: IpAddr,
    prefix: u8,
}

impl Subnet {
    /// Bits that its addresses have in common.
    #[must_use]
    pub const fn prefix(&self) -> u8 {
        self.prefix
    }

    /// Whether `address` belongs to it.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        let bits = |address: IpAddr| match address {
            IpAddr::V4(v4) => (u128::from(v4.to_bits()) << 96, 4),
            IpAddr::V6(v6) => (v6.to_bits(), 6),
        };
        let ((own, family), (other, other_family)) = (bits(self.address), bits(address));
        let differing = (own ^ other).leading_zeros();
        family == other_family && differing >= u32::from(self.prefix)
    }
}

impl fmt::Display for Subnet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix)
    }
}

impl TryFrom<String> for Subnet {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let wrong = || format!("`{text}` is not a network; write address and prefix: 10.0.4.0/24");
        let (address, prefix) = text.split_once('/').unwrap_or((&text, ""));
        let address: IpAddr = address.parse().map_err(|_| wrong())?;
        let longest = if address.is_ipv4() { 32 } else { 128 };
        let prefix = if prefix.is_empty() {
            longest
        } else {
            prefix.parse().ok().filter(|prefix| *prefix <= longest).ok_or_else(wrong)?
        };
        Ok(Self { address, prefix })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subnet(text: &str) -> Result<Subnet, String> {
        Subnet::try_from(text.to_owned())
    }

    #[test]
    fn subnets_hold_their_addresses() {
        let inner: IpAddr = "10.0.4.51".parse().unwrap();
        for (text, holds) in [
            ("10.0.4.0/24", true),
            ("10.0.5.0/24", false),
            ("0.0.0.0/0", true),
            ("10.0.4.51", true),
            ("::/0", false),
        ] {
            assert_eq!(subnet(text).unwrap().contains(inner), holds, "{text}");
        }
        for text in ["10.0.4.0/33", "10.0.4/24", "", "10.0.4.0/x"] {
            assert!(subnet(text).is_err(), "{text}");
        }
    }
}
