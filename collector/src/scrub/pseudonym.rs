//! What stands for an original: the same wherever it stands, of the same length, and without a way back.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::crypto_pan::CryptoPan;
use super::key::Key;

/// Addresses remembered: Crypto-PAn costs 32 or 128 blocks of AES.
const CACHED: usize = 1 << 18;

/// Numbers that are too small to be virtual addresses: offsets of zero-based memory.
const SMALLEST_ADDRESS: u64 = 1 << 20;

/// Above user space on all machines that NCCL runs on.
const LARGEST_ADDRESS: u64 = 1 << 57;

/// Keys of memory from here on are not counts.
pub const SMALLEST_KEY: u32 = 0x100;

/// Pseudonyms of one key.
#[derive(Debug)]
pub struct Pseudonyms {
    key: Key,
    pan: CryptoPan,
    addresses: BTreeMap<IpAddr, IpAddr>,
    /// Names that are replaced, and by what.
    names: BTreeMap<String, String>,
    /// Of these, in small letters, those that are replaced within words, too.
    given: Vec<(String, String)>,
    /// Ids of communicators that become others, because addresses are in them.
    ids: BTreeMap<u64, u64>,
    /// Added to virtual addresses: distances are what the analysis needs.
    shift: u64,
}

impl Pseudonyms {
    /// With no name yet.
    #[must_use]
    pub fn new(key: Key) -> Self {
        // A multiple of 2 MiB, the largest page that matters, and less than half of user space.
        let shift = (key.number("virtual address", &[]) & 0x3fff_ffe0_0000) | (1 << 44);
        let (addresses, names, ids) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Self { key, pan: CryptoPan::new(&key), addresses, names, given: Vec::new(), ids, shift }
    }

    /// The pseudonym of an address.
    pub fn address(&mut self, address: IpAddr) -> IpAddr {
        if let Some(known) = self.addresses.get(&address) {
            return *known;
        }
        let pseudonym = match address {
            IpAddr::V6(inner) => self.v6(inner),
            IpAddr::V4(_) => self.pan.address(address),
        };
        if self.addresses.len() < CACHED {
            self.addresses.insert(address, pseudonym);
        }
        pseudonym
    }

    /// A link-local address of a MAC address stays one of its pseudonym.
    fn v6(&self, address: Ipv6Addr) -> IpAddr {
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
        out[8..].copy_from_slice(&self.guid(identifier));
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

    /// As [`Self::v4`], without remembering it.
    #[must_use]
    pub fn fixed_v4(&self, bytes: [u8; 4]) -> [u8; 4] {
        match self.pan.address(Ipv4Addr::from(bytes).into()) {
            IpAddr::V4(address) => address.octets(),
            IpAddr::V6(_) => bytes,
        }
    }

    /// As [`Self::gid`], without remembering it.
    #[must_use]
    pub fn fixed_gid(&self, bytes: [u8; 16]) -> [u8; 16] {
        match self.v6(Ipv6Addr::from(bytes)) {
            IpAddr::V6(address) => address.octets(),
            IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
        }
    }

    /// Sixteen bytes of an IPv6 address or GID.
    pub fn gid(&mut self, bytes: [u8; 16]) -> [u8; 16] {
        match self.address(Ipv6Addr::from(bytes).into()) {
            IpAddr::V6(address) => address.octets(),
            IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
        }
    }

    /// A MAC address; multicast, broadcast and zero stay.
    #[must_use]
    pub fn mac(&self, mac: [u8; 6]) -> [u8; 6] {
        if mac[0] & 1 != 0 || mac == [0; 6] {
            return mac;
        }
        let [a, b, c, d, e, ..] = self.key.derive("mac", &mac);
        [0x02, a, b, c, d, e]
    }

    /// The GUID of a port or adapter; one that is made of a MAC address stays so.
    #[must_use]
    pub fn guid(&self, guid: [u8; 8]) -> [u8; 8] {
        if guid == [0; 8] {
            return guid;
        }
        if let Some(mac) = mac_of(guid) {
            let [a, b, c, d, e, f] = self.mac(mac);
            return [a ^ 2, b, c, 0xff, 0xfe, d, e, f];
        }
        let [a, b, c, d, e, f, g, h, ..] = self.key.derive("guid", &guid);
        [a, b, c, d, e, f, g, h]
    }

    /// The id of a communicator, once TCP streams were read.
    #[must_use]
    pub fn id(&self, id: u64) -> u64 {
        self.ids.get(&id).copied().unwrap_or(id)
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

    /// A virtual address; all move by the same distance.
    #[must_use]
    pub const fn virtual_address(&self, address: u64) -> u64 {
        if address < SMALLEST_ADDRESS || address >= LARGEST_ADDRESS {
            return address;
        }
        address.wrapping_add(self.shift)
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

    /// A text of the same length and shape: letters for letters, digits for digits.
    #[must_use]
    pub fn shaped(&self, text: &str) -> String {
        let mut random = Vec::new();
        let mut round = 0_u8;
        while random.len() < text.len() {
            random.extend(self.key.derive("name", &[text.as_bytes(), &[0, round]].concat()));
            round = round.wrapping_add(1);
        }
        let one = |(c, random): (char, &u8)| match c {
            'a'..='z' => char::from(b'a' + random % 26),
            'A'..='Z' => char::from(b'A' + random % 26),
            '0'..='9' => char::from(b'0' + random % 10),
            other if other.is_ascii() => other,
            // As many bytes as before matter more than the letter.
            other => {
                if other.len_utf8() == 2 {
                    'é'
                } else {
                    other
                }
            }
        };
        text.chars().zip(random.iter()).map(one).collect()
    }

    /// From now on `name` is replaced wherever it stands. Short and empty ones are no names.
    pub fn add_name(&mut self, name: &str) {
        if name.len() < 2 || self.names.contains_key(name) {
            return;
        }
        let mut pseudonym = self.shaped(name);
        let mut salt = 0_u8;
        // Different names stay different, and a name does not stay itself.
        while (pseudonym == name || self.names.values().any(|other| *other == pseudonym))
            && salt < u8::MAX
        {
            salt += 1;
            let salted = self.key.derive("name again", &[name.as_bytes(), &[salt]].concat());
            let other = Self::new(Key::new(salted));
            pseudonym = other.shaped(name);
        }
        self.names.insert(name.to_owned(), pseudonym);
    }

    /// From now on `name` is replaced also within words, and in capital or small letters.
    pub fn add_given(&mut self, name: &str) {
        self.add_name(name);
        let small = name.to_ascii_lowercase();
        let pseudonym = self.name(name).map(str::to_ascii_lowercase);
        self.given.extend(pseudonym.map(|pseudonym| (small, pseudonym)));
    }

    /// `text` without the names that were given, at the same length if they are ASCII.
    #[must_use]
    pub fn without_given(&self, text: String) -> String {
        let replace = |text: String, (name, pseudonym): &(String, String)| {
            let small = text.to_ascii_lowercase();
            let mut out = String::with_capacity(text.len());
            let mut from = 0;
            for (at, _) in small.match_indices(name.as_str()) {
                out.push_str(text.get(from..at).unwrap_or_default());
                out.push_str(pseudonym);
                from = at + name.len();
            }
            out.push_str(text.get(from..).unwrap_or_default());
            out
        };
        self.given.iter().fold(text, replace)
    }

    /// Names and pseudonyms.
    pub fn names(&self) -> impl Iterator<Item = (&str, &str)> {
        self.names.iter().map(|(name, pseudonym)| (name.as_str(), pseudonym.as_str()))
    }

    /// What stands for `name`, if it is replaced.
    #[must_use]
    pub fn name(&self, name: &str) -> Option<&str> {
        self.names.get(name).map(String::as_str)
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
    fn names_keep_their_shape_and_stay_different() {
        let mut one = Pseudonyms::new(Key::new([9; 32]));
        for name in
            ["gpu-node-1", "gpu-node-2", "n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8", "n9"]
        {
            one.add_name(name);
        }
        let mut all: Vec<&str> = one.names().map(|(_, pseudonym)| pseudonym).collect();
        for (name, pseudonym) in one.names() {
            assert_eq!(name.len(), pseudonym.len());
            assert_ne!(name, pseudonym);
            assert_eq!(name.match_indices('-').count(), pseudonym.match_indices('-').count());
        }
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 11);
    }
}
