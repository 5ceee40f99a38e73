//! How a stranger searches a bundle for what was in it: it is unpacked and decompressed, and searched for every
//! spelling of an original. It shares nothing with what `scrub` searches for.

use std::path::Path;

use aho_corasick::AhoCorasick;

use super::members;

/// Everything in a bundle, uncompressed.
pub fn contents(path: &Path) -> Vec<(String, Vec<u8>)> {
    let unpacked = |(path, bytes): (String, Vec<u8>)| {
        let plain = match &bytes[..] {
            [0x28, 0xb5, 0x2f, 0xfd, ..] => zstd::decode_all(&bytes[..]).unwrap(),
            [0x1f, 0x8b, ..] => {
                let mut plain = Vec::new();
                std::io::Read::read_to_end(
                    &mut flate2::read::GzDecoder::new(&bytes[..]),
                    &mut plain,
                )
                .unwrap();
                plain
            }
            _ => bytes,
        };
        (path, plain)
    };
    members(path).into_iter().map(unpacked).collect()
}

/// Originals in all their spellings.
#[derive(Default)]
pub struct Search {
    any_case: Vec<(String, Vec<u8>)>,
    exact: Vec<(String, Vec<u8>)>,
}

impl Search {
    /// Bytes exactly as they are.
    pub fn exactly(&mut self, what: &str, bytes: &[u8]) {
        self.exact.push((what.to_owned(), bytes.to_vec()));
    }

    /// A text as it is, in small letters or capitals.
    pub fn plain(&mut self, text: &str) {
        self.any_case.push((text.to_owned(), text.as_bytes().to_vec()));
    }

    /// A text as it is, as hexadecimal digits, as base64 wherever it begins.
    pub fn text(&mut self, text: &str) {
        self.plain(text);
        self.any_case.push((text.to_owned(), hex(text.as_bytes(), "").into_bytes()));
        let encoded = (0..3).map(|shift| base64(text.as_bytes(), shift));
        for encoded in encoded.filter(|it| it.len() > 6) {
            self.exactly(text, encoded.as_bytes());
        }
    }

    /// A number in both orders of bytes, in binary and as digits.
    pub fn number<const N: usize>(&mut self, bytes: [u8; N]) {
        let what = hex(&bytes, "");
        let mut turned = bytes;
        turned.reverse();
        for bytes in [bytes, turned] {
            self.exactly(&what, &bytes);
            for digits in [hex(&bytes, ""), hex(&bytes, ":")] {
                self.any_case.push((what.clone(), digits.into_bytes()));
            }
        }
    }

    /// The first that is found in each member.
    pub fn found(&self, contents: &[(String, Vec<u8>)]) -> Option<String> {
        [(&self.any_case, true), (&self.exact, false)].into_iter().find_map(
            |(needles, any_case)| {
                let bytes = needles.iter().map(|(_, bytes)| bytes);
                let automaton =
                    AhoCorasick::builder().ascii_case_insensitive(any_case).build(bytes).unwrap();
                contents.iter().find_map(|(path, content)| {
                    let found = automaton.find(content)?;
                    let what = &needles[found.pattern().as_usize()].0;
                    Some([what, " in ", path, " at ", &found.start().to_string()].concat())
                })
            },
        )
    }
}

/// Where a text is, in any spelling.
pub fn text(contents: &[(String, Vec<u8>)], text: &str) -> Option<String> {
    let mut search = Search::default();
    search.text(text);
    search.found(contents)
}

/// Where a number is, in any spelling.
pub fn number<const N: usize>(contents: &[(String, Vec<u8>)], bytes: [u8; N]) -> Option<String> {
    let mut search = Search::default();
    search.number(bytes);
    search.found(contents)
}

/// Where bytes are, exactly as they are.
pub fn exactly(contents: &[(String, Vec<u8>)], bytes: &[u8]) -> Option<String> {
    let mut search = Search::default();
    search.exactly("bytes", bytes);
    search.found(contents)
}

pub fn hex(bytes: &[u8], gap: &str) -> String {
    let digit = |byte: &u8| std::fmt::format(format_args!("{byte:02x}"));
    bytes.iter().map(digit).collect::<Vec<_>>().join(gap)
}

/// Base64 behind `shift` other bytes, without the digits that depend on neighbours.
fn base64(text: &[u8], shift: usize) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let all = [&vec![0; shift], text].concat();
    let bit = |at: usize| usize::from(all[at / 8] >> (7 - at % 8) & 1);
    let first = (8 * shift).div_ceil(6);
    let digit = |place: usize| (0..6).fold(0, |value, at| 2 * value + bit(6 * place + at));
    (first..8 * all.len() / 6).map(|place| char::from(DIGITS[digit(place)])).collect()
}

#[test]
fn spellings_are_found() {
    let all = |bytes: &[u8]| vec![("x".to_owned(), bytes.to_vec())];
    for held in [
        "Z3B1LW5vZGUtMDE=",
        "eGdwdS1ub2RlLTAx",
        "eHhncHUtbm9kZS0wMQ==",
        "GPU-node-01",
        "6770752D6e6f64652d3031",
    ] {
        assert!(text(&all(held.as_bytes()), "gpu-node-01").is_some(), "{held}");
    }
    assert!(text(&all(b"gpu-node-02"), "gpu-node-01").is_none());
    for held in [&[1_u8, 2, 3, 4][..], &[4, 3, 2, 1], b"04030201", b"01:02:03:04"] {
        assert!(number(&all(held), [1, 2, 3, 4]).is_some());
    }
}
