//! Looks for originals in what was scrubbed: as text, as base64, as hexadecimal digits, and in binary.

use std::collections::BTreeSet;
use std::net::IpAddr;

use aho_corasick::{AhoCorasick, BuildError};

use super::pseudonym::Pseudonyms;

/// Shortest text that chance does not write.
const SHORTEST: usize = 5;

/// Something that must not be left.
#[derive(Clone, Debug)]
pub struct Needle {
    /// What it is, for the message.
    pub what: String,
    bytes: Vec<u8>,
    /// Letters and digits beside it make it something else.
    is_word: bool,
    /// It may be an ordinary word, which the report's own sentences have, too.
    pub is_ordinary: bool,
}

/// All that must not be left.
#[derive(Debug)]
pub struct Needles {
    all: Vec<Needle>,
    automaton: AhoCorasick,
}

/// All originals that have a pseudonym, and virtual addresses in packets.
///
/// # Errors
///
/// When there are too many.
pub fn needles(pseudonyms: &Pseudonyms, places: &[u64]) -> Result<Needles, BuildError> {
    let mut all = originals(pseudonyms);
    for place in places {
        let digits = format!("{place:012x}").into_bytes();
        for bytes in [place.to_be_bytes().to_vec(), place.to_le_bytes().to_vec(), digits] {
            all.push(Needle {
                what: format!("virtual address 0x{place:x}"),
                bytes,
                is_word: false,
                is_ordinary: false,
            });
        }
    }
    let automaton = AhoCorasick::new(all.iter().map(|needle| &needle.bytes))?;
    Ok(Needles { all, automaton })
}

fn originals(pseudonyms: &Pseudonyms) -> Vec<Needle> {
    let mut all = Vec::new();
    for (name, _) in pseudonyms.names().filter(|(name, _)| name.len() >= SHORTEST) {
        add_text(&mut all, name, "name");
    }
    for (address, other) in pseudonyms.addresses().filter(|(one, other)| one != other) {
        let text = address.to_string();
        if text.len() >= SHORTEST && other.to_string() != text {
            add_text(&mut all, &text, "address");
        }
        if let IpAddr::V4(address) = address {
            // As NCCL writes a GID that is made of it: in the order of memory.
            let turned = u32::from_le_bytes(address.octets());
            let text = format!("{turned:X}FFFF0000");
            all.push(Needle {
                what: format!("GID of {address}"),
                bytes: text.into_bytes(),
                is_word: true,
                is_ordinary: false,
            });
        }
        if let IpAddr::V6(address) = address {
            let octets = address.octets();
            let mut turned = octets;
            turned.reverse();
            for bytes in [octets, turned] {
                all.push(Needle {
                    what: format!("address {address}, binary"),
                    bytes: bytes.to_vec(),
                    is_word: false,
                    is_ordinary: false,
                });
            }
        }
    }
    all
}

fn add_text(all: &mut Vec<Needle>, text: &str, kind: &str) {
    all.push(Needle {
        what: format!("{kind} {text}"),
        bytes: text.as_bytes().to_vec(),
        is_word: true,
        is_ordinary: text.bytes().all(|byte| byte.is_ascii_alphabetic()),
    });
    for encoded in base64(text.as_bytes()) {
        if encoded.len() >= 2 * SHORTEST {
            all.push(Needle {
                what: format!("{kind} {text}, base64"),
                bytes: encoded,
                is_word: false,
                is_ordinary: false,
            });
        }
    }
    let hex: String = text.bytes().map(|byte| format!("{byte:02x}")).collect();
    all.push(Needle {
        what: format!("{kind} {text}, hexadecimal"),
        bytes: hex.into_bytes(),
        is_word: false,
        is_ordinary: false,
    });
}

/// The needles that `bytes` hold.
#[must_use]
pub fn found<'a>(bytes: &[u8], needles: &'a Needles) -> Vec<&'a Needle> {
    let mut held = BTreeSet::new();
    for found in needles.automaton.find_overlapping_iter(bytes) {
        let beside = [found.start().checked_sub(1), Some(found.end())];
        let is_alone = |at: Option<usize>| {
            !at.and_then(|at| bytes.get(at))
                .is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'.')
        };
        let number = found.pattern().as_usize();
        let is_word = needles.all.get(number).is_some_and(|needle| needle.is_word);
        if !is_word || beside.into_iter().all(is_alone) {
            held.insert(number);
        }
    }
    held.into_iter().filter_map(|number| needles.all.get(number)).collect()
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
    fn a_name_is_found_however_it_is_written() {
        let mut pseudonyms = Pseudonyms::new(Key::new([1; 32]));
        pseudonyms.add_name("gpu-node-1");
        pseudonyms.address("10.1.2.3".parse().unwrap());
        let needles = needles(&pseudonyms, &[0x7f12_3456_7000]).unwrap();
        for text in [
            "x gpu-node-1:2",
            "at 10.1.2.3<0>",
            "Z3B1LW5vZGUtMQ==",
            "eGdwdS1ub2RlLTF4",
            "6770752d6e6f64652d31",
            "buf 0x7f1234567000",
        ] {
            assert!(!found(text.as_bytes(), &needles).is_empty(), "{text}");
        }
        for text in ["gpu-node-12", "110.1.2.3", "10.1.2.30", "nothing"] {
            assert!(found(text.as_bytes(), &needles).is_empty(), "{text}");
        }
    }
}
