//! What stands for an original: the same wherever it stands, of the same length, and without a way back.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::crypto_pan::CryptoPan;
use super::key::Key;
use super::names::Names;
use railscope_core::decode::nccl::greeting::SOCKET_MAGIC;

/// Most addresses, and most MAC addresses: the result is searched for all of them.
const ADDRESSES: usize = 1 << 18;

/// Numbers below this are counts, sizes, or offsets of zero-based memory.
const SMALL: u64 = 1 << 20;

/// Where processes have their memory; 32-bit programs do not train.
const USER_SPACE: std::ops::Range<u64> = 1 << 32..1 << 48;

/// Bits of an address within its region. Buffers are in one, and distances within it are what the analysis needs.
/// CUDA's low addresses, the heap and mapped memory are in others, so a known one tells nothing of the rest.
const REGION_BITS: u32 = 40;

/// Numbers of NCCL that stand where ids of communicators do: the magic of sockets outside communicators, and that
/// of `NCCL_COMM_ID`.
const CONSTANT_IDS: [u64; 3] = [SOCKET_MAGIC, 0x0280_0280_0280_0280, u64::MAX];

/// LIDs from here on are groups.
const GROUP_LIDS: u16 = 0xc000;

/// Keys of memory from here on are not counts.
pub const SMALLEST_KEY: u32 = 0x100;

/// Pseudonyms of one key.
#[derive(Debug)]
pub struct Pseudonyms {
    key: Key,
    pan: CryptoPan,
    addresses: BTreeMap<IpAddr, IpAddr>,
    macs: BTreeSet<[u8; 6]>,
    guids: BTreeSet<[u8; 8]>,
    /// Of hosts, and other words.
    pub names: Names,
    /// Ids of communicators that become others, because addresses are in them.
    ids: BTreeMap<u64, u64>,
    /// How far the virtual addresses of a region move.
    shifts: Vec<u64>,
}

impl Pseudonyms {
    /// With no name yet.
    #[must_use]
    pub fn new(key: Key) -> Self {
        // Multiples of 2 MiB, the largest page that matters, and less than half of user space.
        let shift = |region: u64| {
            (key.number("virtual address", &region.to_be_bytes()) & 0x3fff_ffe0_0000) | (1 << 44)
        };
        let shifts = (0..USER_SPACE.end >> REGION_BITS).map(shift).collect();
        let (addresses, ids) = (BTreeMap::new(), BTreeMap::new());
        let (macs, guids, names) = (BTreeSet::new(), BTreeSet::new(), Names::default());
        Self { key, pan: CryptoPan::new(&key), addresses, macs, guids, names, ids, shifts }
    }

    /// The pseudonym of an address.
    pub fn address(&mut self, address: IpAddr) -> IpAddr {
        if let Some(known) = self.addresses.get(&address) {
            return *known;
        }
        let pseudonym = match address {
            IpAddr::V6(inner) => self.v6(inner),
            IpAddr::V4(inner) if inner.is_multicast() => self.group_v4(inner).into(),
            IpAddr::V4(_) => self.pan.address(address),
        };
        if self.addresses.len() <= ADDRESSES {
            self.addresses.insert(address, pseudonym);
        }
        pseudonym
    }

    /// Whether there were more addresses than the result can be searched for.
    #[must_use]
    pub fn is_full(&self) -> bool {
        [self.addresses.len(), self.macs.len(), self.guids.len()].iter().any(|it| *it > ADDRESSES)
    }

    /// Groups: those of protocols stay; of others, the bits that are in the MAC address become what they become
    /// there.
    fn group_v4(&self, group: Ipv4Addr) -> Ipv4Addr {
        let [a, b, c, d] = group.octets();
        if [a, b, c] == [224, 0, 0] {
            return group;
        }
        let [x, y, z] = self.low_bits([b & 0x7f, c, d]);
        [a, b & 0x80 | x & 0x7f, y, z].into()
    }

    /// As above; what is asked of a group of its own for each host (solicited-node) has 24 bits of an address.
    fn group_v6(&self, group: Ipv6Addr) -> Ipv6Addr {
        let octets = group.octets();
        let [first, scope, middle @ .., a, b, c, d] = octets;
        if middle == [0; 10] && [a, b, c] == [0, 0, 0] {
            return group;
        }
        let [a, b, c, d] = self.low_group([a, b, c, d]);
        let mut out = [0; 16];
        if middle != [0; 10] {
            let derived = self.key.derive("group", &middle);
            out[2..12].copy_from_slice(derived.first_chunk::<10>().unwrap_or(&[0; 10]));
        }
        // ff02::1:ffXX:XXXX
        if middle == [0, 0, 0, 0, 0, 0, 0, 0, 0, 1] {
            out[2..12].copy_from_slice(&middle);
        }
        out[..2].copy_from_slice(&[first, scope]);
        out[12..].copy_from_slice(&[a, b, c, d]);
        out.into()
    }

    fn low_group(&self, bytes: [u8; 4]) -> [u8; 4] {
        let [a, b, c, d] = bytes;
        match bytes {
            [0, 0, 0, _] => bytes,
            [0xff, ..] => {
                let [b, c, d] = self.low_bits([b, c, d]);
                [a, b, c, d]
            }
            _ => {
                let [a, b, c, d, ..] = self.key.derive("group", &bytes);
                // Neither a group of protocols nor a solicited node.
                [a & 0x7f | 2, b, c, d]
            }
        }
    }

    fn low_bits(&self, bytes: [u8; 3]) -> [u8; 3] {
        let [a, b, c, ..] = self.key.derive("group", &bytes);
        [a, b, c]
    }

    /// A link-local address of a MAC address stays one of its pseudonym, and so does one of a LID.
    fn v6(&self, address: Ipv6Addr) -> IpAddr {
        if address.is_multicast() {
            return self.group_v6(address).into();
        }
        if let [0xfe80, 0, 0, 0, 0, 0, 0, lid] = address.segments() {
            return Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, self.lid(lid)).into();
        }
        let bytes = address.octets();
        let (prefix, identifier) = bytes.split_at(8);
        let IpAddr::V6(replaced) = self.pan.address(address.into()) else {
            return address.into();
        };
        let Ok(identifier) = <[u8; 8]>::try_from(identifier) else { return replaced.into() };
        if mac_of(identifier).is_none() {
            return replaced.into();
        }
        let mut out = replaced.octets();
        if prefix == [0xfe, 0x80, 0, 0, 0, 0, 0, 0] {
            out[..8].copy_from_slice(prefix);
        }
        out[8..].copy_from_slice(&self.fixed_guid(identifier));
        Ipv6Addr::from(out).into()
    }

    /// The addresses that were asked for, with their pseudonyms.
    pub fn addresses(&self) -> impl Iterator<Item = (&IpAddr, &IpAddr)> {
        self.addresses.iter()
    }

    /// Four bytes of an IPv4 address.
    pub fn v4(&mut self, bytes: [u8; 4]) -> [u8; 4] {
        match self.address(Ipv4Addr::from(bytes).into()) {
            IpAddr::V4(address) => address.octets(),
            IpAddr::V6(_) => bytes,
        }
    }

    /// Sixteen bytes of an IPv6 address or GID.
    pub fn gid(&mut self, bytes: [u8; 16]) -> [u8; 16] {
        match self.address(Ipv6Addr::from(bytes).into()) {
            IpAddr::V6(address) => address.octets(),
            IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
        }
    }

    /// A MAC address; broadcast, zero and the groups of protocols stay.
    pub fn mac(&mut self, mac: [u8; 6]) -> [u8; 6] {
        let other = self.fixed_mac(mac);
        if self.macs.len() <= ADDRESSES && other != mac {
            self.macs.insert(mac);
        }
        other
    }

    fn fixed_mac(&self, mac: [u8; 6]) -> [u8; 6] {
        match mac {
            [0, 0, 0, 0, 0, 0] | [0xff, 0xff, 0xff, 0xff, 0xff, 0xff] => mac,
            [0x01, 0x80, 0xc2, 0, 0, _] | [0x01, 0, 0x5e, 0, 0, _] => mac,
            [0x01, 0, 0x5e, a, b, c] => {
                let [x, b, c] = self.low_bits([a & 0x7f, b, c]);
                [0x01, 0, 0x5e, a & 0x80 | x & 0x7f, b, c]
            }
            [0x33, 0x33, a, b, c, d] => {
                let [a, b, c, d] = self.low_group([a, b, c, d]);
                [0x33, 0x33, a, b, c, d]
            }
            _ => {
                let [a, b, c, d, e, ..] = self.key.derive("mac", &mac);
                [0x02 | mac[0] & 1, a, b, c, d, e]
            }
        }
    }

    /// The MAC addresses that were asked for.
    pub fn macs(&self) -> impl Iterator<Item = [u8; 6]> {
        self.macs.iter().copied()
    }

    /// The GUID of a port or adapter; one that is made of a MAC address stays so.
    pub fn guid(&mut self, guid: [u8; 8]) -> [u8; 8] {
        let other = self.fixed_guid(guid);
        if self.guids.len() <= ADDRESSES && other != guid {
            self.guids.insert(guid);
        }
        other
    }

    /// The GUIDs that were asked for.
    pub fn guids(&self) -> impl Iterator<Item = [u8; 8]> {
        self.guids.iter().copied()
    }

    /// What a GUID becomes, without learning it.
    pub(super) fn fixed_guid(&self, guid: [u8; 8]) -> [u8; 8] {
        if guid == [0; 8] {
            return guid;
        }
        if let Some(mac) = mac_of(guid) {
            let [a, b, c, d, e, f] = self.fixed_mac(mac);
            return [a ^ 2, b, c, 0xff, 0xfe, d, e, f];
        }
        let [a, b, c, d, e, f, g, h, ..] = self.key.derive("guid", &guid);
        [a, b, c, d, e, f, g, h]
    }

    /// The id of a communicator, or the magic of its connections. Once TCP streams were read, ids that NCCL computes
    /// of others are computed again. Whoever has the magic and one of them could try all addresses of a root.
    #[must_use]
    pub fn id(&self, id: u64) -> u64 {
        match self.ids.get(&id) {
            Some(other) => *other,
            None if id < SMALL || CONSTANT_IDS.contains(&id) => id,
            None => self.guid_number(id),
        }
    }

    /// These ids become others from now on.
    pub(super) fn set_ids(&mut self, ids: BTreeMap<u64, u64>) {
        self.ids = ids;
    }

    /// A key of memory; 0 means none.
    #[must_use]
    pub fn remote_key(&self, key: u32) -> u32 {
        if key < SMALLEST_KEY {
            return key;
        }
        let [a, b, c, d, ..] = self.key.derive("rkey", &key.to_be_bytes());
        u32::from_be_bytes([a, b, c, d]) | SMALLEST_KEY
    }

    /// Whether a number is an address in the memory of a process.
    #[must_use]
    pub fn is_place(address: u64) -> bool {
        USER_SPACE.contains(&address)
    }

    /// A virtual address. All of processes move by the same distance, which a known number that moved would tell:
    /// so others become pseudonyms, and what is no address at all stays.
    #[must_use]
    pub fn virtual_address(&self, address: u64) -> u64 {
        const ONES: u64 = u32::MAX as u64;
        match address {
            ..SMALL | ONES | u64::MAX => address,
            it if Self::is_place(it) => it.wrapping_add(self.shift(it)),
            it if it < ONES => (self.key.number("number", &it.to_be_bytes()) & ONES) | SMALL,
            // As a GUID in a text.
            it => u64::from_be_bytes(self.fixed_guid(it.to_be_bytes())),
        }
    }

    fn shift(&self, address: u64) -> u64 {
        self.shifts.get((address >> REGION_BITS) as usize).copied().unwrap_or_default()
    }

    /// What a GUID becomes as a number, in either order of bytes; all ones are none.
    #[must_use]
    pub(super) fn guid_number(&self, value: u64) -> u64 {
        as_guid(value, |bytes| self.fixed_guid(bytes))
    }

    /// The LID of a port of InfiniBand; none and all stay, and groups stay groups.
    #[must_use]
    pub fn lid(&self, lid: u16) -> u16 {
        let is_group = |lid: u16| lid >= GROUP_LIDS;
        if matches!(lid, 0 | u16::MAX) {
            return lid;
        }
        let mut other = lid;
        // A permutation of all numbers, until one of the same kind comes: each has another.
        for _ in 0..=u16::MAX {
            other = self.permuted(other);
            if is_group(other) == is_group(lid) && !matches!(other, 0 | u16::MAX) {
                break;
            }
        }
        other
    }

    /// A Feistel network of four rounds.
    fn permuted(&self, number: u16) -> u16 {
        let [left, right] = number.to_be_bytes();
        let (left, right) = (0..4_u8).fold((left, right), |(left, right), round| {
            let [mixed, ..] = self.key.derive("lid", &[round, right]);
            (right, left ^ mixed)
        });
        u16::from_be_bytes([left, right])
    }

    /// Data that is compared and never read: equal stays equal. `data` is replaced in place.
    pub fn digest(&self, data: &mut [u8]) {
        let derived = self.key.derive("payload", data);
        for (byte, own) in data.iter_mut().zip(derived.iter().cycle()) {
            *byte = *own;
        }
    }

    /// Eight bytes that are compared and never read.
    #[must_use]
    pub fn hash(&self, value: u64) -> u64 {
        self.key.number("hash", &value.to_be_bytes())
    }

    /// Letters as many as bytes, the same for the same ones.
    #[must_use]
    pub fn letters(&self, text: &[u8]) -> Vec<u8> {
        let derived = self.key.derive("letters", text);
        (0..text.len()).zip(derived.iter().cycle()).map(|(_, byte)| b'a' + byte % 26).collect()
    }
}

/// Changes a number as the GUID that it is, in either order of bytes; all ones are none.
pub(super) fn as_guid(value: u64, change: impl FnOnce([u8; 8]) -> [u8; 8]) -> u64 {
    match value.to_le_bytes() {
        [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff] => value,
        bytes @ [_, _, _, 0xff, 0xfe, _, _, _] => u64::from_le_bytes(change(bytes)),
        _ => u64::from_be_bytes(change(value.to_be_bytes())),
    }
}

/// The MAC address that an interface identifier is made of (EUI-64).
fn mac_of(identifier: [u8; 8]) -> Option<[u8; 6]> {
    let [a, b, c, 0xff, 0xfe, d, e, f] = identifier else { return None };
    Some([a ^ 2, b, c, d, e, f])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_wherever_it_stands() {
        let mut one = Pseudonyms::new(Key::new([7; 32]));
        let mac = [0x52, 0x54, 0, 1, 2, 3];
        let [a, b, c, d, e, f] = one.mac(mac);
        let gid = [0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0x50, 0x54, 0, 0xff, 0xfe, 1, 2, 3];
        let replaced = one.gid(gid);
        assert_eq!(replaced[..8], gid[..8]);
        assert_eq!(replaced[8..], [a ^ 2, b, c, 0xff, 0xfe, d, e, f]);
        let mapped = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 2];
        assert_eq!(one.gid(mapped)[12..], one.v4([10, 0, 0, 2]));
        assert_eq!(one.mac([0xff; 6]), [0xff; 6]);
        assert_eq!(
            one.virtual_address(0x7f00_1234_5678) - one.virtual_address(0x7f00_1234_5000),
            0x678
        );
        assert_eq!((one.virtual_address(4096), one.remote_key(0)), (4096, 0));
    }

    #[test]
    fn groups_are_alike_in_frames_and_packets() {
        let mut one = Pseudonyms::new(Key::new([9; 32]));
        let node: Ipv6Addr = "ff02::1:ff12:3456".parse().unwrap();
        let replaced = one.gid(node.octets());
        let [.., a, b, c, d] = replaced;
        assert_eq!(replaced[..13], node.octets()[..13]);
        assert_ne!([b, c, d], [0x12, 0x34, 0x56]);
        assert_eq!(one.mac([0x33, 0x33, 0xff, 0x12, 0x34, 0x56]), [0x33, 0x33, a, b, c, d]);
        let [a, b, c, d] = one.v4([239, 200, 1, 2]);
        assert_eq!((a, b & 0x80), (239, 0x80));
        assert_eq!(one.mac([1, 0, 0x5e, 200 & 0x7f, 1, 2]), [1, 0, 0x5e, b & 0x7f, c, d]);
        for kept in ["224.0.0.251", "ff02::1", "ff02::fb"] {
            let address: IpAddr = kept.parse().unwrap();
            assert_eq!(one.address(address), address);
        }
    }

    #[test]
    fn only_memory_of_processes_moves() {
        let one = Pseudonyms::new(Key::new([9; 32]));
        let moved = |place: u64| one.virtual_address(place).wrapping_sub(place);
        assert_eq!(moved(0x7f12_3456_7000), moved(0x7fff_0000_0000));
        // CUDA's first address, which is known, tells nothing of others.
        let regions = [0x3_0200_0000, 0x55aa_0000_0000, 0x7eff_0000_0000, 0x7f12_3456_7000];
        let regions = regions.map(moved);
        assert!(regions.iter().all(|distance| distance.is_multiple_of(2 << 20)));
        assert!((1..4).all(|at| !regions[..at].contains(&regions[at])));
        for other in
            [1_u64 << 20, 0xfefe_0000, 1 << 57, 0xffff_8881_2345_6000, 0x00ff_ff00_0000_0000]
        {
            let after = one.virtual_address(other);
            assert!(after != other && moved(other) != moved(1 << 40), "{other:x}");
            assert_eq!(after, one.virtual_address(other));
        }
        for constant in [0, 4096, 0xffff_ffff, u64::MAX] {
            assert_eq!(one.virtual_address(constant), constant);
        }
    }
}
