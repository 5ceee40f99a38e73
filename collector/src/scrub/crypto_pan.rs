//! Crypto-PAn: addresses that share a prefix share one of the same length afterwards (J. Xu, J. Fan,
//! M. Ammar, S. Moon, "Prefix-preserving IP address anonymization", ICNP 2002), with AES-128. No well-kept crate
//! has it: `ipcrypt-rs` preserves prefixes by another algorithm, which would not keep private addresses private.
//!
//! Bit `n` of an address is flipped or not by a bit that AES computes of the bits before it and, but for the published
//! form, of `n`: without it, equal padding makes neighbouring bits share their fate, and one host in 140 of a
//! network of 16 bits keeps its address. [`CryptoPan::address`] keeps what an address is for: private stays private, multicast stays as it is.
//! It does so by never flipping a bit above such a block, which still preserves all prefixes.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use aes::Aes128;
use aes::cipher::{Array, BlockCipherEncrypt, KeyInit};

use super::key::Key;

/// A block of addresses with a meaning: first bits, their number, and whether the rest is kept, too.
struct Block {
    bits: u128,
    len: u32,
    is_kept: bool,
}

const fn v4(bits: u32, len: u32, is_kept: bool) -> Block {
    Block { bits: (bits as u128) << 96, len, is_kept }
}

const fn v6(first: u16, len: u32, is_kept: bool) -> Block {
    Block { bits: (first as u128) << 112, len, is_kept }
}

/// RFC 6890, RFC 5771. The address is in the upper bits.
const BLOCKS_V4: [Block; 10] = [
    v4(0x0000_0000, 8, true),
    v4(0x7f00_0000, 8, true),
    v4(0xe000_0000, 4, true),
    v4(0xffff_ffff, 32, true),
    v4(0x0a00_0000, 8, false),
    v4(0x6440_0000, 10, false),
    v4(0xa9fe_0000, 16, false),
    v4(0xac10_0000, 12, false),
    v4(0xc0a8_0000, 16, false),
    v4(0xf000_0000, 4, false),
];

/// RFC 4291, RFC 4193: nothing and loopback, multicast, link-local, unique local.
const BLOCKS_V6: [Block; 4] =
    [v6(0, 127, true), v6(0xff00, 8, true), v6(0xfe80, 64, false), v6(0xfc00, 7, false)];

/// The cipher of one key.
#[derive(Clone)]
pub struct CryptoPan {
    cipher: Aes128,
    pad: u128,
}

impl std::fmt::Debug for CryptoPan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("CryptoPan(..)")
    }
}

impl CryptoPan {
    /// The first half of the key is AES's, the second half becomes the padding.
    #[must_use]
    pub fn new(key: &Key) -> Self {
        let (aes, pad) = key.bytes().split_at(16);
        let mut own = [0; 16];
        own.copy_from_slice(aes);
        let cipher = Aes128::new(&Array(own));
        let mut block = [0; 16];
        block.copy_from_slice(pad);
        let pad = encrypt(&cipher, u128::from_be_bytes(block));
        Self { cipher, pad }
    }

    /// The published algorithm, whatever the address means.
    #[must_use]
    pub fn published(&self, address: IpAddr) -> IpAddr {
        match address {
            IpAddr::V4(address) => v4_of(self.flip(bits_of(address), 32, None)).into(),
            IpAddr::V6(address) => Ipv6Addr::from(self.flip(address.into(), 128, None)).into(),
        }
    }

    /// The pseudonym of an address. An IPv4 address in an IPv6 address is replaced as itself.
    #[must_use]
    pub fn address(&self, address: IpAddr) -> IpAddr {
        match address {
            IpAddr::V4(address) => self.v4(address).into(),
            IpAddr::V6(address) => match address.to_ipv4_mapped() {
                Some(inner) => self.v4(inner).to_ipv6_mapped().into(),
                None => Ipv6Addr::from(self.flip(address.into(), 128, Some(&BLOCKS_V6))).into(),
            },
        }
    }

    fn v4(&self, address: Ipv4Addr) -> Ipv4Addr {
        v4_of(self.flip(bits_of(address), 32, Some(&BLOCKS_V4)))
    }

    /// `None` is the published form.
    fn flip(&self, address: u128, len: u32, meanings: Option<&[Block]>) -> u128 {
        let blocks = meanings.unwrap_or(&[]);
        let first = |value: u128, bits: u32| value.checked_shr(128 - bits).unwrap_or(0);
        let holds = |block: &&Block| first(address, block.len) == first(block.bits, block.len);
        if blocks.iter().find(holds).is_some_and(|block| block.is_kept) {
            return address;
        }
        let mut flipped = address;
        for at in 0..len {
            let above = first(address, at);
            let is_above = |block: &Block| block.len > at && first(block.bits, at) == above;
            if blocks.iter().any(is_above) {
                continue;
            }
            let rest = u128::MAX.checked_shr(at).unwrap_or(0);
            let block = (address & !rest) | (self.pad & rest);
            let number = meanings.map_or(0, |_| u128::from(at));
            let bit = encrypt(&self.cipher, block ^ number) >> 127;
            flipped ^= bit << (127 - at);
        }
        flipped
    }
}

fn encrypt(cipher: &Aes128, value: u128) -> u128 {
    let mut block = Array(value.to_be_bytes());
    cipher.encrypt_block(&mut block);
    u128::from_be_bytes(block.0)
}

fn bits_of(address: Ipv4Addr) -> u128 {
    u128::from(u32::from(address)) << 96
}

fn v4_of(bits: u128) -> Ipv4Addr {
    Ipv4Addr::from((bits >> 96) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The key of the sample in the authors' distribution, Crypto-PAn 1.0.
    const SAMPLE: [u8; 32] = [
        21, 34, 23, 141, 51, 164, 207, 128, 19, 10, 91, 22, 73, 144, 125, 16, 216, 152, 143, 131,
        121, 121, 101, 39, 98, 87, 76, 45, 42, 132, 34, 2,
    ];

    /// IPv4: addresses of `sample_trace_raw.dat` and `sample_trace_sanitized.dat` of that distribution, as
    /// listed in `cryptopan_test.go` of github.com/Yawning/cryptopan. The distribution has no IPv6; those
    /// vectors are of that file, too, and other implementations test against them.
    #[test]
    fn the_published_vectors() {
        let pan = CryptoPan::new(&Key::new(SAMPLE));
        for (address, expected) in [
            ("128.11.68.132", "135.242.180.132"),
            ("129.118.74.4", "134.136.186.123"),
            ("130.132.252.244", "133.68.164.234"),
            ("141.223.7.43", "141.167.8.160"),
            ("141.233.145.108", "141.129.237.235"),
            ("152.163.225.39", "151.140.114.167"),
            ("156.29.3.236", "147.225.12.42"),
            ("165.247.96.84", "162.9.99.234"),
            ("192.102.249.13", "252.138.62.131"),
            ("207.155.9.214", "241.220.250.22"),
            ("24.0.250.221", "100.15.198.226"),
            ("38.15.67.68", "64.3.66.187"),
            ("4.3.88.225", "124.60.155.63"),
            ("63.14.55.111", "95.9.215.7"),
            ("64.39.15.238", "0.219.7.41"),
            ("10.185.25.118", "117.161.29.118"),
            ("::1", "78ff:f001:9fc0:20df:8380:b1f1:704:ed"),
            ("::ffff", "78ff:f001:9fc0:20df:8380:b1f1:704:f838"),
            ("2001:db8::1", "4401:2bc:603f:d91d:27f:ff8e:e6f1:dc1e"),
            ("2001:db8::2", "4401:2bc:603f:d91d:27f:ff8e:e6f1:dc1c"),
        ] {
            let address: IpAddr = address.parse().unwrap();
            assert_eq!(pan.published(address).to_string(), expected, "{address}");
        }
    }

    #[test]
    fn few_addresses_become_themselves() {
        let stays = |key: &u8| {
            let pan = CryptoPan::new(&Key::new([*key; 32]));
            pan.v4(Ipv4Addr::new(192, 168, 50, 1)).octets()[2] == 50
        };
        assert!((0..=255).filter(stays).count() < 8);
    }

    #[test]
    fn prefixes_and_meanings_stay() {
        let random = |n: u32| n.wrapping_mul(0x9e37_79b9).rotate_left(n % 31) ^ (n << 7);
        let pan = CryptoPan::new(&Key::new(SAMPLE));
        let mut addresses: Vec<u32> = (1..300).map(random).collect();
        addresses.extend([
            0x0a00_0001,
            0x0a00_0002,
            0xac10_0101,
            0xe000_0016,
            u32::MAX,
            0x7f00_0001,
        ]);
        let of = |bits: u32| match pan.address(Ipv4Addr::from(bits).into()) {
            IpAddr::V4(address) => u32::from(address),
            IpAddr::V6(_) => panic!(),
        };
        for one in &addresses {
            for other in &addresses {
                assert_eq!((one ^ other).leading_zeros(), (of(*one) ^ of(*other)).leading_zeros());
            }
            let (before, after) = (Ipv4Addr::from(*one), Ipv4Addr::from(of(*one)));
            assert_eq!(before.is_private(), after.is_private(), "{before}");
            assert_eq!(before.is_multicast(), after.is_multicast(), "{before}");
            assert_eq!(before.is_loopback(), after.is_loopback(), "{before}");
        }
        let mapped = pan.address("::ffff:10.0.0.1".parse().unwrap());
        assert_eq!(mapped.to_canonical(), pan.address("10.0.0.1".parse().unwrap()));
        assert!(matches!(pan.address("fe80::1".parse().unwrap()),
            IpAddr::V6(address) if address.is_unicast_link_local()));
    }
}
