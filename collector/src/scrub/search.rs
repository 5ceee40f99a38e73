//! Looks for originals in what was scrubbed: as text, as base64, as hexadecimal digits, and in binary.

use std::collections::BTreeSet;
use std::net::IpAddr;

use aho_corasick::{AhoCorasick, BuildError};

use super::pseudonym::Pseudonyms;
use super::words::{is_harmless, is_word};

/// Longest word that may stay.
const LONGEST: usize = 64;

/// Shortest name that chance does not write in many bytes.
const SHORTEST: usize = 5;

/// The kind of names.
const NAME: &str = "name";

/// Something that must not be left.
#[derive(Clone, Debug)]
struct Needle {
    kind: &'static str,
    bytes: Vec<u8>,
    /// Letters and digits beside it make it something else.
    is_word: bool,
    /// It is too short for other members than texts, or a word that the report's own sentences may have.
    only_in: Option<Member>,
}

/// What is searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Member {
    /// Frames.
    Capture,
    /// The report of the other members.
    Report,
    /// Lines.
    Text,
}

/// All that must not be left.
#[derive(Debug)]
pub struct Needles {
    texts: Vec<Needle>,
    texts_automaton: AhoCorasick,
    others: Vec<Needle>,
    others_automaton: AhoCorasick,
}

/// All originals that have a pseudonym, virtual addresses and keys of memory, and ids of communicators.
///
/// # Errors
///
/// When there are too many.
pub fn needles(
    pseudonyms: &Pseudonyms,
    places: &[u64],
    keys: &[u32],
    ids: &[u64],
) -> Result<Needles, BuildError> {
    let (mut texts, mut others) = (Vec::new(), Vec::new());
    add_names(pseudonyms, &mut texts, &mut others);
    add_addresses(pseudonyms, &mut texts, &mut others);
    for mac in pseudonyms.macs() {
        let digits = mac.map(|byte| format!("{byte:02x}"));
        for gap in [":", "-", ""] {
            add(&mut texts, "MAC address", digits.join(gap).into_bytes(), true);
        }
        // Simple ones are in structures by chance.
        if mac.iter().collect::<BTreeSet<_>>().len() >= SHORTEST && mac[0] & 1 == 0 {
            add(&mut others, "MAC address, binary", mac.to_vec(), false);
        }
    }
    add_guids(pseudonyms, &mut texts, &mut others);
    for place in places {
        add(&mut texts, "virtual address", format!("{place:012x}").into_bytes(), false);
        for bytes in [place.to_be_bytes(), place.to_le_bytes()] {
            add(&mut others, "virtual address, binary", bytes.to_vec(), false);
        }
    }
    for key in keys {
        let needle = format!("key=0x{key:x}");
        add(&mut texts, "memory key", needle.into_bytes(), true);
    }
    for id in ids.iter().copied().filter(|id| pseudonyms.id(*id) != *id) {
        add(&mut texts, "id of a communicator", format!("{id:016x}").into_bytes(), false);
        for bytes in [id.to_be_bytes(), id.to_le_bytes()] {
            add(&mut others, "id of a communicator, binary", bytes.to_vec(), false);
        }
    }
    let texts_automaton = AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .build(texts.iter().map(|needle| &needle.bytes))?;
    let others_automaton = AhoCorasick::new(others.iter().map(|needle| &needle.bytes))?;
    Ok(Needles { texts, texts_automaton, others, others_automaton })
}

fn add(all: &mut Vec<Needle>, kind: &'static str, bytes: Vec<u8>, is_word: bool) {
    all.push(Needle { kind, bytes, is_word, only_in: None });
}

fn add_names(pseudonyms: &Pseudonyms, texts: &mut Vec<Needle>, others: &mut Vec<Needle>) {
    let names = &pseudonyms.names;
    // An original may be the pseudonym of another: some call their hosts host-1.
    let is_left = |name: &&str| !names.is_pseudonym(name);
    let is_name = |name: &&str| names.is_host(name) || !is_harmless(name);
    for name in names.originals().filter(is_name).filter(is_left) {
        let is_short = name.len() < SHORTEST;
        let is_plain = name.bytes().all(|byte| byte.is_ascii_alphabetic())
            || name.bytes().all(|byte| byte.is_ascii_digit());
        let only_in = (is_short || is_plain).then_some(Member::Text);
        let bytes = name.as_bytes().to_vec();
        texts.push(Needle { kind: NAME, bytes, is_word: true, only_in });
        if !is_short {
            add_encoded(name, texts, others);
        }
    }
    for part in pseudonyms.names.refused() {
        add(texts, "word of --name", part.as_bytes().to_vec(), false);
        add_encoded(part, texts, others);
    }
}

/// As numbers in either order, with and without their zeros, and as tools write them.
fn add_guids(pseudonyms: &Pseudonyms, texts: &mut Vec<Needle>, others: &mut Vec<Needle>) {
    // An original may be the pseudonym of another.
    let new: BTreeSet<[u8; 8]> =
        pseudonyms.guids().map(|guid| pseudonyms.fixed_guid(guid)).collect();
    // Simple ones are in structures by chance.
    let is_rare = |guid: &[u8; 8]| guid.iter().collect::<BTreeSet<_>>().len() >= SHORTEST;
    for guid in pseudonyms.guids().filter(|guid| is_rare(guid) && !new.contains(guid)) {
        let mut turned = guid;
        turned.reverse();
        for bytes in [guid, turned] {
            let digits = format!("{:016x}", u64::from_be_bytes(bytes));
            let parts = bytes.map(|byte| format!("{byte:02x}"));
            let fours: Vec<String> = parts.chunks(2).map(<[String]>::concat).collect();
            let short = digits.trim_start_matches('0').to_owned();
            let is_long = short.len() > 2 * SHORTEST;
            for text in [parts.join(":"), fours.join(":"), digits] {
                add(texts, "GUID", text.into_bytes(), false);
            }
            if is_long {
                add(texts, "GUID", short.into_bytes(), true);
            }
            add(others, "GUID, binary", bytes.to_vec(), false);
        }
    }
}

fn add_addresses(pseudonyms: &Pseudonyms, texts: &mut Vec<Needle>, others: &mut Vec<Needle>) {
    // An original may be the pseudonym of another.
    let new: BTreeSet<&IpAddr> = pseudonyms.addresses().map(|(_, new)| new).collect();
    for (address, _) in pseudonyms.addresses().filter(|(one, _)| !new.contains(one)) {
        let text = address.to_string();
        add(texts, "address", text.as_bytes().to_vec(), true);
        add_encoded(&text, texts, others);
        match address {
            IpAddr::V4(address) => {
                // As NCCL writes a GID that is made of it: in the order of memory.
                let turned = u32::from_le_bytes(address.octets());
                add(texts, "GID", format!("{turned:X}FFFF0000").into_bytes(), true);
                let mapped = address.to_ipv6_mapped().octets();
                add(others, "GID, binary", mapped[6..].to_vec(), false);
            }
            IpAddr::V6(address) => {
                let octets = address.octets();
                let mut turned = octets;
                turned.reverse();
                for bytes in [octets, turned] {
                    add(others, "address, binary", bytes.to_vec(), false);
                }
            }
        }
    }
}

fn add_encoded(text: &str, texts: &mut Vec<Needle>, others: &mut Vec<Needle>) {
    for encoded in base64(text.as_bytes()) {
        if encoded.len() >= 2 * SHORTEST {
            add(others, "name or address in base64", encoded, false);
        }
    }
    let hex: String = text.bytes().map(|byte| format!("{byte:02x}")).collect();
    if hex.len() >= 2 * SHORTEST {
        add(texts, "name or address in hexadecimal", hex.into_bytes(), false);
    }
}

impl Needles {
    /// The first original in `bytes` of a member: its kind, and where it is.
    #[must_use]
    pub fn find(&self, bytes: &[u8], member: Member) -> Option<(&'static str, usize)> {
        let all = [(&self.texts, &self.texts_automaton), (&self.others, &self.others_automaton)];
        all.into_iter().find_map(|(needles, automaton)| {
            automaton.find_overlapping_iter(bytes).find_map(|found| {
                let needle = needles.get(found.pattern().as_usize())?;
                let is_wanted = needle.only_in.is_none_or(|only| only == member)
                    && (!needle.is_word || is_alone(bytes, found.start(), found.end()))
                    && (needle.kind != NAME || !is_other_word(bytes, found.range(), &needle.bytes));
                is_wanted.then_some((needle.kind, found.start()))
            })
        })
    }
}

/// Whether no letter or digit is beside these bytes, nor behind a dot beside them.
fn is_alone(bytes: &[u8], start: usize, end: usize) -> bool {
    let is_letter =
        |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_alphanumeric);
    let is_dot = |at: Option<usize>| at.and_then(|at| bytes.get(at)) == Some(&b'.');
    let (before, behind) = (start.checked_sub(1), Some(end));
    let is_more = is_letter(before)
        || is_letter(behind)
        || (is_dot(before) && is_letter(start.checked_sub(2)))
        || (is_dot(behind) && is_letter(end.checked_add(1)));
    !is_more
}

/// Whether a name is only like a word that may stay: `gpu` in `GPU`, `bond` in `mlx5_bond_0`.
fn is_other_word(bytes: &[u8], found: std::ops::Range<usize>, name: &[u8]) -> bool {
    let is_of_word =
        |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(**byte, b'_' | b'-' | b'.');
    let (before, behind) = (bytes.get(..found.start), bytes.get(found.end..));
    let start = before.map_or(0, |it| it.iter().rev().take(LONGEST).take_while(is_of_word).count());
    let end = behind.map_or(0, |it| it.iter().take(LONGEST).take_while(is_of_word).count());
    let whole = bytes.get(found.start - start..found.end + end).unwrap_or_default();
    let Ok(word) = std::str::from_utf8(whole) else { return false };
    let word = word.trim_matches(['-', '.', '_']);
    word.as_bytes() != name && (is_word(word) || word.len() > name.len() && is_harmless(word))
}

/// What stands in base64 for a text wherever it begins, without the digits that depend on its neighbours.
fn base64(text: &[u8]) -> Vec<Vec<u8>> {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let encode = |shift: usize| {
        let mut bits: Vec<bool> = vec![false; 8 * shift];
        bits.extend(text.iter().flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1 == 1)));
        let first = (8 * shift).div_ceil(6);
        let whole = bits.chunks_exact(6).skip(first);
        let digit =
            |six: &[bool]| six.iter().fold(0_usize, |value, bit| 2 * value + usize::from(*bit));
        whole.filter_map(|six| DIGITS.get(digit(six)).copied()).collect()
    };
    (0..3).map(encode).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scrub::key::Key;

    #[test]
    fn an_original_is_found_however_it_is_written() {
        let mut pseudonyms = Pseudonyms::new(Key::new([1; 32]));
        pseudonyms.names.host("gpu-node-1");
        pseudonyms.names.host("rdma07");
        pseudonyms.names.refuse("Llama");
        assert!(pseudonyms.names.number());
        pseudonyms.address("10.1.2.3".parse().unwrap());
        pseudonyms.mac([2, 0x11, 0x22, 0x33, 0x44, 0x55]);
        pseudonyms.guid([0, 0x59, 0x9f, 0, 3, 0xa0, 0xc2, 0xb4]);
        let needles =
            needles(&pseudonyms, &[0x7f12_3456_7000], &[0x1a2b], &[0x9f2c_4e6d_8a1b_3c5d]).unwrap();
        for text in [
            "x gpu-node-1:2",
            "x GPU-NODE-1:2",
            "at 10.1.2.3<0>",
            "at 10.1.2.3.",
            "Z3B1LW5vZGUtMQ==",
            "eGdwdS1ub2RlLTF4",
            "6770752d6e6f64652d31",
            "buf 0x7f1234567000",
            "myLLAMA2",
            "02:11:22:33:44:55",
            "rkey=0x1a2b ",
            "cannot reach rdma07",
            "commId 0x9F2c4e6d8a1b3c5d",
            "(599f0003a0c2b4/1/1.25)",
            "0x00599F0003a0c2b4",
            "(b4c2a003009f5900/1",
            "0059:9f00:03a0:c2b4",
            "\x02\x11\x22\x33\x44\x55",
        ] {
            let is_found = needles.find(text.as_bytes(), Member::Text).is_some();
            assert!(is_found || text.starts_with("rkey"), "{text}");
        }
        for bytes in
            [[0_u8, 0x59, 0x9f, 0, 3, 0xa0, 0xc2, 0xb4], [0xb4, 0xc2, 0xa0, 3, 0, 0x9f, 0x59, 0]]
        {
            assert!(needles.find(&bytes, Member::Capture).is_some(), "{bytes:?}");
        }
        for text in ["rdma071", "gpu-node-12", "110.1.2.3", "10.1.2.30", "nothing"] {
            assert_eq!(needles.find(text.as_bytes(), Member::Text), None, "{text}");
        }
    }

    #[test]
    fn a_name_may_be_like_a_word_or_a_pseudonym() {
        let mut pseudonyms = Pseudonyms::new(Key::new([1; 32]));
        for host in ["gpu", "bond", "host-1"] {
            pseudonyms.names.host(host);
        }
        assert!(pseudonyms.names.number());
        let needles = needles(&pseudonyms, &[], &[], &[]).unwrap();
        for text in ["GPU Direct on mlx5_bond_0", "host-1", "host-3"] {
            assert_eq!(needles.find(text.as_bytes(), Member::Text), None, "{text}");
        }
        for text in ["at gpu.", "bond", "bond-x", "gpu-node-12"] {
            assert!(needles.find(text.as_bytes(), Member::Text).is_some(), "{text}");
        }
    }
}
