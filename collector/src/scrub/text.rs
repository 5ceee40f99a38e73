//! Lines of text: names, addresses, keys and paths are replaced, the rest stays.
//!
//! Which lines may stay at all is decided elsewhere: those that the analysis does not know are emptied.

use std::net::{IpAddr, Ipv4Addr};

use super::pseudonym::Pseudonyms;
use super::words::{is_known, is_word};

/// Shortest hexadecimal number behind `0x` that is an address or key, in digits.
const LONG_HEX: usize = 7;

/// Folders whose next part names a person, who may be named elsewhere, too.
const HOMES: &[&str] = &["home", "Users", "users"];

/// A word of NCCL's that an address follows without a blank (`src/transport/net_ib.cc`, `remoteGids%s`).
const GLUED: &str = "remoteGids";

/// How words before a key of memory end, in small letters.
const KEY_WORDS: &[&str] = &["rkey", "lkey", "mkey", "r_key", "l_key"];

/// Words before a number that is random and that readers compare: it stays.
const ID_WORDS: &[&str] = &["commid", "commhash", "comm_hash", "magic", "hash"];

/// Replaces what identifies somebody in a line.
#[must_use]
pub fn line(text: &str, pseudonyms: &mut Pseudonyms) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut before = String::new();
    while let Some(first) = rest.chars().next() {
        // NCCL writes no blank between this word and the GID.
        let last = out.chars().next_back().filter(|_| !out.ends_with(GLUED));
        let (taken, replaced) = token(rest, last, &before, pseudonyms);
        let (token, behind) =
            rest.split_at_checked(taken.max(first.len_utf8())).unwrap_or((rest, ""));
        match replaced {
            Some(replaced) => out.push_str(&replaced),
            None => out.push_str(token),
        }
        if token.bytes().all(is_word) {
            token.clone_into(&mut before);
        }
        rest = behind;
    }
    pseudonyms.without_given(out)
}

/// How many bytes the next token has, and what stands for it.
fn token(
    rest: &str,
    last: Option<char>,
    before: &str,
    pseudonyms: &mut Pseudonyms,
) -> (usize, Option<String>) {
    let is_inside = last.is_some_and(|c| c.is_ascii_alphanumeric());
    if !is_inside {
        if let Some((taken, address)) = address(rest) {
            return (taken, Some(pseudonyms.address(address).to_string()));
        }
        if let Some((taken, replaced)) = separated(rest, pseudonyms) {
            return (taken, Some(replaced));
        }
        if last == Some('(')
            && let Some(found) = in_halves(rest, pseudonyms)
        {
            return found;
        }
        if rest.starts_with('/') && !last.is_some_and(|c| is_word(c as u8)) {
            return path(rest, last, pseudonyms);
        }
    }
    let word = rest.len()
        - rest.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_' || c == '-').len();
    if rest.len() > GLUED.len() && rest.starts_with(GLUED) {
        return (GLUED.len(), None);
    }
    let Some(found) = rest.get(..word).filter(|found| !found.is_empty()) else {
        return (0, None);
    };
    if let Some(digits) = found.strip_prefix("0x") {
        return (word, number(digits, before, pseudonyms).map(|it| ["0x", &it].concat()));
    }
    (word, named(found, pseudonyms))
}

/// A known name, or known names within a word.
fn named(found: &str, pseudonyms: &Pseudonyms) -> Option<String> {
    if let Some(name) = pseudonyms.name(found) {
        return Some(name.to_owned());
    }
    let part = |part: &str| pseudonyms.name(part).map(str::to_owned);
    let parts: Vec<&str> = found.split(['_', '-']).collect();
    if !parts.iter().any(|it| part(it).is_some()) {
        return None;
    }
    let mut out = String::new();
    for it in parts {
        out.push_str(&part(it).unwrap_or_else(|| it.to_owned()));
        out.push_str(found.get(out.len()..=out.len()).unwrap_or_default());
    }
    Some(out)
}

/// Hexadecimal digits behind `0x`: an address of memory, or a key.
fn number(digits: &str, before: &str, pseudonyms: &Pseudonyms) -> Option<String> {
    let value = u64::from_str_radix(digits, 16).ok()?;
    let before = before.to_ascii_lowercase();
    let is_before = |words: &[&str]| words.iter().any(|word| before.ends_with(word));
    let width = digits.len();
    if is_before(KEY_WORDS) {
        let key = u32::try_from(value).ok()?;
        return Some(format!("{:0width$x}", pseudonyms.remote_key(key)));
    }
    if is_before(ID_WORDS) {
        return Some(format!("{:x}", pseudonyms.id(value)));
    }
    if width < LONG_HEX {
        return None;
    }
    if width == 16 && before.contains("guid") {
        return Some(format!("{:016x}", guid(value, pseudonyms)));
    }
    Some(format!("{:0width$x}", pseudonyms.virtual_address(value)))
}

/// An IPv4 or IPv6 address at the start, and its length. Four numbers of a version are none.
fn address(rest: &str) -> Option<(usize, IpAddr)> {
    let v4 = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.').len();
    let digits = rest.get(..v4)?.trim_end_matches('.');
    let behind = rest.as_bytes().get(digits.len()).copied().unwrap_or(b' ');
    if let Ok(address) = digits.parse::<Ipv4Addr>()
        && !behind.is_ascii_alphanumeric()
    {
        return Some((digits.len(), address.into()));
    }
    let v6 = rest.len()
        - rest.trim_start_matches(|c: char| c.is_ascii_hexdigit() || c == ':' || c == '.').len();
    let mut text = rest.get(..v6)?;
    while text.matches(':').count() >= 2 {
        let behind = rest.as_bytes().get(text.len()).copied().unwrap_or(b' ');
        if let Ok(address) = text.parse::<IpAddr>()
            && !behind.is_ascii_alphanumeric()
        {
            return Some((text.len(), address));
        }
        text = text.get(..text.len() - 1)?;
    }
    None
}

/// A MAC address or GUID in pairs or fours of digits.
fn separated(rest: &str, pseudonyms: &Pseudonyms) -> Option<(usize, String)> {
    for (len, size, gap) in [(17, 2, ':'), (17, 2, '-'), (23, 2, ':'), (19, 4, ':')] {
        let Some(text) = rest.get(..len) else { continue };
        let behind = rest.as_bytes().get(len).copied().unwrap_or(b' ');
        if behind.is_ascii_alphanumeric() || behind == b':' {
            continue;
        }
        let parts: Vec<&str> = text.split(gap).collect();
        let is_hex =
            |part: &&str| part.len() == size && part.bytes().all(|b| b.is_ascii_hexdigit());
        if !parts.iter().all(is_hex) {
            continue;
        }
        let value = u64::from_str_radix(&parts.concat(), 16).ok()?;
        let bytes = value.to_be_bytes();
        let replaced: Vec<u8> = match (len, bytes) {
            (17, [_, _, a, b, c, d, e, f]) => pseudonyms.mac([a, b, c, d, e, f]).to_vec(),
            _ => pseudonyms.guid(bytes).to_vec(),
        };
        let digits: String = replaced.iter().map(|byte| format!("{byte:02x}")).collect();
        let mut out = String::new();
        for (at, digit) in digits.chars().enumerate() {
            if at > 0 && at % size == 0 {
                out.push(gap);
            }
            out.push(digit);
        }
        return Some((len, out));
    }
    None
}

/// NCCL's numbers in memory order, in parentheses: a GID `(0/100000AFFFF0000)`, the GUID of a NIC
/// `(0/10200feff000000/1/1.25)`.
fn in_halves(rest: &str, pseudonyms: &mut Pseudonyms) -> Option<(usize, Option<String>)> {
    let is_end = |c: char| !(c.is_ascii_hexdigit() || c == '/');
    let text = rest.get(..rest.find(is_end)?)?;
    let mut parts = text.split('/');
    let (first, second) = (parts.next()?, parts.next()?);
    let [high, low] = [first, second].map(|part| u64::from_str_radix(part, 16).ok());
    let (high, low) = (high?, low?);
    let len = first.len() + 1 + second.len();
    if rest.as_bytes().get(len) == Some(&b')') {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&high.to_le_bytes());
        bytes[8..].copy_from_slice(&low.to_le_bytes());
        if bytes[..2] != [0xfe, 0x80] && low < 1 << 32 {
            return None;
        }
        let other = pseudonyms.gid(bytes);
        let half = |at: usize| {
            let mut half = [0; 8];
            half.copy_from_slice(other.get(at..at + 8).unwrap_or(&[0; 8]));
            u64::from_le_bytes(half)
        };
        return Some((len, Some(format!("{:X}/{:X}", half(0), half(8)))));
    }
    if second.len() < 10 || rest.as_bytes().get(len) != Some(&b'/') {
        return None;
    }
    Some((len, Some(format!("{first}/{:x}", guid(low, pseudonyms)))))
}

/// A GUID as a number, in either order of bytes.
fn guid(value: u64, pseudonyms: &Pseudonyms) -> u64 {
    match value.to_le_bytes() {
        bytes @ [_, _, _, 0xff, 0xfe, _, _, _] => u64::from_le_bytes(pseudonyms.guid(bytes)),
        _ => u64::from_be_bytes(pseudonyms.guid(value.to_be_bytes())),
    }
}

/// A path: parts that are no usual folder or library are replaced.
fn path(rest: &str, last: Option<char>, pseudonyms: &mut Pseudonyms) -> (usize, Option<String>) {
    let is_part =
        |c: char| c.is_alphanumeric() || matches!(c, '/' | '.' | '_' | '-' | '+' | '@' | '~');
    let len = rest.len() - rest.trim_start_matches(is_part).len();
    let Some(text) = rest.get(..len).filter(|text| text.len() > 1) else { return (1, None) };
    // A source of NCCL's own, as its warnings name it: ./transport/net_ib.cc.
    if last == Some('.') && [".cc", ".cu", ".h"].iter().any(|end| text.ends_with(end)) {
        return (len, None);
    }
    let parts: Vec<&str> = text.split('/').collect();
    for pair in parts.windows(2) {
        if let [folder, name] = pair
            && HOMES.contains(folder)
            && !is_common(name)
        {
            pseudonyms.add_name(name);
        }
    }
    let replaced = |part: &&str| -> String {
        if is_common(part) { (*part).to_owned() } else { shaped(part, pseudonyms) }
    };
    let joined: Vec<String> = parts.iter().map(replaced).collect();
    (len, Some(joined.join("/")))
}

/// A part of a path without its ending, in its shape.
fn shaped(part: &str, pseudonyms: &Pseudonyms) -> String {
    if let Some(name) = pseudonyms.name(part) {
        return name.to_owned();
    }
    match part.rsplit_once('.') {
        Some((stem, end))
            if is_known(end) || matches!(end, "py" | "sh" | "log" | "conf" | "txt" | "json") =>
        {
            [&pseudonyms.shaped(stem), ".", end].concat()
        }
        _ => pseudonyms.shaped(part),
    }
}

/// Whether all words of a part of a path are usual ones; numbers are.
fn is_common(part: &str) -> bool {
    let mut words = part.split(|c: char| !c.is_alphabetic());
    words.all(|word| word.is_empty() || is_known(word))
}

/// Bytes of the control plane that are text: the length stays. Words that are known stay, all others and
/// the digits of addresses are replaced.
pub fn fixed(bytes: &mut [u8], pseudonyms: &Pseudonyms) {
    let text = String::from_utf8_lossy(bytes).into_owned();
    if text.len() != bytes.len() {
        return;
    }
    let mut out = String::with_capacity(text.len());
    let is_address = |word: &str| {
        word.matches('.').count() == 3 && word.split('.').all(|it| it.parse::<u8>().is_ok())
    };
    for word in
        text.split_inclusive(|c: char| !(c.is_alphanumeric() || c == '_' || c == '-' || c == '.'))
    {
        let end = word
            .trim_end_matches(|c: char| !(c.is_alphanumeric() || c == '_' || c == '-' || c == '.'));
        let behind = word.get(end.len()..).unwrap_or_default();
        match pseudonyms.name(end) {
            Some(name) => out.push_str(name),
            None if is_address(end) => out.push_str(&pseudonyms.shaped(end)),
            None => out.push_str(&word_by_word(end, pseudonyms)),
        }
        out.push_str(behind);
    }
    let out = pseudonyms.without_given(out);
    if out.len() == bytes.len() {
        bytes.copy_from_slice(out.as_bytes());
    } else {
        bytes.fill(b'x');
    }
}

fn word_by_word(text: &str, pseudonyms: &Pseudonyms) -> String {
    let mut out = String::new();
    for part in text.split_inclusive(['_', '-', '.']) {
        let word = part.trim_end_matches(['_', '-', '.']);
        let letters = word.trim_end_matches(|c: char| c.is_ascii_digit());
        match pseudonyms.name(word) {
            Some(name) => out.push_str(name),
            None if is_known(letters) => out.push_str(word),
            None => out.push_str(&pseudonyms.shaped(word)),
        }
        out.push_str(part.get(word.len()..).unwrap_or_default());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scrub::key::Key;

    #[test]
    fn what_identifies_somebody_is_replaced_and_the_rest_stays() {
        let mut pseudonyms = Pseudonyms::new(Key::new([3; 32]));
        pseudonyms.add_name("gpu-node-1");
        let before = "gpu-node-1:4711:4712 [0] NCCL INFO Bootstrap : Using eth0:10.1.2.3<0> mac \
                      52:54:00:12:34:56 fe80::5054:ff:fe12:3456 commId 0x9f2c4e6d8a1b3c5d rkey 0x1a2b3c \
                      buf 0x7f12a4000000 /Users/alice/llama/train.py NET/IB/0/GDRDMA -1/-1/-1->0->1 2.27.5 \
                      GID 1 (0/100000AFFFF0000) ctsFifoRkey=0x309 \
                      (0/10200feff000000/1/1.25) ./transport/net_ib.cc:472";
        let after = line(before, &mut pseudonyms);
        for gone in [
            "gpu-node-1",
            "10.1.2.3",
            "52:54",
            "12:3456",
            "1a2b3c",
            "7f12a4",
            "alice",
            "llama",
            "100000AFFFF",
            "x309 ",
            "10200fe",
        ] {
            assert!(!after.contains(gone), "{gone}: {after}");
        }
        for kept in [
            ":4711:4712 [0] NCCL INFO Bootstrap : Using eth0:10.",
            "<0> mac 02:",
            "fe80::",
            "commId 0x9f2c4e6d8a1b3c5d rkey 0x",
            ".py NET/IB/0/GDRDMA -1/-1/-1->0->1 2.27.5",
            "AFFFF0000)",
            "/1/1.25) ./transport/net_ib.cc:472",
        ] {
            assert!(after.contains(kept), "{kept}: {after}");
        }
        // What was learned of a path is a name from then on.
        assert!(!line("user alice logged in", &mut pseudonyms).contains("alice"));
    }

    #[test]
    fn text_of_the_control_plane_keeps_its_length() {
        let mut pseudonyms = Pseudonyms::new(Key::new([3; 32]));
        pseudonyms.add_name("node7");
        let mut bytes = *b"default_pg/0//cuda//0 node7 secret-model 10.1.2.3";
        fixed(&mut bytes, &pseudonyms);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        assert!(text.starts_with("default_pg/0//cuda//0 "), "{text}");
        for gone in ["node7", "secret", "10.1.2.3"] {
            assert!(!text.contains(gone), "{gone}: {text}");
        }
    }
}
